"""Run a module: exit with its result, or fail with a readable error instead of a traceback."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule

from .changes import Changes
from .errors import GroundupError, OptionError, file_error

if TYPE_CHECKING:  # Python 3.9, where preflight still runs, has no such type
    Work = Callable[[Changes, dict[str, Any]], dict[str, Any] | None]


def run_step(steps: Mapping[str, Work | None], *, secret: Collection[str] = ()) -> None:
    """Run one of a room's ``steps`` with the options that its action has validated.

    Exits with its result or changes, or fails with its error and the changes made before it. A step that is None
    is the action's own. ``secret``: options that must be in no result and no log.
    """
    options = {
        "step": {"type": "str", "choices": list(steps), "required": True},
        # Ansible logs each call, with all other options, in the host's journal. An argument no_log of AnsibleModule
        # would not help: the task's takes its place.
        "given": {"type": "dict", "no_log": True},
    }
    module = AnsibleModule(argument_spec=options, supports_check_mode=True)
    given = module.params["given"] or {}
    module.no_log_values.clear()  # all texts of `given`: results would hide names, too
    module.no_log_values.update(text for name in secret for text in _texts(given.get(name)))
    if work := steps[module.params["step"]]:
        _finish(module, work, given)
    module.fail_json(msg=f"step {module.params['step']} is done by the action, on the control node")


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of ``value``, a text or a mapping of such."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, str) and value:
        yield value


def _finish(module: AnsibleModule, work: Work, given: dict[str, Any]) -> None:
    changes = Changes(check=module.check_mode)
    os.umask(0o022)  # services must be able to read our files, whatever the login's umask
    try:
        result = work(changes, given) or changes.result()
    except (GroundupError, OptionError, OSError) as error:
        name = given.get("name")
        host = f"host {name}" if name else "this host"
        fault = file_error(error, host=host) if isinstance(error, OSError) else error
        module.fail_json(msg=str(fault), **changes.result())
    for warning in changes.warnings:
        module.warn(warning)
    module.exit_json(**result)

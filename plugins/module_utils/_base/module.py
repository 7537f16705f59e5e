"""Run a module: exit with its result, or fail with a readable error instead of a traceback."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from .changes import Changes
from .errors import GroundupError, OptionError, file_error


def run_module(
    options: dict[str, Any], work: Callable[[Changes, dict[str, Any]], dict[str, Any] | None], **rules: Any
) -> None:
    """Run ``work`` with the parsed ``options``; exit with its result or the changes, or fail with error and changes.

    ``rules``: further arguments of AnsibleModule, such as required_together.
    """
    module = AnsibleModule(argument_spec=options, supports_check_mode=True, **rules)
    changes = Changes(check=module.check_mode)
    os.umask(0o022)  # services must be able to read our files, whatever the login's umask
    try:
        result = work(changes, module.params) or changes.result()
    except (GroundupError, OptionError, OSError) as error:
        name = module.params.get("name")
        host = f"host {name}" if name else "this host"
        fault = file_error(error, host=host) if isinstance(error, OSError) else error
        module.fail_json(msg=str(fault), **changes.result())
    for warning in changes.warnings:
        module.warn(warning)
    module.exit_json(**result)

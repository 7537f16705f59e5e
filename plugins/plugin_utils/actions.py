"""Base of actions on the controller: options from the documentation, and errors as a message, not a traceback."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import yaml
from ansible.plugins.action import ActionBase

from ..module_utils._base.changes import Changes
from ..module_utils._base.errors import GroundupError, OptionError, file_error
from ..module_utils._base.files import write_file
from .commands import runnable
from .plan import SiteError

if TYPE_CHECKING:
    from .cloud.steps import Steps

PLUGINS = __name__.rpartition(".plugin_utils.")[0]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # parsed for every task of a run
FIELDS = ("type", "elements", "required", "default", "choices")  # fields of an option that an argument spec has, too
REACHED_BY = {"mutually_exclusive": [("cloud", "site_file")], "required_one_of": [("cloud", "site_file")]}


class DocumentedAction(ActionBase):  # type: ignore[misc]  # ansible ships no types
    """An action whose options are those that its module documents. A subclass implements ``work``."""

    _requires_connection = False
    RULES: ClassVar[dict[str, Any]] = {}  # which options go together, for `validate_argument_spec`
    variables: dict[str, Any]
    changes: Changes

    def __init_subclass__(cls, **more: Any) -> None:
        """Read the documentation now: Ansible loads an action once, and forks a process for every host and task."""
        super().__init_subclass__(**more)
        if ".action." in cls.__module__:
            documented(cls.__module__)

    @abstractmethod
    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the result for the options ``given``. Raises GroundupError, OptionError, SiteError, OSError."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of ``work``, or its error."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        name = type(self).__module__
        _, given = self.validate_argument_spec(documented(name), **(self.RULES or getattr(_module(name), "RULES", {})))
        self.variables, self.changes = task_vars or {}, Changes(check=bool(self._task.check_mode))
        return finish(result, lambda: self.work(given), changes=self.changes)

    def on_host(self, **arguments: Any) -> dict[str, Any]:
        """Run the module on the host. Return its result without ``arguments``, which may be secret or large."""
        done: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=self.variables)
        done.pop("invocation", None)
        return done

    def draw(self, text: str) -> None:
        """Print ``text`` on the screen only, as it is."""
        self._display.display(text, screen_only=True, newline=False)

    def tell(self, found: Mapping[str, Any], table: str, *, output: str, path: str | None, mode: int = 0o644) -> None:
        """Print the document ``found`` (``output``: json) or its ``table``; write the document to ``path``, too."""
        text = json.dumps(found, indent=2)
        self._display.display(text if output == "json" else runnable(table))
        if path:
            write_file(Path(path), f"{text}\n".encode(), mode=mode)

    def stepped(self, work: Callable[[Steps], dict[str, Any]], *, killed: str) -> dict[str, Any]:
        """Return the result of ``work``, or its error, with its steps. ``killed``: what a signal leaves undone."""
        from .cloud.steps import Steps  # late import: only this needs a cloud's client

        def say(line: str) -> None:
            with suppress(Exception):  # a killed run's output is closed, and cleanup must go on
                self._display.display(runnable(line))

        def guarded() -> dict[str, Any]:
            try:
                return work(steps)
            except KeyboardInterrupt as signal:
                remedy = "run it again; what this one made is deleted, unless a line above names it"
                raise GroundupError(f"ended by {signal}", where="this run", why=killed, remedy=remedy) from signal

        steps = Steps(say)
        return {**finish({"changed": False}, guarded), "steps": steps.result()}


class StepAction(DocumentedAction):
    """An action that hands its validated options to the module, which runs one of the room's steps on the host."""

    _requires_connection = True

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Run the step and return its result."""
        return self.on_host(step=given["step"], given={name: given[name] for name in given if name != "step"})


def finish(
    result: dict[str, Any], work: Callable[[], dict[str, Any]], *, changes: Changes | None = None
) -> dict[str, Any]:
    """Return ``result`` with that of ``work``, or with its error and the ``changes`` made before it."""
    try:
        return result | work()
    except (GroundupError, OptionError, SiteError, OSError) as error:
        fault = file_error(error, host="this machine") if isinstance(error, OSError) else error
        return {**result, **(changes.result() if changes and changes.done else {}), "failed": True, "msg": str(fault)}


def ended(text: str, *, broken: bool = False, unknown: bool = False) -> dict[str, Any]:
    """Return the result of a judgement: Ansible ends with 2 when something is ``broken``, 4 when it is ``unknown``."""
    return {"changed": False, "msg": text, **({"failed": True} if broken else {"unreachable": True} if unknown else {})}


def documented(name: str) -> dict[str, Any]:
    """Return the documented options of the module ``name``, shared fragments included, as an argument spec."""
    return _documented(name.rpartition(".")[2])


@cache
def _documented(name: str) -> dict[str, Any]:
    documentation = _read(_module(name).DOCUMENTATION)
    options = dict(documentation.get("options") or {})
    fragments = documentation["extends_documentation_fragment"]
    for fragment in [fragments] if isinstance(fragments, str) else fragments:
        file, _, part = fragment.removeprefix("groundup.cloud.").partition(".")
        found = import_module(f"{PLUGINS}.doc_fragments.{file}").ModuleDocFragment
        options |= _read(getattr(found, part.upper() or "DOCUMENTATION")).get("options", {})
    return _spec(options)


def _module(name: str) -> ModuleType:
    return import_module(f"{PLUGINS}.modules.{name.rpartition('.')[2]}")


def _read(text: str) -> dict[str, Any]:
    return dict(yaml.load(text, Loader=LOADER))  # noqa: S506  # a safe loader, in C


def _spec(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {field: option[field] for field in FIELDS if field in option}
        | ({"options": _spec(option["suboptions"])} if "suboptions" in option else {})
        for name, option in options.items()
    }

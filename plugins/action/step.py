"""One step of a room, on the host.

The options are those that the room's module documents, validated here: the host gets them as they are. Modules are
led here by ``plugin_routing`` in meta/runtime.yml.
"""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction


class ActionModule(DocumentedAction):
    """Action of every module that documents an option ``step`` and runs on hosts."""

    _requires_connection = True

    @property
    def room(self) -> str:
        """Name of the module that was routed here."""
        return str(self._task.action).rpartition(".")[2]

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Run the step and return its result."""
        return self.on_host(step=given.pop("step"), given=given)

"""One step of a room whose action has no work of its own.

The options are those that the room's module documents, validated here: the host gets them as they are. Modules are
led here by ``plugin_routing`` in meta/runtime.yml.
"""

from __future__ import annotations

from ..plugin_utils.actions import StepAction


class ActionModule(StepAction):
    """Action of every such module."""

    @property
    def room(self) -> str:
        """Name of the module that was routed here."""
        return str(self._task.action).rpartition(".")[2]

"""Action of module groundup.cloud.edge: all of its steps are the host's."""

from __future__ import annotations

from ..plugin_utils.actions import StepAction


class ActionModule(StepAction):
    """Run the step on the host."""

"""Action of module groundup.cloud.resources: uses the cloud's APIs from the controller."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

from ..module_utils._base import files
from ..module_utils._base.changes import Changes
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.plan.types import Plan


class ActionModule(DocumentedAction):
    """Make the cloud's resources, compare them, or export those of a project."""

    RULES: ClassVar[dict[str, Any]] = {"required_if": [("step", "export", ["project"])]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        plan, changes, left = site_plan(given["site_file"]), self.changes, list[str]()
        if given["step"] == "export":
            return self._export(plan, given)
        write = given["step"] == "apply"
        if plan.resources or given["force"] or _lent(plan):
            left = converge(plan, changes, force=given["force"], write=write, say=self._display.display)
        if not write and (changes.done or left):
            raise GroundupError(
                f"not as the site file says: {'; '.join([*changes.done, *left])}", where="site file key cloud",
                why="projects have other resources, rights or limits than they were promised",
                remedy="run the playbook groundup.cloud.resources, or write into the site file what is there",
            )  # fmt: skip
        warnings = {"warnings": changes.warnings} if changes.warnings else {}
        return {**changes.result(), **warnings, "left": left}

    def _export(self, plan: Plan, given: dict[str, Any]) -> dict[str, Any]:
        from ..plugin_utils.cloud import connection
        from ..plugin_utils.cloud.resources import export

        text = export.text(connection.of_site(plan), plan, given["project"], domain=given["domain"], form=given["form"])
        if given["output"]:
            files.place(self.changes, Path(given["output"]), text, mode=0o644)
        else:
            self._display.display(text)
        return {**self.changes.result(), "text": text}


def _lent(plan: Plan) -> bool:
    """Return whether a killed run left a role to the administrator."""
    from ..plugin_utils.cloud.resources import alone

    return bool(alone.kept(plan).lent)


def converge(
    plan: Plan, changes: Changes, *, force: list[str], write: bool, say: Callable[[str], None]
) -> list[str]:  # fmt: skip
    """Make the cloud as planned, or, unless ``write``, record what differs; return what is left as it is, and why.

    What members of a project may have done keeps nobody else from what the site file says: it is no error of a run.
    """
    from ..plugin_utils.cloud import connection  # late import: most sites need no cloud client here
    from ..plugin_utils.cloud.administrator import VERIFY, or_foreseen
    from ..plugin_utils.cloud.resources import alone, engine
    from ..plugin_utils.cloud.resources.api import CloudApi
    from ..plugin_utils.cloud.steps import interruptible
    from ..plugin_utils.vault import open_store

    kept = changes if write else Changes(check=True, done=changes.done, diffs=changes.diffs, warnings=changes.warnings)
    with or_foreseen(changes, lambda: engine.foresee(plan, changes)), ExitStack() as stack:
        with connection.answered("Keystone", remedy=VERIFY):
            cloud = connection.of_site(plan)
            cloud.authorize()
        go_on = (lambda: None) if kept.check else stack.enter_context(alone.alone(plan, say=say))
        api = CloudApi(cloud, go_on, alone.kept(plan))
        store = None if kept.check else open_store(plan.site, write=False)
        try:
            with interruptible():
                return engine.Resources(api=api, plan=plan, changes=kept, store=store, force=force).converge()
        except KeyboardInterrupt as signal:
            raise GroundupError(
                f"ended by {signal}", where="this run", why="it may have made or deleted a part of what it was to",
                remedy="run it again: it compares everything first, and goes on",
            ) from signal  # fmt: skip
        except engine.ResourcesLeftError as error:
            changes.warnings.append(f"{error.what}: {error.why}; {error.remedy}")
            return [error.what]
    return []

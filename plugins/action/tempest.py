"""Action of module groundup.cloud.tempest: OpenStack's own tests against a cloud, from the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..plugin_utils.actions import REACHED_BY, DocumentedAction, ended
from ..plugin_utils.compose import site_plan
from ..plugin_utils.guest_image import guest_image


class ActionModule(DocumentedAction):
    """Run tests, and judge them."""

    RULES = REACHED_BY

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the verdict, and where the results are."""
        if self._task.check_mode:
            return {"skipped": True, "msg": "a dry run makes nothing in the cloud"}
        return self.stepped(lambda _steps: self._test(given), killed="the tests did not end")

    def _test(self, given: dict[str, Any]) -> dict[str, Any]:
        from ..plugin_utils.cloud import connection
        from ..plugin_utils.cloud.administrator import VERIFY, UnreachedError
        from ..plugin_utils.supply.local_environment import local_environment
        from ..plugin_utils.tempest import report, runs, target, trend, work

        say = self._display.display
        plan = site_plan(given["site_file"]) if given["site_file"] else None
        home = local_environment("tempest", progress=say)
        options = work.Options(
            image=guest_image(given["image"], progress=say),
            tests=Path(given["tests"]) if given["tests"] else None,
            explained=Path(given["explained"]) if given["explained"] else None,
            **{name: given[name] for name in ("suite", "regex", "workers", "user", "memory_mb", "disk_gb", "network",
                                              "settings", "timeout")},
        )  # fmt: skip
        try:
            with connection.answered("before the tests", remedy=VERIFY):
                cloud = connection.of_site(plan) if plan else connection.named(given["cloud"])
                cloud.authorize()
                wanted = target.of_plan(plan) if plan else target.of_cloud(given["cloud"], cloud)
                outcome, directory = work.run_tests(
                    cloud, wanted, options, place=runs.home(wanted.name, site=bool(plan)), home=home, say=say
                )
        except UnreachedError as error:
            return ended(str(error), unknown=True)
        say(report.table(outcome))
        if given["suite"] == trend.SUITE:
            say(trend.table(directory.parent))
        return ended(outcome.line, broken=outcome.broken) | {
            "directory": str(directory),
            "counts": {word: outcome.count(word) for word in ("passed", "failed", "skipped")},
            "failed_tests": [one.test for one in outcome.results if one.bad],
        }

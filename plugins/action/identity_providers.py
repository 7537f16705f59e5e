"""Action of module groundup.cloud.identity_providers: uses Keystone's API from the control node."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..module_utils._base.changes import Changes
from ..plugin_utils import https
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.plan.types import Plan

_REMEDY = "run the playbook groundup.cloud.openstack, tag verify"


class ActionModule(DocumentedAction):
    """Create the plan's providers of logins in Keystone."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes."""
        plan = site_plan(given["site_file"])
        left = _converge(plan, self.changes, write=given["step"] == "apply")
        if given["step"] == "verify" and self.changes.done:
            raise GroundupError(
                f"not as the site file says: {'; '.join(self.changes.done)}",
                where="Keystone, identity.providers",
                why="logins by a provider would fail, or give other rights",
                remedy="run the playbook groundup.cloud.openstack",
            )
        warnings = [f"{line} is left; delete it when nobody needs it" for line in left]
        if not self.changes.check:
            warnings += _asked(plan, fail=given["step"] == "verify")
        return {
            **self.changes.result(),
            "providers": [one.name for one in plan.providers],
            "left": left,
            **({"warnings": warnings} if warnings else {}),
        }


def _converge(plan: Plan, changes: Changes, *, write: bool) -> list[str]:
    # Imported late: a site that has no provider, and had none, needs no cloud client.
    from ..plugin_utils.cloud import federation

    if not plan.providers and not federation.recorded(plan.site):
        return []
    from ..plugin_utils.cloud import connection

    try:
        with connection.answered("Keystone", remedy=_REMEDY):
            cloud = connection.of_site(plan)
            kept = changes if write else Changes(check=True, done=changes.done, diffs=changes.diffs)
            found = federation.Federation(identity=cloud.identity, plan=plan, changes=kept)
            found.converge()
            return found.left
    except GroundupError as error:
        # A dry run before the cloud exists. A conflict with the plan reported by Keystone is still an error.
        if not changes.check or not isinstance(error, connection.UnreachedError):
            raise
        federation.foresee(plan, changes)
        return []


def _asked(plan: Plan, *, fail: bool) -> list[str]:
    """Return a warning for each provider that Keystone sends nobody to. Raises GroundupError with ``fail``."""
    from ..plugin_utils.cloud import federation

    if not plan.providers:
        return []
    ask = partial(https.request, plan=plan, authority=https.trust_file(plan))
    broken = federation.broken(plan, ask)
    lines = [f"nobody can log in by {name}: {why}" for name, why in broken.items()]
    if lines and fail:
        raise GroundupError(
            "; ".join(lines),
            where="identity.providers: " + ", ".join(broken),
            why="logins by password go on; those by a provider do not",
            remedy=f"ask the provider's operators whether it runs; kubectl -n {plan.openstack.namespace} logs "
            "deployment/keystone-api says what mod_auth_openidc met; see docs/federation.md",
        )
    return lines

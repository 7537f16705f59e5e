"""Action of module groundup.cloud.identity: uses Keystone's API, and asks directories from its pods."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..module_utils._base.changes import Changes
from ..plugin_utils import https
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.kube.client import Api
from ..plugin_utils.plan.types import Plan


class ActionModule(DocumentedAction):
    """Make the site's providers of logins in Keystone, verify directories, and give roles to groups of both."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        plan, verify = site_plan(given["site_file"]), given["step"] == "verify"
        _converge(plan, self.changes, write=not verify)
        if verify and self.changes.done:
            raise GroundupError(
                f"not as the site file says: {'; '.join(self.changes.done)}",
                where="Keystone; site file key identity",
                why="logins would fail, or give other rights",
                remedy="run the playbook groundup.cloud.openstack",
            )
        warnings = [*self.changes.warnings, *([] if self.changes.check else _unasked(plan, fail=verify))]
        return {**self.changes.result(), **({"warnings": warnings} if warnings else {})}


def _converge(plan: Plan, changes: Changes, *, write: bool) -> None:
    from ..plugin_utils.cloud import directories, identity, keystone
    from ..plugin_utils.cloud.administrator import or_foreseen

    kept = changes if write else Changes(check=True, done=changes.done, diffs=changes.diffs, warnings=changes.warnings)
    with or_foreseen(changes, lambda: identity.foresee(plan, changes)):
        cloud, faults = keystone.of_site(plan), {}
        if plan.identity.domains and not changes.check:  # before the first run Keystone has no directory
            faults = directories.faults(cloud, plan, directories.probe_of(plan, Api(kubeconfig_path(plan.site))))
        identity.converge(cloud, plan, kept, faults)


def _unasked(plan: Plan, *, fail: bool) -> list[str]:
    """Return a warning for each provider that Keystone sends nobody to. Raises GroundupError with ``fail``."""
    from ..plugin_utils.cloud import federation

    if not plan.identity.providers:
        return []
    broken = federation.broken(plan, partial(https.request, plan=plan, authority=https.trust_file(plan)))
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

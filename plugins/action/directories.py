"""Action of module groundup.cloud.directories: uses Keystone's API, and asks directories from its pods."""

from __future__ import annotations

from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.kube.client import Api


class ActionModule(DocumentedAction):
    """Verify the directories of Keystone's domains, and give roles to their groups."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes."""
        # Imported late: a site without directories needs no cloud client.
        from ..plugin_utils.cloud import connection, directories

        plan, check = site_plan(given["site_file"]), self.changes.check
        try:
            with connection.answered("Keystone", remedy="run the playbook groundup.cloud.openstack, tag verify"):
                identity = connection.of_site(plan).identity
                if given["step"] == "verify" or not check:
                    probe = directories.probe_of(plan, Api(kubeconfig_path(plan.site)))
                    said = directories.verify(identity, plan, probe)
                if given["step"] == "verify":
                    return {"changed": False, "msg": "; ".join(said)}
                directories.converge(identity, plan, self.changes)
        except GroundupError as error:
            if not check or not isinstance(error, connection.UnreachedError):  # a dry run before the cloud exists
                raise
            directories.foresee(plan, self.changes)
        return {**self.changes.result(), "warnings": self.changes.warnings}

"""Action of module groundup.cloud.tenant_smoke: test the cloud as a tenant, from the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..plugin_utils.actions import REACHED_BY, DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.guest_image import guest_image
from ..plugin_utils.services import nova

if TYPE_CHECKING:
    from ..plugin_utils.cloud.steps import Steps


class ActionModule(DocumentedAction):
    """Boot an instance as a separate tenant, and log in to it."""

    RULES = REACHED_BY

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the instance's address and hosts, and the seconds of each step."""
        if self._task.check_mode:
            return {"skipped": True, "msg": "a dry run makes no instance"}
        return self.stepped(lambda steps: self._prove(given, steps), killed="the instance was not proven")

    def _prove(self, given: dict[str, Any], steps: Steps) -> dict[str, Any]:
        from ..plugin_utils.cloud import connection, proof, smoke, tenant

        plan = site_plan(given["site_file"]) if given["site_file"] else None
        found = ""
        if plan:
            found = proof.digest(plan)
            if not given["again"] and (line := proof.proven(plan, found)):
                return {"msg": f"nothing has changed since: {line}"}
            proof.forget(plan)
        with connection.answered("Keystone", remedy="run the playbook groundup.cloud.openstack, tag verify"):
            admin = connection.of_site(plan) if plan else connection.named(given["cloud"])
            admin.authorize()
        names = ("user", "network", "host", "payload_mb", "memory_mb", "disk_gb", "timeout", "keep", "thorough")
        served = {one.type: one.url for one in plan.edge.endpoints} if plan else {}
        options = tenant.TenantOptions(
            image=guest_image(given["image"], progress=self._display.display),
            metadata_url=served.get("compute-metadata", ""),
            signed=plan is not None and plan.openstack.image_signatures == "required",
            console=not plan or nova.has_console(plan),
            **{name: given[name] for name in names},
        )
        answered = smoke.smoke(admin, options, steps)
        if plan:
            proof.remember(plan, found, answered["msg"])
        self._display.display(answered["msg"])
        return answered

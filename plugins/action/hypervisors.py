"""Action of module groundup.cloud.hypervisors: the cloud's side of hypervisors, by its API from the controller.

Every step asks the cloud, so its client is imported here: once, before Ansible forks a process for each task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from ..module_utils._base.changes import Changes
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.cloud import joining, leftover, places, probe
from ..plugin_utils.cloud.connection import asker
from ..plugin_utils.cloud.steps import Steps
from ..plugin_utils.cloud.tenant import TenantOptions
from ..plugin_utils.compose import site_plan
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.guest_image import guest_image
from ..plugin_utils.plan.types import Plan
from ..plugin_utils.progress import reminder


class ActionModule(DocumentedAction):
    """Run one step on the controller."""

    RULES: ClassVar = {"required_if": [("step", "compare", ("machines",))]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        steps = {
            "wait": self._wait, "place": self._place, "probe": self._probe,
            "verify": self._verify, "compare": self._compare,
        }  # fmt: skip
        return steps[given["step"]](site_plan(given["site_file"]), given)

    def _wait(self, plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
        if self.changes.check:
            return {"skipped": True, "msg": "nothing was applied: nobody has joined by it"}
        ask = asker(plan)
        with reminder(self._display.display, "[hypervisor] joining"):
            left = joining.wait(ask, given["hosts"], timeout=given["timeout"])
        said = [f"{one.host} ({one.layer}): {one.reason}. Remedy: {one.remedy}" for one in left]
        failed = {"failed": True, "msg": "\n".join(said)} if left else {}
        return {"changed": False, "aside": [asdict(one) for one in left], **failed}

    def _place(self, plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
        places.apply(plan, given["hosts"], self.changes)
        return self.changes.result()

    def _probe(self, plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
        if self.changes.check:
            probe.foresee(plan, given["hosts"], self.changes)
            return self.changes.result()
        return self.stepped(lambda steps: self._prove(plan, given, steps), killed="not every new hypervisor was probed")

    def _prove(self, plan: Plan, given: Mapping[str, Any], steps: Steps) -> dict[str, Any]:
        admin, found = probe.of_site(plan, given["hosts"])
        judged, changes = {}, Changes(check=False)
        if found.new:
            names = ("user", "memory_mb", "disk_gb", "timeout")
            image = guest_image(given["image"], progress=self._display.display)
            metadata = next((one.url for one in plan.edge.endpoints if one.type == "compute-metadata"), "")
            options = TenantOptions(
                image=image, metadata_url=metadata, signed=plan.openstack.image_signatures == "required",
                **{name: given[name] for name in names},
            )  # fmt: skip
            judged = probe.probe(admin, options, steps, found.new, limit=max(1, given["parallel"]))
        away = probe.record(judged, changes)
        return changes.result() | {
            "enabled": [host for host, fault in judged.items() if not fault],
            "kept": found.kept,
            "aside": [asdict(one) for one in away],
            "warnings": [*_kept(found), *(one.said for one in away)],
        }

    def _verify(self, plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
        places.verify(plan, given["hosts"])
        found = probe.verify(plan, given["hosts"])
        return {"changed": False, "kept": found.kept, "warnings": _kept(found)}

    def _compare(self, plan: Plan, given: Mapping[str, Any]) -> dict[str, Any]:
        try:
            found = leftover.look(asker(plan), hypervisors=given["hosts"], machines=given["machines"])
        except (GroundupError, OSError) as error:
            if not self.changes.check:
                raise
            # A dry run, and the cloud does not exist yet or does not answer: its hypervisors are unknown.
            return {"changed": False, "leftover": [], "msg": f"the cloud was not asked: {str(error).splitlines()[0]}"}
        return {
            "changed": False,
            "leftover": [asdict(one) for one in found.leftover],
            "warnings": [one.advice for one in (*found.leftover, *found.disabled)],
        }


def _kept(found: probe.Standing) -> list[str]:
    return [f"{host} stays disabled, by somebody's word: {why}" for host, why in sorted(found.kept.items())]

"""Action of module groundup.cloud.failure: asks the cloud, the hosts' answers and Ceph, and prints whom it concerns."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ..plugin_utils import site_identity
from ..plugin_utils.actions import ended
from ..plugin_utils.ceph_action import CephAction
from ..plugin_utils.cloud.administrator import VERIFY
from ..plugin_utils.compose import site_plan
from ..plugin_utils.contact.faults import presence, words
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.plan import Plan
from ..plugin_utils.status.hosts import not_there


class ActionModule(CephAction):
    """Look for dead hypervisors. The task is led to a storage host, which is asked about Ceph."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Print whom a dead one concerns. What ends the look itself is unknown, and lets nothing be done."""
        if "ansible_limit" in self.variables:
            return ended("whether one host is dead is judged by all: run it without --limit", unknown=True)
        found = given["found"]
        if given["step"] == "judge":
            return ended(found["summary"], broken=found["state"] != "clean")
        try:
            return self._start(given) if given["step"] == "start" else self._look(given)
        except (GroundupError, OSError) as error:
            return ended(str(error), unknown=True)

    def _look(self, given: dict[str, Any]) -> dict[str, Any]:
        from ..plugin_utils.cloud import affected, connection, failure  # late imports: a cloud's client is dear
        from ..plugin_utils.cloud.resources.api import CloudApi

        plan, now = site_plan(given["site_file"]), datetime.now(UTC)
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())

        def ceph(step: str, **options: Any) -> dict[str, Any]:
            return self.ask_ceph(plan, options, step=step)

        with connection.answered("Nova, Neutron and Keystone", remedy=VERIFY):
            cloud = connection.of_site(plan)
            contacts = {
                name: failure.Witness(name="ssh", word=word, said=said)
                for name, (word, said) in self._contacts(plan, given["result"]).items()
            }
            found, against = failure.look(plan, cloud, contacts, ceph, now=now)
            rows = affected.rows(CloudApi(cloud), found, against)
        told = affected.document(plan.site, now.isoformat(timespec="seconds"), rows)
        path = None if self.changes.check else given["path"]
        self.tell(told, affected.table(plan.site, rows), output=given["output"], path=path, mode=0o600)
        return {
            "changed": False, "failure": told, "metrics": affected.metrics(rows, now=now.timestamp()),
            "evacuate": next((one.host for one in rows if one.state == "evacuates"), ""),
        }  # fmt: skip

    def _start(self, given: dict[str, Any]) -> dict[str, Any]:
        """Start instances whose QEMU ended by itself, where the site's policy says so."""
        from ..plugin_utils.cloud import connection, died  # late imports: a cloud's client is dear

        plan, now = site_plan(given["site_file"]), datetime.now(UTC)
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        said = {name: self.variables["hostvars"][name].get(given["result"]) or {} for name in plan.hosts}
        domains = {name: died.crashed(str(one.get("stdout") or "")) for name, one in said.items()}
        if not any(domains.values()):
            return self.changes.result()
        with connection.answered("Nova", remedy=VERIFY):
            compute = connection.of_site(plan).compute
            for one in died.look(compute, domains, now=now):
                if one.against:
                    self._display.warning(str(one))
                elif self.changes.add(str(one), name=str(one.server["id"])):
                    compute.start_server(one.server["id"])
        return self.changes.result()

    def _contacts(self, plan: Plan, result: str) -> dict[str, tuple[Any, str]]:
        """Return what ssh says of each host that is installed."""
        said = {name: self.variables["hostvars"][name].get(result) for name in plan.hosts}
        there = {name: one for name, one in said.items() if one and not not_there(plan, plan.hosts[name])}
        return {name: _contact(one) for name, one in there.items()}


def _contact(result: dict[str, Any]) -> tuple[Any, str]:
    text = str(result.get("msg") or "")
    if "ping" in result:
        return "answers", "a login"
    return presence(text), words(text) or "no word"

"""Many ports and security-group rules of a tenant: how long Neutron and OVN take, and the memory they need."""

from __future__ import annotations

import itertools
import json
import re
import ssl
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from typing import Any

from ansible_collections.groundup.cloud.ci import memory
from ansible_collections.groundup.cloud.plugins.module_utils._container.cgroups import populated
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import CGROUP
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import DATABASES, NB
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import said_by
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import Tenant
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.api_latency import line_of, measure
from ansible_collections.groundup.cloud.tests.e2e.probing import Line

_PATIENCE = 120.0  # seconds for an answer of Neutron's
_SYNC = 900  # seconds for all chassis to follow
_CIDR = "10.200.0.0/16"
_FIRST = 1024  # port of the first rule
_SPENT = re.compile(r"(ovn-northd|ovn-controller\(s\)) completion:\s+(-?\d+)ms")


@contextmanager
def unlimited(tenant: Tenant) -> Iterator[None]:
    """Lift the quotas of a tenant's project in the block; afterwards the databases know nothing of them."""
    compute, network = tenant.admin.compute, tenant.admin.network
    try:
        with tenant.steps.step("quotas", layer="identity"):
            compute.update_quota_set(tenant.project, instances=-1, cores=-1, ram=-1)
            network.update_quota(tenant.project, ports=-1, floating_ips=-1, security_group_rules=-1)
        yield
    finally:
        with tenant.steps.step("quotas gone", layer="identity"):
            compute.revert_quota_set(tenant.project)
            network.delete_quota(tenant.project)


class Ports(Tenant):
    """Ports of a tenant in one network, all in one security group."""

    token: dict[str, str]  # header of a stage's requests

    def walk(self, *, ports: int, rules: int, clients: int, plan: Plan | None) -> list[dict[str, Any]]:
        """Return the figures of each stage. ``plan``: of the site, where OVN and the memory can be asked."""
        self._account(chooses=False)
        with unlimited(self):
            with self.steps.step("network", layer="network"):
                group = self.tenant.network.create_security_group(name=self.name)["id"]
                network = self.tenant.network.create_network(name=self.name)["id"]
                self.tenant.network.create_subnet(name=self.name, network_id=network, ip_version=4, cidr=_CIDR)
            numbers = itertools.count(_FIRST)
            port = {"port": {"name": self.name, "network_id": network, "security_groups": [group]}}

            def rule() -> dict[str, Any]:
                number = next(numbers)
                ends = {"port_range_min": number, "port_range_max": number, "remote_ip_prefix": _CIDR}
                kind = {"direction": "ingress", "ethertype": "IPv4", "protocol": "tcp"}
                return {"security_group_rule": {"security_group_id": group, **kind, **ends}}

            stage = partial(self._stage, clients=clients, plan=plan)
            stages = [
                stage("before", 0, lambda _: None),
                stage("ports", ports, lambda one: self._send(one, "POST", "/ports", port)),
                stage("rules", rules, lambda one: self._send(one, "POST", "/security-group-rules", rule())),
            ]
            left = [one["id"] for one in self.tenant.network.ports(network_id=network, name=self.name)]
            delete = partial(self._send, method="DELETE")
            return [*stages, stage("ports deleted", len(left), lambda one: delete(one, path=f"/ports/{left.pop()}"))]

    def _send(self, line: Line, method: str, path: str, body: Any = None) -> None:
        headers = self.token | {"Content-Type": "application/json"}
        line.ask(method, path, body=json.dumps(body).encode() if body else None, headers=headers)

    def _stage(
        self, name: str, count: int, ask: Callable[[Line], None], *, clients: int, plan: Plan | None
    ) -> dict[str, Any]:  # fmt: skip
        """Send ``count`` requests; have OVN say when all chassis followed, and weigh who worked."""
        url = str(self.tenant.endpoint_for("network")).rstrip("/").removesuffix("/v2.0") + "/v2.0"
        verify = self.tenant.session.verify
        context = ssl.create_default_context(cafile=verify if isinstance(verify, str) else None)
        self.token = {"X-Auth-Token": str(self.tenant.session.get_token())}
        row = None
        if count > clients:  # each client's first is not in the figures
            line = partial(Line, url, context=context, kept=True, patience=_PATIENCE)
            row = measure(name, ask, line, clients=clients, requests=count - clients)
            self.steps.say(line_of(row))
        found = {"sync": synced(plan), "memory": weighed(plan)} if plan else {"sync": {}, "memory": {}}
        self.steps.say(f"{name}: {found}")
        return {"name": name, "row": asdict(row) if row else None, **found}


def synced(plan: Plan) -> dict[str, float | str]:
    """Have every chassis catch up with the northbound database. Return the seconds by OVN, or the ``cause``."""
    host = plan.hosts[plan.edge.hosts[0]].address
    state = state_dir(plan.site) / "ssh"
    command = f"sudo ovn-nbctl --no-leader-only --db={NB.socket} --timeout={_SYNC} --wait=hv --print-wait-time sync"
    told = said_by(
        [
            *("ssh", "-F", "/dev/null", "-i", f"{state}/id_ed25519", "-p", str(plan.access.port)),
            *("-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", f"UserKnownHostsFile={state}/known_hosts"),
            *(f"{plan.access.user}@{host}", command),
        ],
        timeout=_SYNC + 30,
    )  # fmt: skip
    return {"cause": told.fault} if told.fault else spent(told.data.decode())


def spent(text: str) -> dict[str, float | str]:
    """Return the seconds that ovn-nbctl says northd and the chassis took."""
    names = {"ovn-northd": "northd", "ovn-controller(s)": "chassis"}
    found: dict[str, float | str] = {names[who]: int(took) / 1000 for who, took in _SPENT.findall(text)}
    return found if len(found) == len(names) else {"cause": f"not understood: {text.strip()}"}


def weighed(plan: Plan) -> dict[str, int]:
    """Return the bytes (PSS) of Neutron's and OVN's processes in a lab on this machine; {} of any other site."""
    sizes = Counter[str]()
    for host in plan.hosts:
        for pid in populated(f"{CGROUP}/{plan.site}/{host}"):
            with suppress(OSError):  # it has ended
                words = (memory.PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
                used = memory.use(host, memory.PROC / str(pid))
                if used and (name := program(used.user, words)):
                    sizes[name] += used.size
    return dict(sorted(sizes.items()))


def program(user: str, words: Sequence[str]) -> str:
    """Return under which name a process is weighed, "" when it is not. ``user``: as ci/memory.py calls it."""
    if user == "ovsdb-server":  # hypervisors have one, too
        return next((f"{user} {one.short.upper()}" for one in DATABASES if one.control.stem in "".join(words)), "")
    return user if user.startswith("neutron-") or user in ("ovn-northd", "ovn-controller") else ""

"""What a tenant does with a load balancer: two instances behind an address, then one, asked from outside and inside.

Usage: balancer.py HOST HOST GUEST. Prints, as JSON: which instance answered how often, from outside by a floating IP
and by the address within the tenant's network; without one of them; what is left in the project; seconds.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import Ground, TenantOptions
from ansible_collections.groundup.cloud.tests.e2e.clients.volumes import WAIT, Volumes

ASKED = 40  # times: that one of two is left out by chance is one in a billion runs
_PORT, _MEMBERS_PORT = 80, 8080
_SERVE = "mkdir -p ~/web && echo %s > ~/web/name && httpd -p %d -h ~/web"
_ASK = "n=0; while [ $n -lt %d ]; do wget -q -T 5 -O - http://%s/name || echo none; n=$((n + 1)); done"


class Balancer(Volumes):
    """Two instances behind one address."""

    seconds: dict[str, float]

    def see(self, hosts: list[str]) -> dict[str, Any]:
        """Return what was seen."""
        self.seconds = {}
        ground, names = self.prepare(chooses=True), ["first", "second"]
        self.tenant.network.create_security_group_rule(
            security_group_id=self.tenant.network.find_security_group(self.name)["id"], direction="ingress",
            ether_type="IPv4", protocol="tcp", port_range_min=_MEMBERS_PORT, port_range_max=_MEMBERS_PORT,
        )  # fmt: skip
        servers = [self.create(ground, name=f"{self.name}-{host}", host=host) for host in hosts]
        with self.steps.step("instances", layer="compute"):
            guests = [self._guest(ground, server) for server in servers]
            for name, guest in zip(names, guests, strict=True):
                said = guest.ask(_SERVE % (name, _MEMBERS_PORT))
                assert not said.fault, said
        with self.steps.step("balancer", layer="network"):
            balancer, pool = self._balancer(ground, servers)
        try:
            found = self._asked(ground, balancer, pool, guests[0])
        finally:
            self.tenant.load_balancer.delete_load_balancer(balancer["id"], cascade=True)
            late = wait_until(lambda: self._listed(balancer["id"]), timeout=WAIT, pause=0.5)
            assert not late, f"the balancer is still there: {late}"
        owners = [str(port["device_owner"]) for port in self.tenant.network.ports()]
        left = [one for one in owners if not one.startswith(("network:", "compute:"))]
        return {**found, "left": left, "seconds": self.seconds}

    def _balancer(self, ground: Ground, servers: list[Any]) -> tuple[Any, Any]:
        """Make it, and return it with its pool."""
        api, network = self.tenant.load_balancer, self.tenant.network
        subnet = ground.network["subnet_ids"] or [one["id"] for one in network.subnets(network_id=ground.network["id"])]
        made = api.create_load_balancer(name=self.name, vip_subnet_id=subnet[0])
        self._settled("balancer", made["id"])
        listener = api.create_listener(load_balancer_id=made["id"], protocol="TCP", protocol_port=_PORT)
        self._settled("listener", made["id"])
        pool = api.create_pool(listener_id=listener["id"], protocol="TCP", lb_algorithm="SOURCE_IP_PORT")
        self._settled("pool", made["id"])
        for server in servers:
            (port,) = network.ports(device_id=server["id"])
            address = port["fixed_ips"][0]["ip_address"]
            api.create_member(pool, address=address, protocol_port=_MEMBERS_PORT, subnet_id=subnet[0])
            self._settled("member", made["id"])
        return api.get_load_balancer(made["id"]), pool

    def _asked(self, ground: Ground, balancer: Any, pool: Any, guest: Guest) -> dict[str, Any]:
        found = self.tenant.network.create_ip(
            floating_network_id=ground.external["id"], port_id=balancer["vip_port_id"]
        )  # fmt: skip
        address = str(found["floating_ip_address"])
        with self.steps.step("outside", layer="network"):
            self._soon("answers", lambda: set(self._answers(address)) == {"first", "second"})
            outside = self._answers(address)
        with self.steps.step("inside", layer="network"):
            # A guest may be silent for some seconds on a loaded machine: how long is told, and is not the balancer's.
            self._soon("an instance lets in", lambda: not guest.ask("true").fault)
            said = guest.ask(_ASK % (ASKED, balancer["vip_address"]), timeout=WAIT)
            assert not said.fault, said
            inside = Counter(said.data.decode().split())
        with self.steps.step("without one", layer="network"):
            member = next(iter(self.tenant.load_balancer.members(pool)))
            self.tenant.load_balancer.delete_member(member, pool)
            self._settled("one is deleted", balancer["id"])  # until then it lets nobody delete it
            self._soon("one is out", lambda: len(self._answers(address)) == 1)
            less = self._answers(address)
        return {"outside": outside, "inside": inside, "less": less, "address": address}

    def _answers(self, address: str) -> Counter[str]:
        """Return who answered how often; an error counts by its name."""
        found: Counter[str] = Counter()
        for _ in range(ASKED):
            connection = http.client.HTTPConnection(address, _PORT, timeout=5)
            try:
                connection.request("GET", "/name")
                found[connection.getresponse().read().decode().strip()] += 1
            except OSError as error:
                found[type(error).__name__] += 1
                break  # a silent one takes five seconds
            finally:
                connection.close()
        return found

    def _soon(self, what: str, ready: Callable[[], bool]) -> None:
        began = time.monotonic()
        assert not wait_until(lambda: not ready(), timeout=WAIT, pause=0.5), f"not within {WAIT:.0f} s: {what}"
        self.seconds[what] = round(time.monotonic() - began, 1)

    def _settled(self, what: str, balancer: str) -> None:
        began = time.monotonic()
        read = self.tenant.load_balancer.get_load_balancer
        self._until(lambda: str(read(balancer)["provisioning_status"]), ("ACTIVE", "ERROR"), what)
        state = str(read(balancer)["provisioning_status"])
        assert state == "ACTIVE", f"{what}: {state}"
        self.seconds.setdefault(what, round(time.monotonic() - began, 1))

    def _listed(self, balancer: str) -> list[str]:
        listed = self.tenant.load_balancer.load_balancers()
        return [str(one["provisioning_status"]) for one in listed if one["id"] == balancer]


def main() -> None:
    """Do it all, and delete it all."""
    first, second, image = sys.argv[1:]
    options = TenantOptions(image=Path(image), user="guest", timeout=WAIT)
    steps = Steps(lambda line: print(line, file=sys.stderr, flush=True))
    print(json.dumps(within(Balancer, openstack.connect(), options, steps, lambda it: it.see([first, second]))))


if __name__ == "__main__":
    main()

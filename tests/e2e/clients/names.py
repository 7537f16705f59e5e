"""A tenant's DNS: a zone, a record by hand, the name of a floating IP, and that of an instance on its own network.

Usage: names.py GUEST SERVER. SERVER: address of the site's name server. Prints, as JSON: what the name server answered
while each was there and once it was gone, what the guest heard of its own name, seconds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import TenantOptions
from ansible_collections.groundup.cloud.tests.ask_dns import address
from ansible_collections.groundup.cloud.tests.e2e.clients.volumes import WAIT, Volumes

_BY_HAND = "192.0.2.80"


class Names(Volumes):
    """One instance, and names for it."""

    server: str
    seconds: dict[str, float]

    def tried(self) -> dict[str, Any]:
        """Return what was seen."""
        self.seconds = {}
        ground = self.prepare(chooses=False)
        dns, network = self.tenant.dns, self.tenant.network
        zone = f"{self.name}.names.test."
        with self.steps.step("zone", layer="network"):
            made = dns.create_zone(name=zone, email=f"hostmaster@{zone.rstrip('.')}", ttl=60)
            try:
                self._until(lambda: dns.get_zone(made["id"])["status"], ("ACTIVE",), zone)
                return {"zone": zone, **self._named(ground, made, zone), "seconds": self.seconds}
            finally:
                dns.delete_zone(made)
                self._heard("zone gone", f"www.{zone}", "")
                network.update_network(ground.network["id"], dns_domain="")

    def _named(self, ground: Any, made: Any, zone: str) -> dict[str, Any]:
        dns, network = self.tenant.dns, self.tenant.network
        with self.steps.step("record", layer="network"):
            dns.create_recordset(made, name=f"www.{zone}", type="A", records=[_BY_HAND], ttl=60)
            self._heard("record", f"www.{zone}", _BY_HAND)
        with self.steps.step("instance", layer="compute"):
            server = self.create(ground, name=self.name)
            guest = self._guest(ground, server)
            said = guest.ask(f"cat /etc/resolv.conf; nslookup $(hostname) {self._gateway(ground)}", timeout=WAIT)
        (port,) = network.ports(device_id=server["id"])
        with self.steps.step("floating IP with a name", layer="network"):
            floating = network.create_ip(
                floating_network_id=ground.external["id"], dns_domain=zone, dns_name="web"
            )  # fmt: skip
            self._heard("floating IP", f"web.{zone}", str(floating["floating_ip_address"]))
            network.delete_ip(floating)
            self._heard("floating IP gone", f"web.{zone}", "")
        return {"assigned": port["dns_assignment"], "guest": said.data.decode(errors="replace"), "name": self.name}

    def _gateway(self, ground: Any) -> str:
        (subnet,) = self.tenant.network.subnets(network_id=ground.network["id"])
        return str(subnet["gateway_ip"])

    def _heard(self, what: str, name: str, wanted: str) -> None:
        """Wait until the name server answers ``wanted``."""
        began, heard = time.monotonic(), ["nothing"]

        def otherwise() -> bool:
            try:
                heard[0] = address(self.server, name)
            except OSError as error:
                heard[0] = str(error)
            return heard[0] != wanted

        wait_until(otherwise, timeout=WAIT, pause=0.5)
        assert heard[0] == wanted, f"{what}: {self.server} says {heard[0]!r} of {name}, wanted {wanted!r}"
        self.seconds[what] = round(time.monotonic() - began, 1)


def main() -> None:
    """Do it all, and delete it all."""
    Names.server = sys.argv[2]
    options = TenantOptions(image=Path(sys.argv[1]), user="guest", timeout=WAIT)
    steps = Steps(lambda line: print(line, file=sys.stderr, flush=True))
    print(json.dumps(within(Names, openstack.connect(), options, steps, Names.tried)))


if __name__ == "__main__":
    main()

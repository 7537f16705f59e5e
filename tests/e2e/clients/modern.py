"""What clients of these days ask for: an automatic network, a config drive, an image deleted under its instance.

Usage: modern.py GUEST. Prints, as JSON: what the guest found on its config drive and how it reached its gateway;
whether it answered after its image was gone; what came of a trunk, a policy of bandwidth and DSCP, a forwarded port;
seconds of a transfer with a limit and without; what the guest said through a forwarded port.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest, make_key, said_by
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import Ground, TenantOptions
from ansible_collections.groundup.cloud.tests.e2e.clients.disks import Disks
from ansible_collections.groundup.cloud.tests.e2e.clients.volumes import WAIT

_DRIVE = """
sudo -n mount -r -t iso9660 "$(sudo blkid -t LABEL=config-2 -o device)" /mnt
cat /mnt/openstack/latest/meta_data.json; sudo umount /mnt
"""
_SIZE, _KBPS, _BURST = 1_000_000, 1000, 100  # bytes; kbit/s; kbit
SLOW = 0.9 * (_SIZE * 8 / 1000 - _BURST) / _KBPS  # seconds that the limit leaves no transfer under
_GATEWAY = "ping -c 1 -w 5 $(ip route | awk '/^default/ {print $3}') | grep received"


class Modern(Disks):
    """One instance, and what is made around it."""

    def tried(self) -> dict[str, Any]:
        """Return what was seen."""
        self.options = self._as_raw()
        self._account(chooses=False)
        compute, images = self.tenant.compute, self.tenant.image
        with self.steps.step("ground", layer="image"):
            compute.create_keypair(name=self.name, public_key=make_key(self.directory, self.name))
            self._security_group()
            image, flavor = self._image(), self._flavor()
        with self.steps.step("automatic network", layer="network"):
            server = compute.create_server(
                name=self.name, image_id=image["id"], flavor_id=flavor["id"], key_name=self.name, networks="auto",
                config_drive=True, security_groups=[{"name": self.name}],
            )  # fmt: skip
            guest = self._guest(Ground(network=None, external=self._external(), image=image, flavor=flavor), server)
        with self.steps.step("config drive", layer="guest"):
            found = {"drive": json.loads(self._said(guest, _DRIVE)), "gateway": self._said(guest, _GATEWAY)}
        with self.steps.step("image deleted", layer="image"):
            images.delete_image(image["id"])
            found["images"] = [one["id"] for one in images.images(owner=self.project)]
            found["after"] = self._said(guest, "sync; head -c 65536 /dev/vda | wc -c")
        with self.steps.step("plugins of Neutron", layer="network"):
            found |= self._plugins(server)
        with self.steps.step("limit of bandwidth", layer="network"):
            found |= self._limited(server, guest)
        with self.steps.step("forwarded port", layer="network"):
            found["through"] = self._through(server, guest)
        compute.delete_server(server["id"])
        late = wait_until(lambda: list(compute.servers()), timeout=WAIT, pause=1.0)
        assert not late, late
        return {"server": server["id"], "name": self.name, "image": image["id"], **found}

    def _said(self, guest: Guest, words: str) -> str:
        said = guest.ask(words, timeout=WAIT)
        assert not said.fault, said
        return said.data.decode()

    def _plugins(self, server: Any) -> dict[str, Any]:
        """Ask for what each plugin of Neutron brings; take it back."""
        network = self.tenant.network
        (port,) = network.ports(device_id=server["id"])
        rules = self.admin.network  # tenants may use policies, and make none
        policy = rules.create_qos_policy(name=self.name, project_id=self.project)
        rules.create_qos_bandwidth_limit_rule(policy, max_kbps=20000, max_burst_kbps=2000, direction="egress")
        rules.create_qos_dscp_marking_rule(policy, dscp_mark=26)
        network.update_port(port, qos_policy_id=policy["id"])
        limited = network.get_port(port["id"])["qos_policy_id"] == policy["id"]
        network.update_port(port, qos_policy_id=None)
        rules.delete_qos_policy(policy)
        other = network.create_network(name=self.name)
        parent, child = (network.create_port(network_id=other["id"]) for _ in range(2))
        sub = {"port_id": child["id"], "segmentation_type": "vlan", "segmentation_id": 101}
        trunk = network.create_trunk(port_id=parent["id"], sub_ports=[sub])
        carried = [one["segmentation_id"] for one in network.get_trunk(trunk["id"])["sub_ports"]]
        network.delete_trunk(trunk)
        address = network.create_ip(floating_network_id=self._external()["id"])
        inner = network.create_port(network_id=port["network_id"])  # the instance's has a floating IP of its own
        forwarded = network.create_floating_ip_port_forwarding(
            address, internal_port_id=inner["id"], internal_ip_address=inner["fixed_ips"][0]["ip_address"],
            internal_port=22, external_port=2222, protocol="tcp",
        )  # fmt: skip
        network.delete_floating_ip_port_forwarding(address, forwarded)
        network.delete_port(inner)
        return {"limited": limited, "carried": carried, "forwarded": forwarded["external_port"]}

    def _limited(self, server: Any, guest: Guest) -> dict[str, Any]:
        """Return the seconds that a transfer out of the guest takes with a limit, and once it is gone."""
        network, rules = self.tenant.network, self.admin.network
        (port,) = network.ports(device_id=server["id"])
        policy = rules.create_qos_policy(name=f"{self.name}-slow", project_id=self.project)
        rules.create_qos_bandwidth_limit_rule(policy, max_kbps=_KBPS, max_burst_kbps=_BURST, direction="egress")

        def seconds() -> float:
            began = time.monotonic()
            said = guest.ask(f"head -c {_SIZE} /dev/zero", timeout=WAIT)
            assert len(said.data) == _SIZE, said.fault
            return time.monotonic() - began

        def reached(policy_id: str | None, *, slow: bool) -> float:
            # OVN's controllers take a policy up after Neutron has answered.
            network.update_port(port, qos_policy_id=policy_id)
            taken = [0.0]

            def otherwise() -> bool:
                taken[0] = seconds()
                return (taken[0] >= SLOW) != slow

            wait_until(otherwise, timeout=WAIT, pause=1.0)
            return round(taken[0], 1)

        before, limited = seconds(), reached(policy["id"], slow=True)
        after = reached(None, slow=False)
        rules.delete_qos_policy(policy)
        return {"seconds": {"before": before, "limited": limited, "after": after}, "slow": SLOW}

    def _through(self, server: Any, guest: Guest) -> str:
        """Return what the guest says at port 2222 of a floating IP that is not its own."""
        network = self.tenant.network
        (port,) = network.ports(device_id=server["id"])
        (own,) = network.ips(port_id=port["id"])
        network.delete_ip(own)  # a port with a floating IP of its own gets no forwarded ports
        address = network.create_ip(floating_network_id=self._external()["id"])
        forwarded = network.create_floating_ip_port_forwarding(
            address, internal_port_id=port["id"], internal_ip_address=port["fixed_ips"][0]["ip_address"],
            internal_port=22, external_port=2222, protocol="tcp",
        )  # fmt: skip
        there = Guest(address=address["floating_ip_address"], user=guest.user, directory=guest.directory)
        program, *words = there.command("hostname")
        said = [""]

        def silent() -> str:
            answer = said_by([program, "-p", "2222", *words], timeout=WAIT)
            said[0] = answer.data.decode().strip()
            return answer.fault

        last = wait_until(silent, timeout=WAIT, pause=1.0)
        assert not last, last
        network.delete_floating_ip_port_forwarding(address, forwarded)
        return said[0]


def main() -> None:
    """Do it all, and delete it all."""
    options = TenantOptions(image=Path(sys.argv[1]), user="guest", timeout=WAIT)
    steps = Steps(lambda line: print(line, file=sys.stderr, flush=True))
    print(json.dumps(within(Modern, openstack.connect(), options, steps, Modern.tried)))


if __name__ == "__main__":
    main()

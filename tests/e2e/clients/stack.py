"""A stack of Heat's with an instance, a volume and a floating IP: made, asked by ssh, updated, deleted.

Usage: stack.py GUEST. Prints, as JSON: what the guest said of itself and its disk before and after the update, SHA-256
of what was written and read, ids, what is left in the project, seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import Ground, TenantOptions
from ansible_collections.groundup.cloud.tests.e2e.clients.volumes import SIZE, WAIT, Volumes

_PARAMETERS = ("image", "flavor", "key", "network", "group", "external", "word")
_TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "parameters": {**{name: {"type": "string"} for name in _PARAMETERS}, "gigabytes": {"type": "number"}},
    "resources": {
        "port": {
            "type": "OS::Neutron::Port",
            "properties": {"network": {"get_param": "network"}, "security_groups": [{"get_param": "group"}]},
        },
        "server": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": {"get_param": "image"},
                "flavor": {"get_param": "flavor"},
                "key_name": {"get_param": "key"},
                "networks": [{"port": {"get_resource": "port"}}],
                "metadata": {"word": {"get_param": "word"}},
                "user_data_format": "RAW",
            },
        },
        "volume": {"type": "OS::Cinder::Volume", "properties": {"size": {"get_param": "gigabytes"}}},
        "attachment": {
            "type": "OS::Cinder::VolumeAttachment",
            "properties": {"instance_uuid": {"get_resource": "server"}, "volume_id": {"get_resource": "volume"}},
        },
        "address": {
            "type": "OS::Neutron::FloatingIP",
            "properties": {"floating_network": {"get_param": "external"}, "port_id": {"get_resource": "port"}},
        },
    },
    "outputs": {
        "address": {"value": {"get_attr": ["address", "floating_ip_address"]}},
        "server": {"value": {"get_resource": "server"}},
        "volume": {"value": {"get_resource": "volume"}},
    },
}
_SECTORS = "cat /sys/block/vdb/size"


class Stack(Volumes):
    """One stack on a tenant's network."""

    def see(self) -> dict[str, Any]:
        """Return what was seen of it."""
        ground, seconds, content = self.prepare(chooses=False), dict[str, float](), os.urandom(SIZE)
        made = self._heat("POST", "", self._wanted(ground, gigabytes=1, word="first"))["stack"]
        path = f"/{self.name}/{made['id']}"
        try:
            outputs = self._done(path, "CREATE", seconds)
            began = time.monotonic()
            guest = Guest(address=outputs["address"], user=self.options.user, directory=self.directory)
            with self.steps.step("answers", layer="guest"):
                last = wait_until(lambda: guest.ask("test -w /dev/vdb").fault, timeout=WAIT, pause=1.0)
                assert not last, f"{outputs['address']}: {last}"
            seconds["answers"] = round(time.monotonic() - began, 1)
            before = {"sectors": self._sectors(guest), "word": self._word(outputs)}
            (self.directory / "payload").write_bytes(content)
            with (self.directory / "payload").open("rb") as stream:
                said = guest.ask("dd of=/dev/vdb bs=1M conv=fsync 2>&1", timeout=WAIT, stdin=stream)
            assert not said.fault, said
            self._heat("PUT", path, self._wanted(ground, gigabytes=2, word="second"))
            again = self._done(path, "UPDATE", seconds)
            # Nova tells QEMU of it after Cinder is done.
            wait_until(lambda: self._sectors(guest) == before["sectors"], timeout=WAIT, pause=1.0)
            after = {"sectors": self._sectors(guest), "word": self._word(again)}
            read = self._read(guest)
        finally:
            self._heat("DELETE", path)
            self._done(path, "DELETE", seconds)
        sent = hashlib.sha256(content).hexdigest()
        found = {"before": before, "after": after, "sent": sent, "read": read, "made": outputs, "again": again}
        # Heat takes an instance in state DELETED for gone: its record goes a moment later.
        wait_until(lambda: any(self._left().values()), timeout=WAIT, pause=0.5)
        return {**found, "left": self._left(), "seconds": seconds}

    def _wanted(self, ground: Ground, **parameters: Any) -> dict[str, Any]:
        all_of_them = {
            "image": ground.image["id"], "flavor": ground.flavor["id"], "key": self.name, "group": self.name,
            "network": ground.network["id"], "external": ground.external["id"], **parameters,
        }  # fmt: skip
        return {"stack_name": self.name, "template": _TEMPLATE, "parameters": all_of_them}

    def _heat(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        public = {"service_type": "orchestration", "interface": "public"}
        answer = self.tenant.session.request(f"/stacks{path}", method, json=body, endpoint_filter=public)
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")  # an accepted update is not
        return dict(answer.json()) if is_json and answer.content else {}

    def _done(self, path: str, action: str, seconds: dict[str, float]) -> dict[str, str]:
        """Wait for the end of what is done to the stack; return its outputs."""
        found: dict[str, Any] = {}

        def at_it() -> bool:
            found.update(self._heat("GET", path)["stack"])
            status = found["stack_status"]
            return not status.startswith(action) or status.endswith("_IN_PROGRESS")

        began = time.monotonic()
        with self.steps.step(action, layer="compute"):
            wait_until(at_it, timeout=WAIT, pause=1.0)
            assert found["stack_status"] == f"{action}_COMPLETE", found["stack_status_reason"]
        seconds[action] = round(time.monotonic() - began, 1)
        return {one["output_key"]: one["output_value"] for one in found.get("outputs") or ()}

    def _sectors(self, guest: Guest) -> int:
        said = guest.ask(_SECTORS)
        assert not said.fault, said
        return int(said.data)

    def _word(self, outputs: dict[str, str]) -> str:
        return str(self.tenant.compute.get_server(outputs["server"])["metadata"]["word"])

    def _left(self) -> dict[str, list[str]]:
        """Return what the project still has of what the stack made."""
        compute, network, storage = self.tenant.compute, self.tenant.network, self.tenant.block_storage
        kinds = {
            "stacks": self._heat("GET", "")["stacks"],
            "servers": compute.servers(),
            "volumes": storage.volumes(),
            "floating IPs": network.ips(),
            "ports": [one for one in network.ports() if not one["device_owner"].startswith("network:")],
        }
        return {kind: [str(one["id"]) for one in listed] for kind, listed in kinds.items()}


def main() -> None:
    """Do it all, and delete it all."""
    options = TenantOptions(image=Path(sys.argv[1]), user="guest", timeout=WAIT)
    steps = Steps(lambda line: print(line, file=sys.stderr, flush=True))
    print(json.dumps(within(Stack, openstack.connect(), options, steps, Stack.see)))


if __name__ == "__main__":
    main()

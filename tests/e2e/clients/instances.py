"""Instances beside the one a kept smoke left: `stopped HOST` makes one, `start` starts it, `delete` deletes it.

Always prints every instance with its host and status.
"""

from __future__ import annotations

import json
import sys

import openstack

NAME = "stopped"
cloud = openstack.connect()


def found(name: str) -> list[openstack.compute.v2.server.Server]:
    return [one for one in cloud.compute.servers(all_projects=True) if one.name.startswith(name)]


match sys.argv[1:]:
    case ["stopped", host]:
        (kept,) = found("smoke-")
        (network,) = (one for one in cloud.network.networks() if one.name == kept.name)
        (flavor,) = (one for one in cloud.compute.flavors(is_public="None") if one.name == kept.name)
        made = cloud.compute.create_server(
            name=NAME, image_id=kept.image.id, flavor_id=flavor.id, networks=[{"uuid": network.id}],
            availability_zone=f":{host}",
        )  # fmt: skip
        cloud.compute.wait_for_server(made, wait=180)
        cloud.compute.stop_server(made)
        cloud.compute.wait_for_server(made, status="SHUTOFF", wait=120)
    case ["start"]:
        (made,) = found(NAME)
        cloud.compute.start_server(made)
        cloud.compute.wait_for_server(made, wait=120)
    case ["delete"]:
        for one in found(NAME):
            cloud.compute.delete_server(one, force=True)
            cloud.compute.wait_for_delete(one, wait=120)
print(json.dumps({one.name: [one.compute_host, one.status] for one in found("")}))

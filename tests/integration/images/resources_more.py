"""Makes zones and encrypted volume types by the engine, takes over what others made, meets a secret; prints JSON.

Usage: resources_more.py FILE      FILE: resources of plans by name. OS_* variables are the administrator's.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import holds
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.api import CloudApi
from ansible_collections.groundup.cloud.tests.integration.images import resources

SERVICES = ("keystone", "cinder", "barbican", "designate")


def main() -> None:
    """Make, take over, refuse, delete."""
    cloud = openstack.connect(load_yaml_config=False)
    api, run = CloudApi(cloud), partial(resources.run, cloud, services=SERVICES)
    found: dict[str, Any] = {"foreseen": run("base", check=True), "first": run("base"), "again": run("base")}
    kinds = {one["name"]: one for one in api.all("block_storage", "/types?is_public=None", "volume_types")}
    found["encryption"] = api.call("block_storage", "GET", f"/types/{kinds['secret']['id']}/encryption")
    web = str(cloud.identity.find_project("web").id)
    api.call("block_storage", "POST", "/types", {"volume_type": {"name": "gold"}})
    api.call("block_storage", "POST", "/qos-specs", {"qos_specs": {"name": "fast", "consumer": "front-end"}})
    zone = {"name": "b.example.test.", "email": "else@example.test"}
    api.call("dns", "POST", "/zones", zone, headers={"X-Auth-Sudo-Project-ID": web})
    found["refused"] = run("adopt")
    found["taken"] = run("adopt", force=("adopt",))
    found["settled"] = run("adopt")
    found["other"] = run("other")
    with holds.as_member(api, web) as member:
        secret = {"name": "theirs", "payload": "word", "payload_content_type": "text/plain"}
        made = member.call("key_manager", "POST", "/secrets", secret)["secret_ref"].rpartition("/")[2]
    found["dry"] = run("none", check=True, force=("delete",))
    found["kept"] = run("none", force=("delete",))
    path = f"/role_assignments?user.id={cloud.current_user_id}&scope.project.id={web}"
    found["roles"] = api.all("identity", path, "role_assignments")
    with holds.as_member(api, web) as member:
        member.call("key_manager", "DELETE", f"/secrets/{made}")
    found["gone"] = run("none", force=("delete",))
    found["left"] = [one["name"] for one in api.all("block_storage", "/types?is_public=None", "volume_types")]
    print(json.dumps(found))


main()

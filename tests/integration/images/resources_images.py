"""Makes an image by the engine in the image's Glance, copies it as Nova does, compares and deletes; prints JSON.

Usage: resources_images.py FILE      FILE: resources of plans by name. OS_* variables are the administrator's.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import openstack
from ansible_collections.groundup.cloud.tests.integration.images import resources


def main() -> None:
    """Make, copy, compare, delete."""
    cloud = openstack.connect(load_yaml_config=False)
    run = partial(resources.run, cloud, services=("keystone", "glance"))
    found: dict[str, Any] = {"first": run("more"), "again": run("more")}
    listed = partial(cloud.image.get, "/images?visibility=all")
    found["made"] = listed().json()["images"]
    for one in found["made"]:
        kept = {key: value for key, value in one.items() if key.startswith(("groundup_", "min_"))}
        copy = {**kept, "name": "snapshot", "owner": one["owner"], "visibility": "community"}
        cloud.image.post("/images", json={**copy, "disk_format": "raw", "container_format": "bare"})
    found["beside"] = run("more")
    found["less"] = run("less", force=("delete",))
    found["left"] = [one["name"] for one in listed().json()["images"]]
    found["kept"] = run("none", force=("delete",))
    print(json.dumps(found))


main()

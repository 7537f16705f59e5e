"""What a retirement does to allocations, before a real Placement: within the image, which has Placement and the SDK.

Prints, as JSON: on how many providers the instance has allocations before and after, and whether two are seen as that.
"""

from __future__ import annotations

import json
import sys
import time

import openstack
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import placement as verbs
from keystoneauth1.exceptions import ClientException

URL, SERVER = "http://127.0.0.1:9999", "5f4b2d4e-6f4c-4a52-9a39-0a4c7f6f7d01"
HOSTS = ("5f4b2d4e-6f4c-4a52-9a39-0a4c7f6f7d02", "5f4b2d4e-6f4c-4a52-9a39-0a4c7f6f7d03")
VERSION = "1.28"


class Admin:
    """As much of a connection as the verbs use."""

    def __init__(self) -> None:
        cloud = openstack.connection.Connection(auth_type="admin_token", auth={"endpoint": URL, "token": "admin"})
        self.placement = cloud.placement


def held(admin: Admin) -> int:
    return len(verbs.call(admin, "get", f"/allocations/{SERVER}", version=VERSION)["allocations"])


def main() -> None:
    """Give an instance two providers, and take one away, twice."""
    admin = Admin()
    while True:  # whoever called this ends it
        try:
            verbs.known(admin, "HW_")
            break
        except ClientException as error:  # it is starting
            print(repr(error), file=sys.stderr)
            time.sleep(0.2)
    for host in HOSTS:
        verbs.call(admin, "post", "/resource_providers", json={"uuid": host, "name": host})
        inventory = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
        verbs.call(admin, "put", f"/resource_providers/{host}/inventories", json=inventory)
    wanted = {
        "allocations": {host: {"resources": {"VCPU": 1}} for host in HOSTS},
        "project_id": "a-project", "user_id": "a-user", "consumer_generation": None,
    }  # fmt: skip
    verbs.call(admin, "put", f"/allocations/{SERVER}", version=VERSION, json=wanted)
    seen = {"before": held(admin), "elsewhere": verbs.elsewhere(admin, SERVER, HOSTS[0])}
    verbs.withdraw(admin, SERVER, HOSTS[0])
    seen |= {"after": held(admin), "still elsewhere": verbs.elsewhere(admin, SERVER, HOSTS[1])}
    verbs.withdraw(admin, SERVER, HOSTS[1])  # its only one
    print(json.dumps({**seen, "last": held(admin)}))


main()

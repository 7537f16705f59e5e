"""Instances of two projects in a real Nova, hypervisors in a real Placement, as capacity and usage tell them.

Runs within the image, which has both and the SDK. Usage: counted.py make | ask. `ask` prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections import defaultdict
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import placement
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.api import CloudApi
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.usage import accounts
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.usage.capacity import Capacity
from keystoneauth1.exceptions import ClientException

NOVA, PLACEMENT = "http://127.0.0.1:8774/v2.1", "http://127.0.0.1:9999"
HOSTS = {"one": "5f4b2d4e-6f4c-4a52-9a39-0a4c7f6f7d02", "two": "5f4b2d4e-6f4c-4a52-9a39-0a4c7f6f7d03"}
USER = {"X-User-Id": "u", "X-Project-Id": "p", "X-Roles": "admin,member,reader"}
DAY = timedelta(days=1)
# Project, days ago of the launch and of the deletion.
INSTANCES = (("web", 40, None), ("web", 10, None), ("web", 2, None), ("gone", 40, 10), ("gone", 5, 4), ("web", 90, 60))


def make(now: datetime) -> None:
    """Write instances and hypervisors into Nova's databases, as its own services do."""
    from nova import config, context, objects  # type: ignore[import-not-found]  # of the image

    config.parse_args(["nova", "--config-file", "/tmp/nova.conf"])  # noqa: S108  # in the image's own root
    objects.register_all()
    admin = context.get_admin_context()
    cell = next(one for one in objects.CellMappingList.get_all(admin) if one.name == "cell1")
    with context.target_cell(admin, cell) as inside:
        for host, identity in HOSTS.items():
            objects.Service(inside, host=host, binary="nova-compute", topic="compute", report_count=1,
                            last_seen_up=now, availability_zone="nova").create()  # fmt: skip
            objects.ComputeNode(
                inside, uuid=identity, host=host, hypervisor_hostname=f"{host}.test", vcpus=8, memory_mb=32768,
                local_gb=500, vcpus_used=0, memory_mb_used=0, local_gb_used=0, hypervisor_type="QEMU",
                hypervisor_version=8, cpu_info="{}", free_ram_mb=1, free_disk_gb=1, current_workload=0, running_vms=0,
                disk_available_least=1, host_ip="192.0.2.1", supported_hv_specs=[], mapped=1,
            ).create()  # fmt: skip
            objects.HostMapping(admin, cell_mapping=cell, host=host).create()
        flavor = objects.Flavor(
            id=1, name="m1", flavorid="1", vcpus=2, memory_mb=2048, root_gb=15, ephemeral_gb=5, swap=0, rxtx_factor=1.0,
            vcpu_weight=0, disabled=False, is_public=True, extra_specs={},
        )  # fmt: skip
        for project, launched, deleted in INSTANCES:
            one = objects.Instance(
                inside, uuid=str(uuid.uuid4()), project_id=project, user_id="u", display_name="a", host="one",
                vm_state="active", launched_at=now - launched * DAY, flavor=flavor, old_flavor=None, new_flavor=None,
                system_metadata={}, metadata={},
            )  # fmt: skip
            one.create()
            if deleted is not None:
                one.terminated_at = now - deleted * DAY
                one.save()
                one.destroy()
    zone = objects.Aggregate(admin, name="zone=east", metadata={"availability_zone": "east"})
    zone.create()
    zone.add_host("two")


def ask(now: datetime) -> None:
    """Print what capacity and usage tell of the last 30 days."""
    cloud = openstack.connection.Connection(
        auth_type="admin_token", auth={"endpoint": PLACEMENT, "token": "admin"}, compute_endpoint_override=NOVA,
        placement_endpoint_override=PLACEMENT,
    )  # fmt: skip
    cloud.session.session.headers.update(USER)
    api = CloudApi(cloud)
    while True:  # whoever called this ends it
        try:
            placement.known(cloud, "HW_")
            api.all("compute", "/os-aggregates", "aggregates")
            break
        except (ClientException, openstack.exceptions.SDKException) as error:  # they are starting
            print(repr(error), file=sys.stderr)
            time.sleep(0.5)
    for host, identity in HOSTS.items():
        placement.call(cloud, "post", "/resource_providers", json={"uuid": identity, "name": f"{host}.test"})
        inventory = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8, "allocation_ratio": 4.0}}}
        placement.call(cloud, "put", f"/resource_providers/{identity}/inventories", json=inventory)
    wanted = {"allocations": {HOSTS["one"]: {"resources": {"VCPU": 6}}}, "project_id": "web", "user_id": "u",
              "consumer_generation": None}  # fmt: skip
    placement.call(cloud, "put", f"/allocations/{uuid.uuid4()}", version="1.28", json=wanted)
    rows, unknown = Capacity(api=api, now=now, days=30).rows(frozenset(("nova",)))
    hours: dict[str, float] = defaultdict(float)
    records = accounts.instances(api, accounts.Period(start=now - 30 * DAY, end=now))
    for one in records:
        hours[one["tenant_id"]] += one["hours"]
    shown: dict[str, Any] = {f"{one.scope} {one.name}".strip(): asdict(one) for one in rows}
    print(json.dumps({"rows": shown, "unknown": unknown, "records": len(records), "hours": hours, "one": records[0]}))


{"make": make, "ask": ask}[sys.argv[1]](datetime.now(UTC).replace(microsecond=0))

"""Capacity and usage of a cloud that runs: what is there has its row, and what was deleted keeps it.

Needs inventories/cloud/site.yml.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play

pytestmark = pytest.mark.lab
SIZE, NAME = 1, "groundup-usage"


@pytest.fixture(scope="module")
def cloud(plan: Plan) -> Any:
    return connection.of_site(plan)


def asked(playbook: str) -> list[dict[str, Any]]:
    """Return the rows of the playbook, which asked everything."""
    began = time.monotonic()
    said = play(playbook, output="json")
    print(f"{playbook}: {time.monotonic() - began:.0f} s", flush=True)
    found = json.loads(said[said.index("{") : said.rindex("}") + 1])
    assert found["unknown"] == []
    return list(found["rows"])


@pytest.fixture
def held(cloud: Any) -> Iterator[str]:
    """Have the administrator's project hold a volume and a floating IP; return its id."""
    external = next(iter(cloud.network.networks(is_router_external=True)))
    address = cloud.network.create_ip(floating_network_id=external.id)
    volume = cloud.block_storage.create_volume(name=NAME, size=SIZE)
    try:
        cloud.block_storage.wait_for_status(volume, wait=300)
        yield str(cloud.current_project_id)
    finally:
        cloud.block_storage.delete_volume(volume)
        cloud.network.delete_ip(address)


def test_what_a_project_holds_has_its_rows(held: str) -> None:
    time.sleep(10)  # of hours, four digits are told
    found = {row["resource"]: row for row in asked("usage") if row["project_id"] == held}
    assert found["volumes"]["amount"] > 0
    assert found["floating_ips"]["amount"] == 1
    assert {(row["project"], row["domain"]) for row in found.values()} == {("admin", "Default")}


def test_an_instance_and_its_project_that_are_gone_keep_their_row(cloud: Any) -> None:
    play("tenant_smoke")
    living = {one.id for one in cloud.identity.projects()}
    gone = [row for row in asked("usage") if row["project_id"] not in living and row["resource"] == "instances"]
    assert gone
    assert all(row["amount"] > 0 and row["covers"] == "period" and row["project"] == "" for row in gone), gone


def test_capacity_is_what_the_cloud_has(plan: Plan, cloud: Any) -> None:
    rows = asked("capacity")
    found = {(row["scope"], row["name"], row["resource"]): row for row in rows}
    every = found["cloud", "", "vcpus"]
    assert every["hosts"] == sum("hypervisor" in host.roles for host in plan.hosts.values())
    for figure in ("total", "capacity", "used", "free"):
        zones = [row[figure] for row in rows if (row["scope"], row["resource"]) == ("zone", "vcpus")]
        assert sum(zones) == pytest.approx(every[figure])
    assert every["used"] == sum(one.flavor["vcpus"] for one in cloud.compute.servers(all_projects=True))
    pools = [row for row in rows if row["scope"] == "pool"]
    assert pools
    assert all(0 < row["free"] <= row["total"] for row in pools), pools
    external = next(iter(cloud.network.networks(is_router_external=True)))
    assert found["network", external.name, "addresses"]["free"] > 0


@pytest.mark.parametrize("playbook", ["capacity", "usage"])
def test_csv_has_the_columns_of_json(playbook: str) -> None:
    (row, *_) = asked(playbook)
    assert csv.DictReader(play(playbook, output="csv").splitlines()).fieldnames == [*row]


def test_a_period_that_is_none_is_refused() -> None:
    said = play("usage", code=2, usage_from="2026-11-02", usage_to="2026-11-01")
    assert "usage_from is not before usage_to" in said

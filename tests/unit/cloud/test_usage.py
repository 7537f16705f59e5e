"""Capacity and use of a cloud, as openstacksdk reads them from the answers of its APIs."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action import usage
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.api import CloudApi
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.usage import accounts, rows
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.usage.capacity import Capacity
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

from .fake import Entry, FakeCloud

SITE = Path(__file__).resolve().parents[3] / "inventories/cloud/site.yml"
ALL = frozenset(("nova", "cinder", "glance", "neutron"))
NOW = datetime(2026, 11, 29, tzinfo=UTC)
USAGE = "compute os-simple-tenant-usage"
NOVEMBER = accounts.period(start="2026-11-01", end="2026-12-01", now=NOW)


def server(number: int, project: str, *, hours: float, started: str, ended: str | None = None) -> Entry:
    """Return a record as Nova 33 writes it."""
    return {
        "hours": hours, "flavor": "m1", "instance_id": f"server-{number}", "name": "a", "tenant_id": project,
        "memory_mb": 2048, "local_gb": 20, "vcpus": 2, "started_at": f"{started}T00:00:00.000000",
        "ended_at": f"{ended}T00:00:00.000000" if ended else None, "state": "terminated" if ended else "active",
        "uptime": 7200,
    }  # fmt: skip


def page(*servers: Entry, following: str = "") -> Entry:
    """Return an answer with the records of one project, and a link to the next."""
    usages = [{"tenant_id": servers[0]["tenant_id"], "total_hours": 1.0, "server_usages": [*servers]}]
    href = f"http://inside/v2.1/os-simple-tenant-usage?detailed=1&start=x&end=y&marker={following}"
    links = {"tenant_usages_links": [{"rel": "next", "href": href}]} if following else {}
    return {"tenant_usages": usages, **links}


@pytest.fixture
def cloud(fake: FakeCloud) -> FakeCloud:
    """Fill a cloud: a project that lives and one that is gone, two hypervisors with room, a pool, a network."""
    fake.add("domains", {"id": "acme", "name": "Acme"}, "")
    fake.add("projects", {"id": "web-id", "name": "web", "domain_id": "acme"}, "")
    lived = server(1, "web-id", hours=240.0, started="2026-11-19")
    fake.recorded[USAGE] = {
        "": page(
            lived, server(2, "web-id", hours=24.0, started="2026-10-01", ended="2026-11-02"), following="server-2"
        ),
        "server-2": page(server(3, "web-id", hours=10.0, started="2026-10-01"), following="server-3"),
        "server-3": page(server(4, "gone-id", hours=5.0, started="2026-11-10", ended="2026-11-11")),
    }
    for created, size, kind in (("2026-10-01", 10, "fast"), ("2026-11-28", 60, None)):
        volume = {"size": size, "volume_type": kind, "created_at": f"{created}T00:00:00.000000",
                  "os-vol-host-attr:host": "cinder@ceph#volumes"}  # fmt: skip
        fake.add("volumes", volume, "web-id")
    pool = {"total_capacity_gb": 1000.0, "free_capacity_gb": 700.0, "reserved_percentage": 10,
            "provisioned_capacity_gb": 70.0, "max_over_subscription_ratio": "20.0"}  # fmt: skip
    down = {"total_capacity_gb": "unknown", "free_capacity_gb": "infinite", "allocated_capacity_gb": 3}
    fake.recorded["volumev3 scheduler-stats/get_pools"] = {
        "": {"pools": [{"name": "cinder@ceph#volumes", "capabilities": pool}, {"name": "x#y", "capabilities": down}]}
    }
    fake.add("images", {"size": 1 << 30, "os_hidden": False}, "web-id")
    fake.add("images", {"size": 1 << 29, "os_hidden": True}, "web-id")
    fake.add("images", {"size": None, "os_hidden": False}, "web-id")
    fake.add("floatingips", {"floating_network_id": "provider-id"}, "web-id")
    for identity, outer in (("provider-id", True), ("inner-id", False)):
        network = {"id": identity, "name": identity, "router:external": outer, "provider:physical_network": None}
        fake.add("networks", network, "")
        addresses = {"network_id": identity, "network_name": identity, "total_ips": 100, "used_ips": 7}
        fake.add("network_ip_availabilities", addresses, "")
    for host, zone, disk in (("one", "east", 500), ("two", "west", 502)):
        room(fake, host, zone=zone, disk=disk)
    fake.add("aggregates", {"id": 1, "name": "fast", "hosts": ["two"], "metadata": {}}, "")
    return fake


def room(fake: FakeCloud, host: str, *, zone: str, disk: int) -> None:
    """Join a hypervisor with 8 CPUs and 32 GiB, of which an instance has 2 and 2."""
    fake.hosts.join(host)
    service = fake.hosts.service(host)
    assert service
    service["zone"] = zone
    amounts = {"VCPU": (8, 0, 4.0), "MEMORY_MB": (32768, 1024, 1.0), "DISK_GB": (disk, 0, 1.0)}
    shape = {"min_unit": 1, "step_size": 1}
    inventories = {kind: {"total": total, "reserved": reserved, "allocation_ratio": ratio, "max_unit": total, **shape}
                   for kind, (total, reserved, ratio) in amounts.items()}  # fmt: skip
    used = {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20}
    for part, said in (("inventories", inventories), ("usages", used)):
        answer = {part: said, "resource_provider_generation": 3}
        fake.recorded[f"placement resource_providers/uuid-{host}/{part}"] = {"": answer}


def look(admin: Any, **more: Any) -> dict[tuple[str, str, str], rows.CapacityRow]:
    found, unknown = Capacity(api=CloudApi(admin), now=NOW, days=30, **more).rows(ALL)
    assert unknown == []
    return {(one.scope, one.name, one.resource): one for one in found}


def used(admin: Any) -> dict[tuple[str, str, str], float]:
    found, unknown = accounts.rows(CloudApi(admin), NOVEMBER, ALL)
    assert unknown == []
    return {(one.project_id, one.resource, one.name): one.amount for one in found}


@pytest.mark.usefixtures("cloud")
def test_every_page_of_novas_records_counts_and_a_deleted_project_keeps_its_id(admin: Any) -> None:
    found = used(admin)
    assert found["web-id", "instances", "m1"] == 274.0
    assert found["web-id", "vcpus", ""] == found["web-id", "memory", ""] == 548.0
    assert found["web-id", "disks", ""] == 5480.0
    assert found["gone-id", "instances", "m1"] == 5.0
    (row,) = (one for one in accounts.rows(CloudApi(admin), NOVEMBER, ALL)[0] if one.amount == 274.0)
    assert (row.project, row.domain_id, row.domain, row.covers) == ("web", "acme", "Acme", "period")
    assert (row.start, row.end) == ("2026-11-01T00:00:00Z", "2026-11-29T00:00:00Z"), "no later than now"


@pytest.mark.usefixtures("cloud")
def test_volumes_count_from_their_creation_and_images_with_hidden_ones(admin: Any) -> None:
    found = used(admin)
    assert found["web-id", "volumes", "fast"] == 10 * 28 * 24
    assert found["web-id", "volumes", ""] == 60 * 24
    assert found["web-id", "images", ""] == 1.5
    assert found["web-id", "floating_ips", ""] == 1


def test_nova_is_asked_for_the_period_page_by_page(admin: Any, cloud: FakeCloud) -> None:
    used(admin)
    asked = [one for key, one in cloud.queries if key == "os-simple-tenant-usage"]
    assert asked[0] == {"detailed": "1", "start": "2026-11-01T00:00:00", "end": "2026-11-29T00:00:00"}
    assert [one.get("marker") for one in asked] == [None, "server-2", "server-3"]


@pytest.mark.usefixtures("cloud")
def test_zones_and_aggregates_have_the_room_that_placement_tells(admin: Any) -> None:
    found = look(admin)
    every, east = found["cloud", "", "vcpus"], found["zone", "east", "vcpus"]
    assert (every.hosts, every.total, every.ratio, every.capacity, every.used, every.free) == (2, 16, 4, 64, 4, 60)
    assert (east.hosts, east.capacity, east.free, east.growth_per_day) == (1, 32, 30, None)
    memory = found["aggregate", "fast", "memory"]
    assert (memory.total, memory.reserved, memory.capacity, memory.free) == (32768, 1024, 31744, 29696)
    assert found["cloud", "", "disks"].total == 1002


@pytest.mark.usefixtures("cloud")
def test_growth_is_what_instances_of_now_have_more_than_those_of_then(admin: Any) -> None:
    row = look(admin)["cloud", "", "memory"]
    # One came, one of October went, one stayed, one came and went.
    assert (row.growth_per_day, row.days_left) == (0, None)


def test_the_forecast_is_the_free_by_the_growth(admin: Any, cloud: FakeCloud) -> None:
    cloud.recorded[USAGE] = {"": page(*(server(n, "web-id", hours=1, started="2026-11-19") for n in range(3)))}
    row = look(admin)["cloud", "", "vcpus"]
    assert (row.growth_per_day, row.days_left) == (0.2, 300)


def test_a_host_that_takes_no_instance_has_nothing_free(admin: Any, cloud: FakeCloud) -> None:
    service = cloud.hosts.service("one")
    assert service
    service["status"] = "disabled"
    row = look(admin)["cloud", "", "vcpus"]
    assert (row.hosts, row.hosts_away, row.capacity, row.free) == (2, 1, 64, 30)


@pytest.mark.usefixtures("cloud")
def test_disks_in_ceph_are_one_pool_that_each_host_tells(admin: Any) -> None:
    found = look(admin, in_ceph=frozenset(("one", "two")))
    every, east = found["cloud", "", "disks"], found["zone", "east", "disks"]
    assert (every.hosts, every.total, every.used, every.free) == (2, 502, 40, 462)
    assert (east.total, east.used, east.free) == (500, 20, 460), "others use the same pool"


def test_a_hypervisor_that_has_not_reported_has_no_room(admin: Any, cloud: FakeCloud) -> None:
    cloud.hosts.join("new")
    cloud.recorded |= {f"placement resource_providers/uuid-new/{part}": {} for part in ("inventories", "usages")}
    assert look(admin)["cloud", "", "vcpus"].hosts == 2


@pytest.mark.usefixtures("cloud")
def test_pools_and_networks_have_what_cinder_and_neutron_tell(admin: Any) -> None:
    found = look(admin)
    pool, unknown = found["pool", "cinder@ceph#volumes", "volumes"], found["pool", "x#y", "volumes"]
    assert (pool.total, pool.reserved, pool.used, pool.free, pool.provisioned) == (1000, 100, 300, 600, 70)
    assert (pool.growth_per_day, pool.days_left) == (2, 300)
    assert (unknown.total, unknown.used, unknown.free, unknown.provisioned) == (None, None, None, 3)
    addresses = found["network", "provider-id", "addresses"]
    assert (addresses.total, addresses.used, addresses.free) == (100, 7, 93)
    assert found["network", "provider-id", "floating_ips"].used == 1
    assert not any(name == "inner-id" for _, name, _ in found), "a tenant's network"


@pytest.mark.parametrize(
    ("start", "end", "fault", "field"),
    [("november", None, "usage_from is no date: november", "usage_from"),
     (None, "2026-13-01", "usage_to is no date", "usage_to"),
     ("0001-01-01T00:00:00+02:00", None, "usage_from is no date", "usage_from"),
     ("2026-11-02", "2026-11-02", "usage_from is not before usage_to", "usage_from, usage_to"),
     (None, "2026-10-01", "usage_from is not before usage_to", "usage_from, usage_to"),
     ("2027-01-01", "2027-02-01", "usage_from is not past yet", "usage_from, usage_to")],
)  # fmt: skip
def test_a_bad_period_is_refused(start: str | None, end: str | None, fault: str, field: str) -> None:
    with pytest.raises(GroundupError, match=fault) as caught:
        accounts.period(start=start, end=end, now=NOW)
    assert caught.value.where == field
    assert "2026-11-01" in caught.value.remedy


def act(admin: Any, monkeypatch: pytest.MonkeyPatch, step: str, **given: Any) -> tuple[dict[str, Any], str]:
    """Return the result of the action, and what it printed."""
    monkeypatch.setattr(connection, "of_site", lambda _: admin)
    monkeypatch.setattr(site_identity, "refuse_other", lambda *_: None)
    monkeypatch.setattr(ActionBase, "run", lambda *_, **__: {})
    monkeypatch.setattr(ActionBase, "validate_argument_spec", lambda self, *_, **__: (None, self._task.args))
    options = {name: option.get("default") for name, option in documented("usage").items()}
    action: Any = object.__new__(usage.ActionModule)
    action._task = SimpleNamespace(args={**options, "site_file": str(SITE), "step": step, **given}, check_mode=False)
    printed: list[str] = []
    action._display = SimpleNamespace(display=printed.append)
    return action.run(), "".join(printed)


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize(("step", "kind"), [("capacity", rows.CapacityRow), ("accounts", rows.UsageRow)])
def test_csv_and_json_have_the_same_columns(step: str, kind: Any, admin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    period = {"usage_from": "2026-11-01", "usage_to": "2026-11-02"}
    result, text = act(admin, monkeypatch, step, output="csv", **period)
    lines = [*csv.DictReader(text.splitlines())]
    assert [*lines[0]] == [*kind.__slots__]
    found = json.loads(act(admin, monkeypatch, step, output="json", **period)[1])
    assert found["unknown"] == []
    assert [{key: "" if one is None else str(one) for key, one in row.items()} for row in found["rows"]] == lines
    assert not {"failed", "unreachable"} & result.keys()


def test_metrics_are_the_figures_and_networks_of_one_name_are_one(
    admin: Any, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in cloud.of("network_ip_availabilities"):
        one["network_name"] = 'sh"op'
        one["network_id"] = "provider-id"
    told = act(admin, monkeypatch, "capacity")[0]["metrics"]
    assert 'groundup_capacity{scope="zone",name="east",resource="vcpus"} 32.0\n' in told
    assert 'groundup_capacity_used{scope="zone",name="east",resource="memory"} 2048\n' in told
    assert 'groundup_capacity_free{scope="network",name="sh\\"op",resource="addresses"} 186.0\n' in told
    series = [line.rpartition(" ")[0] for line in told.splitlines()]
    assert len(set(series)) == len(series), "the node exporter refuses a file with one twice"
    assert 'name="x#y"' not in told, "a pool without figures"


def test_a_service_that_does_not_answer_is_unknown_and_the_others_are_told(
    admin: Any, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.refuses["GET volumes"] = (503, "no volume service is up")
    result, text = act(admin, monkeypatch, "accounts", usage_from="2026-11-01")
    assert result["unreachable"]
    assert result["msg"].startswith("cinder: ")
    assert "no volume service is up" in result["msg"]
    assert "274" in text
    assert "volumes" not in text


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize("output", ["table", "csv"])
def test_names_of_users_cannot_write_on_the_terminal(
    admin: Any, fake: FakeCloud, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    fake.of("projects")[-1]["name"] = "\x1b[2Jweb"
    _, text = act(admin, monkeypatch, "accounts", usage_from="2026-11-01", output=output)
    assert "\x1b" not in text
    assert "\\x1b[2Jweb" in text


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize("word", ["=HYPERLINK(A1)", "+1", "-1", "@SUM(A1)"])
def test_no_name_of_a_user_is_a_formula_of_a_spreadsheet(
    admin: Any, fake: FakeCloud, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    fake.of("projects")[-1]["name"] = word
    _, text = act(admin, monkeypatch, "accounts", usage_from="2026-11-01", output="csv")
    assert f",'{word}," in text


@pytest.mark.parametrize("given", [{"capacity_days": 0}, {"usage_from": "soon"}])
def test_a_bad_option_fails_before_anything_is_asked(
    given: dict[str, Any], admin: Any, fake: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, _ = act(admin, monkeypatch, "accounts", **given)
    assert result["failed"]
    assert f"-e {next(iter(given))}=" in result["msg"]
    assert fake.asked == []


def test_it_only_reads_and_asks_no_instance_alone(
    admin: Any, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in ("capacity", "accounts"):
        act(admin, monkeypatch, step, usage_from="2026-11-01")
    assert {one.partition(" ")[0] for one in cloud.asked if one != "POST auth/tokens"} == {"GET"}
    assert not any("server" in one for one in cloud.asked)
    assert len(cloud.asked) < 40

"""Sizes and order of the releases, and how a site's own values are laid over them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan, with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.mariadb import WEIGHTS, _server_options, values
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import merge, public_endpoint
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.secrets import secret
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.sizes import majority, sizes

ROOT = Path(__file__).resolve().parents[3]
CLOUD = ("keystone", "glance", "placement", "neutron", "nova")


def plan_of(site: str) -> Plan:
    return site_plan(ROOT / "inventories" / site / "site.yml")


@pytest.mark.parametrize(("site", "members"), [("lab", 1), ("lab-ha", 3), ("edge", 1), ("region", 3)])
def test_quorum_services_have_one_member_or_three(site: str, members: int) -> None:
    size = sizes(plan_of(site))
    assert (size.members["mariadb"], size.members["rabbitmq"]) == (members, members)


def test_two_control_hosts_run_one_member_since_two_survive_the_loss_of_neither() -> None:
    plan = plan_of("lab-ha")
    gone = max(name for name, host in plan.hosts.items() if "control" in host.roles)
    two = replace(plan, hosts={name: host for name, host in plan.hosts.items() if name != gone})
    assert sizes(two).members == {"mariadb": 1, "rabbitmq": 1, "memcached": 2}
    assert sizes(two).api == 2


def test_sizes_in_the_site_file_win() -> None:
    plan = plan_of("region")
    asked = replace(plan, openstack=replace(plan.openstack, replicas={"mariadb": 5, "api": 7}))
    assert sizes(asked).members == {"mariadb": 5, "rabbitmq": 3, "memcached": 3}
    assert sizes(asked).pods["keystone"] == sizes(asked).api == 7


@pytest.mark.parametrize(
    ("cores", "memory", "processes", "cache"),
    [(4, 256, 3, 128), (16, 64, 6, 1024), (16, 256, 8, 4096), (32, 128, 8, 4096), (64, 512, 12, 8192)],
)
def test_sizes_follow_from_the_smallest_machine_not_from_the_profile(
    cores: int, memory: int, processes: int, cache: int
) -> None:
    data = yaml.safe_load((ROOT / "inventories/region/site.yml").read_text())
    data["hardware"]["own"] = {"cores": cores, "memory_gb": memory, "nic_gbps": 25, "nvme": True}
    data["machines"]["control"]["hardware"] = "own"
    plan = make_plan(build_site(data))
    assert sizes(plan).workers["keystone"] == processes
    mariadb = next(release for release in with_values(plan).openstack.releases if release.name == "mariadb")
    assert f"innodb_buffer_pool_size={cache}M" in mariadb.values["conf"]["database"]["config_override"]
    assert mariadb.values["volume"]["size"] == "100Gi"


def test_an_api_has_pods_and_processes_of_its_own_number() -> None:
    plan = plan_of("region")
    own = replace(plan.openstack, replicas={"api": 7, "keystone": 2}, workers={"keystone": 9})
    asked = replace(plan, openstack=own)
    assert (sizes(asked).pods["keystone"], sizes(asked).pods["glance"]) == (2, 7)
    assert (sizes(plan).workers["keystone"], sizes(asked).workers["keystone"]) == (12, 9)
    keystone = next(release for release in with_values(asked).openstack.releases if release.name == "keystone")
    assert keystone.values["pod"]["replicas"] == {"api": 2}
    assert "processes=9 " in keystone.values["conf"]["wsgi_keystone"]


@pytest.mark.parametrize("site", ["region", "cloud"])
def test_keystone_answers_one_request_at_a_time_in_each_process(site: str) -> None:
    """Its middleware keeps a token where another thread puts its own: a user gets the roles of an administrator."""
    plan = with_values(plan_of(site))
    keystone = next(release for release in plan.openstack.releases if release.name == "keystone")
    shipped = (ROOT / "charts/keystone/values.yaml").read_text()
    for text in (keystone.values["conf"]["wsgi_keystone"], shipped):
        assert re.findall(r"WSGIDaemonProcess .* (threads=\d+ queue\S+)", text) == ["threads=1 queue-timeout=30"]


def test_pods_ask_for_cpu_by_the_cores_of_the_machines(tmp_path: Path) -> None:
    """A box with 2 cores instead of the profile's 16 runs the same pods: none stays Pending for want of a core."""
    shipped = (ROOT / "inventories/edge/site.yml").read_text()
    box = "hardware: {box: {cores: 2, memory_gb: 64, nic_gbps: 10, nvme: true}}\n"
    small = shipped.replace("    rack: cabinet\n", "    rack: cabinet\n    hardware: box\n")
    sites = {"edge": shipped, "box": small + box}
    asked = {}
    for site, text in sites.items():
        (tmp_path / f"{site}.yml").write_text(text.replace("[keystone]", f"[{', '.join(CLOUD)}]"))
        releases = site_plan(tmp_path / f"{site}.yml").openstack.releases
        asked[site] = {release.name: sorted(set(cpu_of(release.values))) for release in releases}
    assert asked["edge"] == {
        "mariadb": ["1"], "rabbitmq": ["500m"], "memcached": ["100m"], "keystone": ["500m"], "glance": ["250m"],
        "placement": ["250m"], "neutron": ["100m", "500m"], "nova": ["250m", "500m"],
    }  # fmt: skip
    assert asked["box"] == {
        "mariadb": ["125m"], "rabbitmq": ["62m"], "memcached": ["12m"], "keystone": ["62m"], "glance": ["31m"],
        "placement": ["31m"], "neutron": ["12m", "62m"], "nova": ["31m", "62m"],
    }  # fmt: skip


def cpu_of(values: object) -> Iterator[str]:
    """Yield what each pod asks for."""
    if isinstance(values, dict) and "requests" in values:
        yield values["requests"]["cpu"]
    elif isinstance(values, dict | list):
        for one in values.values() if isinstance(values, dict) else values:
            yield from cpu_of(one)


def test_members_are_kept_apart_by_rack_only_where_there_are_racks_enough() -> None:
    assert sizes(plan_of("region")).topology_key == "topology.kubernetes.io/zone"
    assert sizes(plan_of("lab")).topology_key == "kubernetes.io/hostname"


def test_an_api_can_always_bring_up_one_pod_more_than_there_are_hosts() -> None:
    """With strict anti-affinity and nothing allowed to be missing, a rolling update could never begin."""
    keystone = next(release for release in plan_of("region").openstack.releases if release.name == "keystone")
    assert keystone.values["pod"]["affinity"]["anti"]["type"]["default"].startswith("preferred")
    assert keystone.values["pod"]["lifecycle"]["upgrades"]["deployments"]["rolling_update"]["max_unavailable"] == 0


@pytest.mark.parametrize("site", ["lab", "lab-ha", "edge", "region"])
def test_what_the_database_answers_is_on_disk(site: str) -> None:
    """Members that lose their power together have nobody to copy the last second from."""
    mariadb = next(release for release in plan_of(site).openstack.releases if release.name == "mariadb")
    options = mariadb.values["conf"]["database"]["config_override"]
    assert "innodb_flush_log_at_trx_commit=1\n" in options


def test_the_database_logs_what_it_commits_when_backups_copy_it() -> None:
    assert "log_bin" not in _server_options(WEIGHTS["tiny"], 1, logs=0)
    options = _server_options(WEIGHTS["tiny"], 1, logs=256)
    assert "\nlog_bin=binlog\nsync_binlog=1\nlog_slave_updates=ON\n" in options
    assert "max_binlog_total_size=256M\n" in options


def test_the_database_takes_two_writers_of_a_row_as_openstack_s_services_expect() -> None:
    mariadb = next(release for release in plan_of("lab").openstack.releases if release.name == "mariadb")
    assert "\nloose_innodb_snapshot_isolation=OFF\n" in mariadb.values["conf"]["database"]["config_override"]


def test_tables_of_a_database_have_one_collation_whether_they_name_a_character_set_or_not() -> None:
    """Of two, columns cannot be compared: seen in Magnum's migrations. Existing databases keep theirs."""
    script = (ROOT / "charts/groundup-lib/files/db-init.py").read_text()
    assert "CREATE DATABASE IF NOT EXISTS {quoted(database)} CHARACTER SET utf8mb3" in script
    plan = plan_of("cloud")
    assert "collation_server" not in values(plan, sizes(plan))["conf"]["database"]["config_override"]
    theirs = replace(plan, openstack=replace(plan.openstack, charts="./charts"))
    options = values(theirs, sizes(theirs))["conf"]["database"]["config_override"]
    assert options.endswith("\ncollation_server=utf8mb3_uca1400_ai_ci\n")


@pytest.mark.parametrize(("members", "stay"), [(1, 0), (3, 2), (5, 3)])
def test_a_quorum_is_a_majority(members: int, stay: int) -> None:
    assert majority(members) == stay


def test_keystone_starts_after_its_database_and_its_cache() -> None:
    order = [release.name for release in plan_of("lab").openstack.releases]
    keystone = next(release for release in plan_of("lab").openstack.releases if release.name == "keystone")
    assert set(keystone.needs) == {"mariadb", "memcached"}
    assert all(order.index(name) < order.index("keystone") for name in keystone.needs)


def test_a_sites_own_values_are_laid_over_the_plans() -> None:
    plan = plan_of("lab")
    over = {"keystone": {"conf": {"keystone": {"token": {"expiration": 60}}}}}
    changed = with_values(replace(plan, openstack=replace(plan.openstack, overrides=over))).openstack.releases
    keystone = next(release for release in changed if release.name == "keystone")
    assert keystone.values["conf"]["keystone"]["token"]["expiration"] == 60
    assert keystone.values["conf"]["keystone"]["oslo_middleware"] == {"enable_proxy_headers_parsing": True}


def test_maps_are_merged_and_everything_else_replaced() -> None:
    assert merge({"a": {"b": 1, "c": [1]}, "d": 1}, {"a": {"c": [2]}, "d": {"e": 2}}) == {
        "a": {"b": 1, "c": [2]},
        "d": {"e": 2},
    }


def test_a_service_without_a_public_endpoint_is_named() -> None:
    with pytest.raises(KeyError, match="no endpoint for glance"):
        public_endpoint(plan_of("lab"), "glance")


def test_a_secret_nobody_listed_cannot_be_referred_to() -> None:
    with pytest.raises(KeyError, match="keystone/nobody"):
        secret("keystone/nobody")

"""The plan as a whole: defaults, order, size, hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import (
    Plan,
    build_site,
    defaults,
    load_site,
    make_plan,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import site_vars

ROOT = Path(__file__).resolve().parents[3]


def test_names_do_not_grow_with_hypervisors(plan_of: Callable[..., Plan]) -> None:
    assert len(plan_of("region").host.names) < 12


def test_the_first_control_host_does_not_depend_on_the_order_of_the_file(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", {"machines/control": {"names": ["c-3", "c-1", "c-2"]}})
    assert plan.kubernetes.first_control == "c-1"
    assert plan.edge.hosts == ("c-1", "c-2", "c-3")
    assert plan.kubernetes.etcd_members == 3


def test_a_machine_that_is_there_already_is_known_by_the_key_the_site_file_gives(plan_of: Callable[..., Plan]) -> None:
    assert str(plan_of("edge").hosts["edge-1"].host_key).startswith("ssh-ed25519 AAAA")
    assert plan_of("lab").hosts["worker-1"].host_key is None


def test_the_lab_differs_only_in_words_any_site_can_use(plan_of: Callable[..., Plan]) -> None:
    lab = plan_of("lab").kubernetes
    words = {
        "kubernetes/kubelet": {
            "failSwapOn": False,
            "failCgroupV1": False,
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
            "imageGCHighThresholdPercent": 100,
        },
        "kubernetes/ignore_preflight": ["SystemVerification"],
    }
    edge = plan_of("edge", words).kubernetes
    assert (lab.kubelet, lab.ignore_preflight) == (edge.kubelet, edge.ignore_preflight)
    assert plan_of("edge").kubernetes.ignore_preflight == ()


def test_a_machine_with_a_controller_is_provisioned_from_power_off(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("region")
    assert plan.hosts["control-1"].provisioner == "ironic"
    assert plan.hosts["seed-1"].provisioner == "existing"
    assert plan_of("lab").hosts["control-1"].provisioner == "container"


def test_the_same_site_gives_the_same_plan_and_picture_whatever_order_sets_have() -> None:
    program = """
import sys
from pathlib import Path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan, to_json
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.topology import topology_svg
plan = make_plan(load_site(Path(sys.argv[1])))
print(to_json(plan), topology_svg(plan))
"""
    command = [sys.executable, "-c", program, str(ROOT / "inventories/region/site.yml")]
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    assert len({subprocess.run(command, check=True, capture_output=True, env=env).stdout for env in seeds}) == 1


def test_what_is_not_written_is_listed_and_what_is_written_is_not() -> None:
    data = yaml.safe_load((ROOT / "inventories/lab/site.yml").read_text())
    site = build_site(data)
    found = defaults(site, make_plan(site))
    assert found["edge.address"] == "10.90.0.2"
    assert found["openstack.replicas.mariadb"] == "1"
    assert "kubernetes.cni" not in found
    written = build_site({**data, "edge": {"address": "10.90.0.3", "router_id": 7}})
    assert not {"edge.address", "edge.router_id"} & set(defaults(written, make_plan(written)))


def test_what_ansible_templates_often_is_small_and_has_no_hosts(plan_of: Callable[..., Plan]) -> None:
    assert "hosts" not in (small := site_vars(plan_of("region")))
    assert all("values" not in release for release in small["openstack"]["releases"])
    assert len(json.dumps(small)) < 18_000


def test_a_site_of_ten_thousand_hosts_is_planned_without_an_error() -> None:
    data = yaml.safe_load((ROOT / "inventories/region/site.yml").read_text())
    for number, name in enumerate(data["networks"]):
        if name != "provider":
            data["networks"][name]["cidr"] = f"10.{96 + number * 2}.0.0/15"
    data["racks"] |= {f"r{n}": {} for n in range(1, 251)}
    data["machines"]["hypervisor"]["racks"] = [f"r{n}" for n in range(1, 251)]
    plan = make_plan(build_site(data))
    assert len(plan.hosts) == 10_007
    assert [f for f in plan.findings if f.severity == "error"] == []


def test_only_hosts_with_their_own_kernel_get_more_instances_of_inotify() -> None:
    name = "fs.inotify.max_user_instances"
    assert [
        name in make_plan(load_site(ROOT / "inventories" / one / "site.yml")).host.sysctl for one in ("edge", "lab")
    ] == [True, False]

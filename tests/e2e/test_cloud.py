"""The whole cloud, once `ci/lab up` has made it: an instance answered, hypervisors serve, and nothing is left of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor.pki import OURS
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import DATABASES, NB, NORTHD, SB
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.places import wanted
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.probe import NEW
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.failover import NO_GAP, hypervisors, kept_instance, killed, nbctl
from ansible_collections.groundup.cloud.tests.e2e.pinging import answers
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab
MANY = 50  # answers to pings, five a second, without OVN's databases


@pytest.fixture(scope="module")
def seen(plan: Plan, outside: Callable[..., Any]) -> Any:
    """What the administrator sees by openstacksdk."""
    return heard(plan, outside)


def heard(plan: Plan, outside: Callable[..., Any]) -> dict[str, Any]:
    """Return what the administrator sees once all services of hypervisors are heard, or that some are not."""
    found = dict[str, Any]()

    def silent() -> bool:
        found.update(outside("cloud.py"))
        away = [name for name, (_, state) in found["computes"].items() if state != "up"]
        return bool(away) or len(found["agents"]) < 2 * len(hypervisors(plan))

    wait_until(silent, timeout=180, pause=5)
    return found


def test_an_instance_answered_on_its_floating_ip(plan: Plan, state: Path) -> None:
    said = json.loads((state / "smoke.json").read_text())["line"]
    network = plan.networks["provider"].cidr.rpartition(".")[0]
    assert f"answered at {network}." in said
    assert "20 MB both ways" in said


def test_every_hypervisor_serves(plan: Plan, seen: Any) -> None:
    hypervisors = {name for name, host in plan.hosts.items() if "hypervisor" in host.roles}
    assert seen["computes"] == {name: ["enabled", "up"] for name in hypervisors}
    kinds = ("OVN Controller Gateway agent", "OVN Neutron agent")
    assert seen["agents"] == sorted([name, kind] for name in hypervisors for kind in kinds)


def test_hypervisors_are_in_the_plans_aggregates(plan: Plan, seen: Any) -> None:
    assert seen["aggregates"] == {name: sorted(one.hosts) for name, one in wanted(plan).items()}


SECONDS = 15.0  # that a look at the whole cloud may take


def test_the_state_of_the_cloud_is_told_in_seconds_and_all_is_well(plan: Plan) -> None:
    started = time.monotonic()
    said = play("status", output="json")
    took = time.monotonic() - started
    found, _ = json.JSONDecoder().raw_decode(said)
    rows = {part: {row["name"]: row for row in rows} for part, rows in found["parts"].items()}
    assert not [row for rows in found["parts"].values() for row in rows if row["state"] not in ("ok", "warning")]
    assert set(rows["hosts"]) == set(plan.hosts)
    assert all(set(row["facts"]["layers"].values()) <= {"ok", "warning"} for row in rows["hosts"].values())
    assert set(rows["nodes"]) == {name for name, host in plan.hosts.items() if host.node_labels}
    assert {one.name for one in plan.openstack.releases} <= set(rows["releases"])
    assert all(row["facts"]["ready"] == row["facts"]["of"] > 0 for row in rows["releases"].values())
    assert set(rows["hypervisors"]) == set(hypervisors(plan))
    assert rows["virtual_ip"][plan.edge.address]["facts"]["holders"] == [plan.edge.hosts[0]]
    (ceph,), (ovn,) = rows["ceph"].values(), rows["ovn"].values()
    assert ceph["facts"]["osds"] == {"known": 3, "up": 3, "in": 3}
    assert {one["role"] for one in ovn["facts"]["members"].values()} == {"leader"}
    kinds = {
        "the control plane",
        "kubelets",
        "OVN's databases",
        "hypervisors",
        "certificate of the edge",
        "the site's CA",
    }
    assert kinds <= set(rows["certificates"])
    assert {name: row["state"] for name, row in rows["versions"].items()} == dict.fromkeys(
        ("Kubernetes", "OpenStack", "OS packages", "Debian", "Ceph"), "ok"
    )
    assert all(row["facts"]["running"] for row in rows["versions"].values())
    print(play("status"))
    assert took <= SECONDS


def test_the_plans_provider_network_is_there_with_its_mtu(plan: Plan, seen: Any) -> None:
    assert seen["external"] == {"provider": plan.networks["provider"].mtu}


def test_nothing_is_left_of_the_instance_that_answered(seen: Any) -> None:
    assert (seen["servers"], seen["images"], seen["routers"]) == ([], [], [])
    assert not [name for name in seen["projects"] if name.startswith("smoke")]


# What an intruder asks, and a port that is for all: without it the rest would prove nothing.
REFUSED = {"mariadb": (3306, 4444, 4567, 4568), "rabbitmq": (4369, 5672, 15672, 25672), "memcached": (11211,)}
ADMITTED = {"keystone": (5000,)}


def test_a_pod_without_labels_reaches_an_api_and_nothing_that_releases_stand_on(plan: Plan) -> None:
    api = Api(kubeconfig_path(plan.site))
    pods = api.get(resource_path("v1", "pods", namespace=plan.openstack.namespace))["items"]
    running = [
        (pod["metadata"]["labels"].get("application"), pod["status"]["podIP"])
        for pod in pods if pod["status"]["phase"] == "Running"
    ]  # fmt: skip
    asked = [
        f"{address}/{port}" for application, address in running
        for port in (REFUSED | ADMITTED).get(application or "", ())
    ]  # fmt: skip
    proxy = api.get(resource_path("apps/v1", "daemonsets", namespace="kube-system", name="kube-proxy"))
    image = proxy["spec"]["template"]["spec"]["containers"][0]["image"]  # every node has it, with bash
    script = 'for at; do timeout 3 bash -c "exec 3<>/dev/tcp/$at" && echo "open $at"; done 2>/dev/null; echo asked'
    intruder = {"name": "intruder", "image": image, "command": ["bash", "-c", script, "intruder", *asked]}
    path = resource_path("v1", "pods", namespace="default", name="intruder")
    spec = {"restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [intruder]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "intruder"}, "spec": spec}
    api.request("POST", path.rpartition("/")[0], body=body)
    try:
        until(lambda: api.get(path)["status"]["phase"] == "Succeeded", seconds=300)
        said = api.logs("default", "intruder", "intruder", lines=200).splitlines()
    finally:
        api.delete(path)
    admitted = {f"open {address}/{port}" for name, address in running for port in ADMITTED.get(name or "", ())}
    assert {application for application, _ in running} >= {"mariadb", "rabbitmq", "keystone"}
    assert set(said) == {*admitted, "asked"}


def test_a_certificate_of_a_chassis_opens_only_the_listener_of_chassis(
    plan: Plan, connect: Callable[[str], Any]
) -> None:
    control = plan.hosts[plan.edge.hosts[0]].address
    chassis = connect(next(name for name, host in plan.hosts.items() if "hypervisor" in host.roles))
    tls = f"--private-key={OURS}/key.pem --certificate={OURS}/certificate.pem --ca-cert={OURS}/ca.pem"

    def opens(port: int) -> bool:
        # No answer ends it by a signal, which ssh would report as its own failure.
        done = chassis.run(f"sudo ovsdb-client -t 20 {tls} list-dbs ssl:{control}:{port} || exit 1")
        return bool(done.rc == 0)

    ports = [one.port for one in (*SB.listeners, *NB.listeners)]
    with ThreadPoolExecutor() as pool:  # a closed one takes all of its 20 seconds
        assert [port for port, opened in zip(ports, pool.map(opens, ports), strict=True) if opened] == [6642]
    for raft in (one.raft_port for one in DATABASES):
        assert chassis.run(f"timeout 5 bash -c '</dev/tcp/{control}/{raft}'").rc != 0, "no connection at all"


def test_hypervisors_reach_the_message_queue_with_tls_alone(plan: Plan, connect: Callable[[str], Any]) -> None:
    if "queue-in-clear" in {finding.name for finding in plan.findings}:
        pytest.skip("a finding of the plan: these charts have no TLS beside the plain port")
    control, *others = (plan.hosts[name].address for name in (*plan.edge.hosts, *_workers(plan)))
    for name in (name for name, host in plan.hosts.items() if "hypervisor" in host.roles):
        chassis = connect(name)
        asked = f"openssl s_client -connect {control}:30672 -CAfile {OURS}/queue-ca.pem -verify_return_error"
        assert chassis.run(f"sudo {asked} -verify_ip {control} </dev/null").rc == 0
        wrong = wait_until(partial(_others, chassis, control), timeout=120, pause=2)
        assert not wrong, wrong
        for address in (control, *others):
            assert chassis.run(f"timeout 5 bash -c '</dev/tcp/{address}/5672'").rc != 0, "no plain port"


def test_node_ports_behind_public_names_answer_control_hosts_alone(plan: Plan, connect: Callable[[str], Any]) -> None:
    keystone = next(one.node_port for one in plan.edge.endpoints if one.service == "keystone")
    control, chassis = plan.edge.hosts[0], next(name for name in plan.hosts if "hypervisor" in plan.hosts[name].roles)

    def reaches(source: str, target: str) -> bool:
        address = plan.hosts[target].address
        return bool(connect(source).run(f"timeout 5 bash -c '</dev/tcp/{address}/{keystone}'").rc == 0)

    for node in (*plan.edge.hosts, *_workers(plan)):
        assert reaches(control, node)
        assert not reaches(chassis, node)


def _others(chassis: Any, control: str) -> set[str]:
    """Return how the ports on ``control`` that nova-compute is connected with differ from the queue's with TLS."""
    pid = chassis.check_output("systemctl show --property MainPID --value nova-compute")
    connections = chassis.check_output("sudo ss -Htnp state established").splitlines()
    ours = {line.split()[3] for line in connections if f"pid={pid}," in line}
    return {end for end in ours if end.startswith((f"{control}:30", f"{control}:5"))} ^ {f"{control}:30672"}


def _workers(plan: Plan) -> list[str]:
    return [name for name, host in plan.hosts.items() if "worker" in host.roles]


def test_a_new_host_is_proven_and_one_that_somebody_disabled_is_left(plan: Plan, outside: Callable[..., Any]) -> None:
    new, kept = (name for name, host in plan.hosts.items() if "hypervisor" in host.roles)
    try:
        outside("compute.py", new, NEW)
        outside("compute.py", kept, "test: do not touch")
        said = play("hypervisor")
        found = heard(plan, outside)
        assert found["computes"] == {new: ["enabled", "up"], kept: ["disabled", "up"]}
        assert f"{kept} stays disabled, by somebody's word: test: do not touch" in said
        assert (found["servers"], found["images"], found["routers"]) == ([], [], [])
        assert not [name for name in found["projects"] if name.startswith("smoke")]
    finally:
        for host in (new, kept):
            outside("compute.py", host, "")


def test_a_floating_ip_outlives_the_databases_of_ovn(
    plan: Plan, connect: Callable[[str], Any], outside: Callable[..., Any], measured: Callable[..., Any], tmp_path: Path
) -> None:
    """The only member of each: instances are reached by the flows that chassis have, and writes go on afterwards."""
    (control,), log = plan.edge.hosts, tmp_path / "ping"
    units = " ".join([*(one.unit for one in DATABASES), NORTHD])
    with kept_instance(plan, outside) as address:
        with measured(address, "databases lost", control) as lost, killed(connect(control), units, again=units):
            until(lambda: connect(control).run("sudo ovn-nbctl --timeout=5 show").rc != 0, seconds=120)
            before = answers(log)
            until(lambda: answers(log) >= before + MANY, seconds=120)
        with measured(address, "databases back", control) as back:
            nbctl(plan, connect, "--wait=hv sync")
    # A loaded machine may let an instance wait for a moment.
    assert max(lost[0].silent, back[0].silent) <= 3 * NO_GAP

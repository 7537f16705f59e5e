"""What was changed by hand on a cloud that runs is found and named; an untouched one has nothing; nothing is written.

Needs inventories/cloud/site.yml or tests/e2e/eyes/site.yml.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._edge.serve import HAPROXY
from ansible_collections.groundup.cloud.plugins.module_utils._host.access import KEYS
from ansible_collections.groundup.cloud.plugins.module_utils._host.kernel import PARAMETERS
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import libvirt, nova_ssh, services
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.node_ports import GUARD
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.static_pods import API, manifest
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import NB
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import RENDER_LABEL
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.workloads import node_ports
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import NODES, play
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, root
from ansible_collections.groundup.cloud.tests.e2e.hands import HAND, Hand, Hands

pytestmark = pytest.mark.lab
SECONDS = 90.0  # that a comparison may take
WRITTEN = "find /etc /usr /opt /root /home -xdev -type f -newer /run/groundup-drift-mark"
PODS = {"metadata": {"labels": {"app": HAND}}, "spec": {"containers": [{"name": HAND, "image": HAND}]}}
COWBOY = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": HAND},
    "spec": {"replicas": 0, "selector": {"matchLabels": {"app": HAND}}, "template": PODS},
}  # fmt: skip
IMAGE = {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": f"{HAND}:1"}
KEY = f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE{'A' * 43} {HAND}"
ECHO, MAPPINGS = "icmp_echo_ignore_broadcasts", "external_ids:ovn-bridge-mappings"
PACKAGE = "ethtool"  # of every node, and nothing needs it while it runs

Rows = list[dict[str, Any]]
Drift = Callable[[int], Rows]


@pytest.fixture(scope="module")
def api(plan: Plan) -> Api:
    return Api(kubeconfig_path(plan.site))


@pytest.fixture
def drift(plan: Plan, connect: Connect, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Drift:
    """Return a function that runs the playbook to its exit code and gives its rows; no host has a new file then."""

    def run(code: int) -> Rows:
        for name in plan.hosts:
            root(connect(name), "touch /run/groundup-drift-mark")
        began = time.monotonic()
        play("drift", code=code, drift_file=str(tmp_path / "drift.json"))
        seconds = time.monotonic() - began
        written = {name: root(connect(name), WRITTEN).split() for name in plan.hosts}
        rows: Rows = json.loads((tmp_path / "drift.json").read_text())["rows"]
        with capfd.disabled():
            print(f"\ndrift: {len(rows)} rows, {seconds:.0f} s", flush=True)
        assert not any(written.values()), written
        assert seconds <= SECONDS
        return rows

    return run


def named(plan: Plan, role: str) -> list[str]:
    """Return the hosts of a role."""
    return [name for name, host in plan.hosts.items() if role in host.roles]


def of_hosts(plan: Plan, hands: Hands) -> Iterator[Hand]:
    """Yield what is changed on the system of hosts, and on nodes of the cluster."""
    (control, *_), (worker, *_), (seed, *_) = (named(plan, role) for role in ("control", "worker", "seed"))
    (first, second, *_), (hypervisor, *_) = (named(plan, role) for role in ("storage", "hypervisor"))
    user, public = plan.access.user, next(iter(plan.host.names))
    yield Hand(
        layer="kubernetes", host=control, rows=("write the API server's manifest",),
        change=hands.flag(control, manifest(API, Paths()), old="--profiling=false", new="--profiling=true"),
    )  # fmt: skip
    yield Hand(layer="host", host=worker, rows=(f"write {PARAMETERS}",), change=hands.file(worker, PARAMETERS, "$d"))
    yield Hand(
        layer="host", host=first, rows=(f"net.ipv4.{ECHO} = 1",),
        change=hands.shell(first, *(f"echo {value} > /proc/sys/net/ipv4/{ECHO}" for value in (0, 1))),
    )  # fmt: skip
    yield Hand(
        layer="host", host=hypervisor, rows=("write /etc/hosts",),
        change=hands.file(hypervisor, "/etc/hosts", f"/{public}/d"),
    )  # fmt: skip
    yield Hand(
        layer="host", host=second, rows=(f"write {KEYS / user}",), change=hands.file(second, KEYS / user, f"$a {KEY}")
    )
    yield Hand(
        layer="host", host=seed, rows=("set mode 0700 of /etc/cron.d, was 0755",),
        change=hands.shell(seed, "chmod 0755 /etc/cron.d", "chmod 0700 /etc/cron.d"),
    )  # fmt: skip
    yield Hand(
        layer="host", host=worker, rows=(f"install packages: {PACKAGE}",),
        change=hands.mended(worker, f"dpkg --remove {PACKAGE}", by="host"),
    )  # fmt: skip
    yield Hand(
        layer="kubernetes", host=worker, rows=(f"load {GUARD.rules.name} again", f"restart {GUARD.unit.name}"),
        change=hands.shell(worker, f"nft delete table inet {GUARD.table}", f"systemctl restart {GUARD.unit.name}"),
    )  # fmt: skip
    yield Hand(
        layer="kubernetes", host=worker, rows=("enable kubelet.service",),
        change=hands.shell(worker, *(f"systemctl {verb} --quiet kubelet.service" for verb in ("disable", "enable"))),
    )  # fmt: skip
    yield Hand(
        layer="kubernetes", host=control, rows=(f"write {HAPROXY}", "reload haproxy.service"),
        change=hands.file(control, HAPROXY, f"$a # {HAND}"),
    )  # fmt: skip


def of_hypervisors(plan: Plan, hands: Hands) -> Iterator[Hand]:
    """Yield what is changed on hypervisors."""
    first, second, *_ = named(plan, "hypervisor")
    kept, get = f"/run/{HAND}-mappings", f"ovs-vsctl get Open_vSwitch . {MAPPINGS}"
    more = f"$(tr -d '\"' < {kept}),{HAND}:br-int"
    yield Hand(
        layer="hypervisor", host=second, rows=(f"Open vSwitch: {MAPPINGS} = ",),
        change=hands.shell(
            second, f'{get} > {kept}; ovs-vsctl set Open_vSwitch . {MAPPINGS}="\\"{more}\\""',
            f'ovs-vsctl set Open_vSwitch . {MAPPINGS}="$(cat {kept})"; rm {kept}',
        ),
    )  # fmt: skip
    yield Hand(
        layer="hypervisor", host=first, rows=(f"write {services.NOVA[0]}", f"restart {services.COMPUTE}"),
        change=hands.file(first, services.NOVA[0], f"$a # {HAND}"),
    )  # fmt: skip
    yield Hand(
        layer="hypervisor", host=second, rows=(f"write {libvirt.QEMU}", f"restart {libvirt.DAEMON}"),
        change=hands.file(second, libvirt.QEMU, f"$a # {HAND}"),
    )  # fmt: skip
    yield Hand(
        layer="hypervisor", host=first, rows=(f"start {nova_ssh.NAME}",),
        change=hands.shell(first, f"systemctl stop {nova_ssh.NAME}", f"systemctl start {nova_ssh.NAME}"),
    )  # fmt: skip


def of_databases(plan: Plan, hands: Hands) -> Iterator[Hand]:
    """Yield what is changed in Ceph and in OVN."""
    assert plan.ceph
    asked, pool, glance = plan.ceph.monitors[0].name, plan.ceph.pools["backups"], plan.ceph.clients["glance"]
    sets = f"ceph --connect-timeout 60 osd pool set {pool.name}"
    told = f"pool {pool.name}:"
    yield Hand(
        layer="storage", rows=(f"{told} size {pool.replicas}", f"{told} min_size {pool.min_size}"),
        change=hands.shell(
            asked, f"{sets} size {pool.replicas - 1}",
            f"{sets} size {pool.replicas}; {sets} min_size {pool.min_size}",
        ),
    )  # fmt: skip
    caps = " ".join(f"{kind} '{what}'" for kind, what in glance.caps.items())
    let = f"ceph --connect-timeout 60 auth caps {glance.name}"
    yield Hand(
        layer="storage", rows=(f"set the rights of {glance.name}",),
        change=hands.shell(asked, f"{let} mon 'allow r' osd 'allow rwx' mgr 'allow r'", f"{let} {caps}"),
    )  # fmt: skip
    control, nbctl = plan.edge.hosts[0], f"ovn-nbctl --no-leader-only --db={NB.socket} --timeout=60"
    probe = f"for one in $({nbctl} --bare --columns=_uuid list connection); do {nbctl} set connection $one"
    yield Hand(
        layer="network", rows=(f"set the listeners of {NB.name}",),
        change=hands.shell(
            control, *(f"{probe} inactivity_probe={number}; done" for number in (47000, plan.ovn.inactivity_probe))
        ),
    )  # fmt: skip


def of_objects(plan: Plan, hands: Hands) -> Iterator[Hand]:
    """Yield what is changed in the Kubernetes API: nodes, and objects of OpenStack's releases."""
    space, api, worker = (
        plan.openstack.namespace,
        hands.api,
        next(n for n, h in plan.hosts.items() if "worker" in h.roles),
    )
    control, zone = plan.edge.hosts[0], "topology.kubernetes.io/zone"

    def path(version: str, plural: str, name: str = "") -> str:
        return resource_path(version, plural, namespace=space, name=name)

    yield Hand(
        layer="kubernetes", by=True, rows=(f"Node/{control}: label {zone}",),
        change=hands.patched(f"{NODES}/{control}", {"metadata": {"labels": {zone: HAND}}}),
    )  # fmt: skip
    yield Hand(
        layer="kubernetes", host=worker, rows=("cordoned",),
        change=hands.patched(f"{NODES}/{worker}", {"spec": {"unschedulable": True}}),
    )  # fmt: skip
    deployments = path("apps/v1", "deployments")
    yield Hand(
        layer="openstack", by=True, rows=("keystone: Deployment/keystone-api",),
        change=hands.patched(f"{deployments}/keystone-api", {"spec": {"replicas": 2}}),
    )  # fmt: skip
    yield Hand(
        layer="openstack", by=True, rows=("horizon: Deployment/horizon",),
        change=hands.patched(f"{deployments}/horizon", [IMAGE]),
    )  # fmt: skip
    yield Hand(
        layer="openstack", by=True, rows=(f"Deployment/{HAND} of no release",), change=hands.made(deployments, COWBOY)
    )
    scripts = path("v1", "configmaps", "keystone-bin")
    yield Hand(
        layer="openstack", by=True, rows=("keystone: ConfigMap/keystone-bin",),
        change=hands.patched(scripts, {"data": {min(api.get(scripts)["data"]): "# by hand\n"}}),
    )  # fmt: skip
    yield Hand(
        layer="openstack", by=True, rows=("heat: Secret/heat-etc",),
        change=hands.patched(path("v1", "secrets", "heat-etc"), {"data": {"identity.json": "e30="}}),
    )  # fmt: skip
    (port,) = (one.node_port for one in plan.edge.endpoints if one.type == "cloudformation")
    listed = api.get(path("v1", "services"))["items"]
    (service,) = (one["metadata"]["name"] for one in listed if port in node_ports({"kind": "Service", **one}))
    yield Hand(
        layer="openstack", rows=(f"heat: Service/{service}",), change=hands.deleted(path("v1", "services", service))
    )
    yield Hand(
        layer="openstack", rows=("default-deny",),
        change=hands.deleted(path("networking.k8s.io/v1", "networkpolicies", "default-deny")),
    )  # fmt: skip
    records = api.get(path("v1", "secrets"), labelSelector="owner=helm,name=placement")["items"]
    newest = max((one["metadata"] for one in records), key=lambda meta: int(meta["labels"]["version"]))
    yield Hand(
        layer="openstack", rows=("placement: Helm's record",),
        change=hands.patched(path("v1", "secrets", newest["name"]), {"metadata": {"labels": {RENDER_LABEL: HAND}}}),
    )  # fmt: skip


def unlike(rows: Rows, wanted: list[Hand]) -> list[str]:
    """Return what is told and not wanted, told otherwise, or wanted and not told."""
    left, found = list(rows), []
    for hand in wanted:
        for said in hand.rows:
            fits = [one for one in left if one["layer"] == hand.layer and said in one["what"] and not one["unknown"]]
            fits = [
                one for one in fits if hand.host in ("", one["host"]) and hand.by == one["by"].startswith(f"{HAND}, ")
            ]
            if fits:
                left.remove(fits[0])
            else:
                found.append(f"not told: {hand.layer}, {hand.host or 'any host'}: {said}")
    return [*found, *(f"told, too: {row}" for row in left)]


def test_an_untouched_cloud_has_no_difference(drift: Drift) -> None:
    assert drift(0) == []


def test_each_hand_is_found_once_and_named(plan: Plan, api: Api, connect: Connect, drift: Drift) -> None:
    hands = Hands(connect, api)
    wanted = [one for part in (of_hosts, of_hypervisors, of_databases, of_objects) for one in part(plan, hands)]
    assert len(wanted) >= 20
    with ExitStack() as changed:
        for one in wanted:
            changed.enter_context(one.change)
        assert unlike(drift(2), wanted) == []


def test_what_was_put_back_differs_no_more(drift: Drift) -> None:
    assert drift(0) == []

"""The cluster outlives its hosts, and what the controller knew of it. Needs three control hosts: inventories/lab-ha."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import timer
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.run_lease import holder
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import command, etcds, lose, nodes, play
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT, SITE_FILE
from ansible_collections.groundup.cloud.tests.e2e.failover import root
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{run_lease.NAMESPACE}/leases/{run_lease.NAME}"


@pytest.fixture(autouse=True)
def three(plan: Plan) -> None:
    """Skip on a site that cannot lose a control host."""
    if len(plan.edge.hosts) < 3:
        pytest.skip("this site has one control host: see inventories/lab-ha")


@pytest.fixture
def api(state: Path) -> Api:
    """The cluster's API."""
    return Api(state / "kubeconfig")


def test_the_timer_of_a_control_host_renews_a_certificate_that_ends_soon(
    plan: Plan, api: Api, connect: Callable[[str], Any]
) -> None:
    host, file = connect(plan.edge.hosts[1]), "/etc/kubernetes/pki/apiserver-etcd-client.crt"
    ends_soon = f"openssl x509 -noout -checkend {30 * 86400} -in {file} >/dev/null && echo no || echo yes"
    short = '"kind": "ClusterConfiguration", "certificateValidityPeriod": "240h0m0s"'
    root(
        host,
        f"""sed 's/"kind": "ClusterConfiguration"/{short}/' /etc/kubernetes/site/kubeadm.yaml >/run/short.yaml
        kubeadm certs renew apiserver-etcd-client --config /run/short.yaml
        rm /run/short.yaml""",
    )
    assert root(host, ends_soon) == "yes\n"
    assert host.service(f"{timer.NAME}.timer").is_running

    root(host, f"systemctl start {timer.NAME}.service")

    assert root(host, ends_soon) == "no\n"
    until(lambda: etcds(api) == set(plan.edge.hosts), seconds=180)
    assert "certificates" in root(host, f"journalctl --unit {timer.NAME}.service --output cat --lines 20")


@contextmanager
def at_work(api: Api, log: Path) -> Iterator[str]:
    """Run the layer of Kubernetes, and stop it while it holds the lease; give its name, and let it end at the end."""
    with (
        log.open("wb") as output,
        subprocess.Popen(command("kubernetes"), cwd=ROOT, stdout=output, stderr=output) as run,
    ):
        try:
            while not (lease := api.find(LEASE)):
                assert run.poll() is None, log.read_text()
                time.sleep(0.05)
            run.send_signal(signal.SIGSTOP)
            assert api.find(LEASE), "it was over before it could be stopped"
            yield holder(lease)
        finally:
            run.send_signal(signal.SIGCONT)
        assert run.wait(timeout=900) == 0, log.read_text()


def test_a_second_controller_changes_nothing_and_names_the_first(
    plan: Plan, api: Api, connect: Callable[[str], Any], tmp_path: Path
) -> None:
    """Its site file wants something else of every kubelet."""
    content = yaml.safe_load(SITE_FILE.read_text())
    content["kubernetes"]["kubelet"] = {"maxPods": 99}
    other = tmp_path / "site.yml"
    other.write_text(yaml.safe_dump(content))
    look = "sha256sum /etc/kubernetes/kubelet.conf.d/10-site.conf 2>/dev/null || true"
    before = {name: root(connect(name), look) for name in plan.hosts}
    with at_work(api, tmp_path / "first.log") as first:
        said = play("kubernetes", site=other, code=2)
    assert f"another run of the Kubernetes layer is under way: {first}, since" in said
    assert {name: root(connect(name), look) for name in plan.hosts} == before


def test_a_control_host_whose_data_disk_is_not_mounted_starts_no_etcd(
    plan: Plan, api: Api, connect: Callable[[str], Any]
) -> None:
    """Neither by itself nor in a run; with the disk back it serves again, by itself."""
    name, kept = plan.edge.hosts[1], "/run/disk-of-etcd"
    host = connect(name)
    root(
        host,
        f"""systemctl stop kubelet
        crictl ps --quiet | xargs crictl stop --timeout 10 >/dev/null
        mkdir {kept}
        mount --bind /var/lib/etcd {kept}
        umount /var/lib/etcd
        systemctl start --no-block kubelet""",
    )
    try:
        said = play("kubernetes", code=2)
        assert f"{name} is a node, and /var/lib/etcd is not mounted" in said
        assert "/var/lib/etcd is not mounted" in root(host, "journalctl --unit kubelet --output cat --lines 20")
        assert not root(host, "ls -A /var/lib/etcd; pgrep --exact etcd || true")
        # A node that does not report is believed for a while.
        until(lambda: etcds(api) == set(plan.edge.hosts) - {name}, seconds=90)
    finally:
        root(host, f"mount --bind {kept} /var/lib/etcd && umount {kept} && rmdir {kept}")
    until(lambda: nodes(api).get(name, False) and etcds(api) == set(plan.edge.hosts), seconds=180)


def test_a_reinstalled_first_control_host_joins_its_cluster_though_the_controller_forgot_it(
    plan: Plan, state: Path, api: Api
) -> None:
    """Without asking the others, the run would make a second cluster on it, at the address of the first."""
    kubeconfig, record = state / "kubeconfig", state / "cluster.json"
    before, name = json.loads(record.read_text())["ca"], plan.kubernetes.first_control
    lose(plan.site, name, state)
    for playbook in ("metal", "host"):  # as its installer leaves it
        play(playbook)
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"since": "before"}}
    api.delete(f"{CONFIG_MAPS}/kept")
    api.request("POST", CONFIG_MAPS, body=kept)
    kubeconfig.unlink()
    record.unlink()

    play("kubernetes", "--limit", name)

    api = Api(kubeconfig)
    assert json.loads(record.read_text())["ca"] == before
    assert api.get(f"{CONFIG_MAPS}/kept")["data"] == {"since": "before"}
    assert nodes(api) == dict.fromkeys((n for n, host in plan.hosts.items() if host.node_labels), True)
    until(lambda: etcds(api) == set(plan.edge.hosts), seconds=180)
    play("site")
    api.delete(f"{CONFIG_MAPS}/kept")


def holds(plan: Plan, host: Any) -> bool:
    """Say whether a host holds the virtual IP."""
    return f" {plan.edge.address}/" in host.run("ip -oneline -4 address").stdout


def test_a_control_host_of_another_name_takes_a_dead_ones_place(
    plan: Plan, state: Path, api: Api, connect: Callable[[str], Any], tmp_path: Path
) -> None:
    """The dead one held the virtual IP."""
    (dead,) = (name for name in plan.edge.hosts if holds(plan, connect(name)))
    left = [name for name in plan.edge.hosts if name != dead]
    lose(plan.site, dead, state)
    play("remove", machine=dead, remove_force=["control-count", "local-volumes"])
    assert dead not in nodes(api)
    content = yaml.safe_load(SITE_FILE.read_text())
    del content["machines"]["control"]["count"]
    content["machines"]["control"]["names"] = [*left, f"control-{len(left) + 2}"]
    site = tmp_path / "site.yml"
    site.write_text(yaml.safe_dump(content))
    wanted = site_plan(site)

    play("site", site=site)  # its verification asks for the virtual IP, the API behind it and a token by the edge

    assert nodes(api) == dict.fromkeys((name for name, host in wanted.hosts.items() if host.node_labels), True)
    until(lambda: etcds(api) == set(wanted.edge.hosts), seconds=180)
    for host in map(connect, left):
        balanced = root(host, "cat /etc/haproxy/haproxy.cfg")
        assert plan.hosts[dead].address not in balanced
        assert all(wanted.hosts[name].address in balanced for name in wanted.edge.hosts)

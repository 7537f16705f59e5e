"""Failure cards provoked on the running cluster: what really goes wrong, and what the card says.

Each test rolls a probe release out into a namespace of its own, breaks one thing, and puts it back.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import Helm
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan, ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Processes
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.engine import Rollout
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import Card, RolloutOptions
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import tool
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import Store, open_store
from ansible_collections.groundup.cloud.tests.e2e.power import WORKLOAD, cordoned, cut_power, member
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab
CHARTS = Path(__file__).parents[1] / "integration/rollout_api/charts"
SLEEP = ["sleep", "3600"]
CONNECT = "import pymysql; pymysql.connect(host='mariadb.openstack.svc.{domain}', user='{user}', password='{password}')"
# Whoever a policy admits is let in when its pod is known, a moment after it began.
ADMITTED = """
import socket, time
for _ in range(90):
    try:
        socket.create_connection(("mariadb.openstack.svc.{domain}", 3306), 1).close()
        break
    except OSError:
        time.sleep(1)
"""
Provoke = Callable[..., Card]


@pytest.fixture(scope="module")
def api(state: Path) -> Api:
    """The cluster's API."""
    return Api(state / "kubeconfig")


@pytest.fixture(scope="module")
def store(plan: Plan) -> Store:
    """The site's secrets, to be searched for in what is printed."""
    return open_store(plan.site, write=False)


@pytest.fixture
def namespace(api: Api) -> Iterator[str]:
    """A namespace of the test's own."""
    name = f"cards-{secrets.token_hex(3)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    api.request("POST", "/api/v1/namespaces", body=body)
    yield name
    api.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def cloud(plan: Plan, state: Path, api: Api, store: Store) -> Iterator[Rollout]:
    """The site's own releases, for tests that break what these stand on: sound before, and sound again afterwards.

    Hosts that are Ready again do not serve yet: pods are probed anew first, and the edge asks only every few seconds.
    """
    processes = Processes()
    helm = Helm(binary=tool("helm"), kubeconfig=state / "kubeconfig", charts="/nonexistent", processes=processes)
    rollout = Rollout(
        plan=plan, api=api, helm=helm, processes=processes, secrets=store, authority=state / "ca.crt", say=print
    )
    until(lambda: rollout.verify().cards == (), seconds=420)
    yield rollout
    until(lambda: not rollout.verify().failed, seconds=420)


@pytest.fixture
def provoke(plan: Plan, state: Path, api: Api, store: Store, namespace: str) -> Provoke:
    """Return a function that rolls the probe out, expects it to fail, and returns its card.

    Its ``patience`` is less than a real rollout's: what the tests break does not come right by itself.
    """

    def roll_out(*, start_timeout: float = 400.0, patience: float = 0.3, **values: Any) -> Card:
        image = plan.supply.images["openstack-client"]
        chosen = {"image": image, "command": SLEEP, "job_command": ["true"], "storage_class": "general", **values}
        release = ReleasePlan(
            name="probe", chart="probe", version=f"{plan.openstack.release}.0", namespace=namespace, needs=(),
            verify="workloads", values=chosen,
        )  # fmt: skip
        lines: list[str] = []
        processes = Processes()
        rollout = Rollout(
            plan=replace(plan, openstack=replace(plan.openstack, releases=(release,))),
            api=api,
            helm=Helm(binary=tool("helm"), kubeconfig=state / "kubeconfig", charts=str(CHARTS), processes=processes),
            processes=processes,
            secrets=store,
            authority=state / "ca.crt",
            say=lines.append,
            options=RolloutOptions(start_timeout=start_timeout, patience=patience, force=("image-unknown",)),
        )
        result = rollout.apply()
        assert result.failed, lines
        printed = "\n".join(lines)
        assert [name for name, value in store.items().items() if value in printed] == []
        (card,) = result.cards
        return card

    return roll_out


def test_an_image_missing_from_the_registry(plan: Plan, provoke: Provoke) -> None:
    image = f"{plan.supply.registry}/groundup/nowhere:1"
    card = provoke(image=image)
    assert (card.layer, card.rule, card.object) == ("image", "image-missing", f"image {image}")


@pytest.mark.usefixtures("cloud")
def test_a_registry_that_is_down(plan: Plan, connect: Callable[[str], Any], provoke: Provoke) -> None:
    (seed,) = (host.name for host in plan.hosts.values() if "seed" in host.roles)
    assert connect(seed).run("sudo systemctl stop docker-registry").rc == 0
    try:
        card = provoke(image=f"{plan.supply.registry}/groundup/nowhere:1")
    finally:
        assert connect(seed).run("sudo systemctl start docker-registry").rc == 0
        served = (
            f"curl --fail --silent --retry 180 --retry-delay 1 --retry-all-errors https://{plan.supply.registry}/v2/"
        )
        assert connect(seed).run(served).rc == 0
    assert (card.layer, card.rule, card.object) == ("image", "registry-down", f"registry {plan.supply.registry}")


def test_a_volume_claim_nobody_serves(provoke: Provoke) -> None:
    card = provoke(stateful=True, storage_class="nowhere", patience=0.1)
    assert (card.layer, card.object) == ("volume", "PersistentVolumeClaim/data-probe-server-0")


@contextmanager
def let_in(api: Api, namespace: str) -> Iterator[None]:
    """Let pods of ``namespace`` ask the database, which only its clients may."""
    policies = "/apis/networking.k8s.io/v1/namespaces/openstack/networkpolicies"
    source = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    spec = {"podSelector": {"matchLabels": {"application": "mariadb"}}, "ingress": [{"from": [source]}]}
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": namespace},
        "spec": spec,
    }
    api.request("POST", policies, body=policy)
    try:
        yield
    finally:
        api.request("DELETE", f"{policies}/{namespace}")


def test_a_wrong_database_password(plan: Plan, api: Api, namespace: str, provoke: Provoke) -> None:
    code = (ADMITTED + CONNECT).format(domain=plan.kubernetes.dns_domain, user="keystone", password="wrong")
    with let_in(api, namespace):
        card = provoke(job_command=["python3", "-c", code])
    assert (card.layer, card.rule) == ("credentials", "db-password")
    assert "Access denied" in card.what


def test_a_job_that_fails_with_a_traceback(provoke: Provoke) -> None:
    card = provoke(job_command=["python3", "-c", "raise ValueError('no such region')"])
    assert (card.layer, card.object) == ("service", "Job/probe-sync")
    assert "ValueError: no such region" in card.what
    assert any("Traceback" in line for line in card.log)


def test_a_disk_that_is_full(plan: Plan, provoke: Provoke) -> None:
    # The runtime gives every container 64 MiB there; what writes more meets a file system that is full.
    code = "open('/dev/shm/data', 'wb').write(bytes(80 * 2**20))"
    card = provoke(job_command=["python3", "-c", code])
    assert (card.layer, card.rule) == ("node", "volume-full")
    assert card.object.removeprefix("Node/") in plan.hosts
    assert card.next == f"kubectl describe node {card.object.removeprefix('Node/')}"


def test_a_chart_that_does_not_render(provoke: Provoke) -> None:
    card = provoke(fail="endpoints.identity is missing")
    assert (card.layer, card.rule) == ("chart", "chart-render")


@pytest.mark.usefixtures("cloud")
def test_a_name_service_that_is_down(plan: Plan, api: Api, provoke: Provoke) -> None:
    code = CONNECT.format(domain=plan.kubernetes.dns_domain, user="keystone", password="x")
    with scaled(api, "/apis/apps/v1/namespaces/kube-system/deployments/coredns", 0):
        card = provoke(job_command=["python3", "-c", code])
    assert (card.layer, card.rule) == ("network", "dns-down")
    assert card.object == "Deployment/coredns (kube-system)"


@pytest.mark.usefixtures("cloud")
def test_a_node_that_is_not_ready(plan: Plan, api: Api, connect: Callable[[str], Any], provoke: Provoke) -> None:
    """All nodes but the control plane's are gone: the probe has nowhere to go."""
    workers = [host.name for host in plan.hosts.values() if "worker" in host.roles]
    try:
        for name in workers:
            assert connect(name).run("sudo systemctl stop kubelet").rc == 0
        until(lambda: all(not ready(api, name) for name in workers), seconds=300)
        card = provoke(node=workers[0], patience=0.1)
    finally:
        for name in workers:
            connect(name).run("sudo systemctl start kubelet")
        until(lambda: all(ready(api, name) for name in workers), seconds=300)
    assert (card.layer, card.rule) == ("node", "node-not-ready")
    assert card.object in {f"Node/{name}" for name in workers}


def test_one_galera_member_left_names_the_quorum(api: Api, connect: Callable[[str], Any], cloud: Rollout) -> None:
    """R7: pods run, tokens fail. The verifier of Keystone asks what it stands on, and the card names the quorum.

    Two members lose their power and find no node to come back on; then they may, and the cluster forms itself.
    """
    if api.get(WORKLOAD)["spec"]["replicas"] < 3:
        pytest.skip("this site has one Galera member: see inventories/lab-ha")
    lost = [member(api, ordinal) for ordinal in (1, 2)]
    nodes = [pod["spec"]["nodeName"] for pod in lost]
    cards: dict[str, Card] = {}

    def tokens_fail() -> bool:
        cards.update({card.release: card for card in cloud.verify().cards})
        return "keystone" in cards

    with cordoned(api, nodes):
        for pod in lost:
            cut_power(api, connect(pod["spec"]["nodeName"]), pod)
        until(tokens_fail, seconds=180)  # not before the member that is left knows that the others are gone
    until(lambda: not cloud.verify().failed, seconds=420)
    assert (cards["mariadb"].layer, cards["mariadb"].rule) == ("database", "quorum")
    assert cards["mariadb"].object == "StatefulSet/mariadb-server"
    assert (cards["keystone"].layer, cards["keystone"].rule) == ("database", "quorum")
    assert set(cards) == {"mariadb", "keystone"}


@contextmanager
def scaled(api: Api, path: str, replicas: int) -> Iterator[None]:
    """Scale a workload while the block runs, and wait until it is as it was."""
    before = api.get(path)["spec"]["replicas"]
    pods = f"/api/v1/namespaces/{path.split('/')[5]}/pods"
    labels = ",".join(f"{key}={value}" for key, value in api.get(path)["spec"]["selector"]["matchLabels"].items())

    def settled(count: int) -> bool:
        # A pod that is about to end is not ready, and may serve all the same: it has to be gone.
        found = len(api.get(pods, labelSelector=labels)["items"])
        return found == count and (api.get(path).get("status") or {}).get("readyReplicas", 0) == count

    def scale(count: int) -> None:
        body = {"spec": {"replicas": count}}
        api.request("PATCH", f"{path}/scale", body=body, content_type="application/merge-patch+json")
        until(lambda: settled(count), seconds=300)

    scale(replicas)
    try:
        yield
    finally:
        scale(before)


def ready(api: Api, node: str) -> bool:
    """Return whether a node is Ready."""
    conditions = api.get(f"/api/v1/nodes/{node}")["status"]["conditions"]
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)

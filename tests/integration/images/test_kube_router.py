"""The wall between pods: our kube-router on a node of namespaces, with a real API server and real connections."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.tests.integration.own_network import ip, own_network
from ansible_collections.groundup.cloud.tests.integration.rollout_api.control_plane import ControlPlane, programs

from .conftest import Image

ROOT = Path(__file__).resolve().parents[3]
NODE, NODE_ADDRESS = "node-1", "192.0.2.1"
OURS, OTHERS = "openstack", "default"
DATABASE, API, STRANGER, FAR_API, FAR_STRANGER, NEW = (
    "10.244.1.2", "10.244.1.3", "10.244.1.4", "10.244.2.2", "10.244.2.3", "10.244.1.9",
)  # fmt: skip
CLIENTS, MEMBERS = 3306, 4567
CHAIN = "GROUNDUP-NEW-PODS"
LISTEN = """
import socket, sys, threading
def echo(one):
    while got := one.recv(64):
        one.sendall(got)
def serve(listener):
    while True:
        threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()
for listener in [socket.create_server(("0.0.0.0", int(port))) for port in sys.argv[1:]]:
    threading.Thread(target=serve, args=(listener,)).start()
print("listening", flush=True)
"""
# An echo that is asked twice: once when it opens, once when a line comes.
TALK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) as one:
    for _ in range(2):
        one.sendall(b"hello")
        print(one.recv(64).decode(), flush=True)
        sys.stdin.readline()
"""


class Node:
    """A node: its bridge, its pods in namespaces, and a neighbour with pods behind a route."""

    def __init__(self, stack: ExitStack) -> None:
        """Make bridge and neighbour. What is started ends with ``stack``."""
        self._stack, self._places = stack, dict[str, int]()
        ip("link set lo up", f"address add {NODE_ADDRESS}/32 dev lo", "link add cni0 type bridge", "link set cni0 up")
        ip("address add 10.244.1.1/24 dev cni0")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        far = self._namespace()
        ip(
            f"link add far type veth peer name eth0 netns {far}",
            "link set far up",
            "address add 10.244.2.254/24 dev far",
        )
        for address in (FAR_API, FAR_STRANGER):
            ip(f"address add {address}/24 dev eth0", inside=far)
            self._places[address] = far
        ip("link set eth0 up", "route add default via 10.244.2.254", inside=far)
        ip(f"route add default via {FAR_API}")  # whose address the API server takes for its own

    def pod(self, address: str, *ports: int) -> None:
        """Add a pod that answers at ``ports``."""
        place, name = self._namespace(), f"v{len(self._places)}"
        ip(f"link add {name} type veth peer name eth0 netns {place}", f"link set {name} master cni0 up")
        ip("link set lo up", f"address add {address}/24 dev eth0", "link set eth0 up", inside=place)
        ip("route add default via 10.244.1.1", inside=place)
        self._places[address] = place
        if ports:
            listener = self.start(address, sys.executable, "-c", LISTEN, *map(str, ports))
            assert listener.stdout is not None
            assert listener.stdout.readline() == "listening\n"

    def start(self, address: str, *argv: str) -> subprocess.Popen[str]:
        """Start a program at ``address``."""
        return self._running([*self._at(address), *argv])

    def reaches(self, source: str, target: str, port: int) -> bool:
        """Return whether a connection from ``source`` to ``target`` is made."""
        program = f"import socket; socket.create_connection(({target!r}, {port}), 2, ({source!r}, 0))"
        argv = [*self._at(source), sys.executable, "-c", program]
        return subprocess.run(argv, check=False, capture_output=True).returncode == 0

    def _at(self, address: str) -> list[str]:
        return [] if address == NODE_ADDRESS else ["nsenter", "--target", str(self._places[address]), "--net", "--"]

    def _namespace(self) -> int:
        holder = self._running(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"])
        assert holder.stdout is not None
        assert holder.stdout.readline()
        return holder.pid

    def _running(self, argv: list[str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@pytest.fixture
def node() -> Iterator[Node]:
    """A node without pods."""
    if os.geteuid() != 0:
        pytest.skip("networks of one's own need root")
    with own_network(), ExitStack() as stack:
        yield Node(stack)


@pytest.fixture
def api(node: Node, tmp_path: Path) -> Iterator[Api]:
    """Its API server, which knows the node."""
    assert node
    found, reason = programs()
    if not found:
        pytest.skip(reason)
    running = ControlPlane(tmp_path, found)
    try:
        running.start()
        api = Api(running.kubeconfig)
        api.request("POST", "/api/v1/namespaces", body=named("Namespace", OURS))
        api.request("POST", "/api/v1/nodes", body=named("Node", NODE))
        status = {"addresses": [{"type": "InternalIP", "address": NODE_ADDRESS}]}
        patch(api, f"/api/v1/nodes/{NODE}/status", {"status": status})
        yield api
    finally:
        running.stop()


def named(kind: str, name: str, **meta: Any) -> dict[str, Any]:
    """Return the head of an object."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **meta}}


def patch(api: Api, path: str, body: dict[str, Any]) -> None:
    """Merge ``body`` into an object."""
    api.request("PATCH", path, body=body, content_type="application/merge-patch+json")


def known(api: Api, address: str, namespace: str, host: str = NODE_ADDRESS, **labels: str) -> None:
    """Tell the API server of a running pod."""
    name = f"pod-{address.replace('.', '-')}"
    spec = {"nodeName": NODE if host == NODE_ADDRESS else "node-2", "containers": [{"name": "c", "image": "none"}]}
    api.request(
        "POST",
        resource_path("v1", "pods", namespace=namespace),
        body=named("Pod", name, labels=labels) | {"spec": spec},
    )
    status = {"phase": "Running", "hostIP": host, "podIP": address, "podIPs": [{"ip": address}]}
    patch(api, resource_path("v1", "pods", namespace=namespace, name=name) + "/status", {"status": status})


def policy() -> dict[str, Any]:
    """Return the database's policy in the site `inventories/cloud`."""
    plan = with_values(make_plan(build_site(yaml.safe_load((ROOT / "inventories/cloud/site.yml").read_text()))))
    found = next(release for release in plan.openstack.releases if release.name == "mariadb")
    made: dict[str, Any] = found.values["extraObjects"]["network_policy"]
    return made


def program(image: Image, *argv: str) -> str:
    """Run a program of the image on the node, and return what it said."""
    command = [word for word in image.command(argv, uid=0) if word != "--net"]
    return subprocess.run(command, env=dict(image.env), check=True, capture_output=True, text=True).stdout


@contextmanager
def enforcing(image: Image, directory: Path) -> Iterator[None]:
    """Run kube-router until the block ends, from when its rules are there."""
    options = (
        "--service-cluster-ip-range=10.255.0.0/24",
        "--kubeconfig=/etc/site/kubeconfig",
        "--ready-file=/tmp/ready",
    )
    argv = ["/usr/local/bin/kube-router", *options]
    mounts = {"/etc/site": directory}
    command = [word for word in image.command(argv, uid=0, mounts=mounts) if word != "--net"]
    log = directory / "kube-router.log"
    with (
        log.open("ab") as output,
        subprocess.Popen(command, stdout=output, stderr=output, env={**image.env, "NODE_NAME": NODE}) as process,
    ):
        try:
            yield
        finally:
            process.kill()


def until(condition: Callable[[], bool], log: Path) -> None:
    """Wait for a condition. Raises AssertionError with the log."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.2)


def test_pods_are_reached_by_who_a_policy_admits_and_stay_closed_without_the_controller(
    image: Callable[[str], Image], node: Node, api: Api, tmp_path: Path
) -> None:
    router = image("kube-router")
    # As kube-proxy does: from then on the kernel knows connections.
    program(router, "iptables", "-t", "nat", "-A", "POSTROUTING", "-d", "10.255.0.0/24", "-j", "MASQUERADE")
    for address, ports in ((DATABASE, (CLIENTS, MEMBERS)), (API, ()), (STRANGER, ())):
        node.pod(address, *ports)
    known(api, DATABASE, OURS, application="mariadb")
    known(api, API, OURS, application="keystone")
    known(api, STRANGER, OTHERS, application="keystone")
    known(api, FAR_API, OURS, host="192.0.2.2", application="keystone")
    known(api, FAR_STRANGER, OTHERS, host="192.0.2.2")
    everybody = (API, STRANGER, FAR_API, FAR_STRANGER, NODE_ADDRESS)
    assert [node.reaches(one, DATABASE, MEMBERS) for one in everybody] == [True] * 5, "there is no wall yet"
    old = node.start(STRANGER, sys.executable, "-c", TALK, DATABASE, str(CLIENTS))
    assert old.stdout is not None
    assert old.stdin is not None
    assert old.stdout.readline() == "hello\n"
    api.request("POST", f"/apis/networking.k8s.io/v1/namespaces/{OURS}/networkpolicies", body=policy())
    walled = {CLIENTS: [True, False, True, False, True], MEMBERS: [False, False, False, False, True]}

    def seen() -> dict[int, list[bool]]:
        return {port: [node.reaches(one, DATABASE, port) for one in everybody] for port in walled}

    # What it left when this host was a node with another network.
    program(router, "iptables", "-t", "mangle", "-N", CHAIN)
    program(router, "iptables", "-t", "mangle", "-A", CHAIN, "-d", "10.244.2.0/24", "-j", "DROP")
    with enforcing(router, tmp_path):
        # A node that has just joined gets its pods' network a moment later.
        until(lambda: "Waiting" in (tmp_path / "kube-router.log").read_text(), tmp_path / "kube-router.log")
        patch(api, f"/api/v1/nodes/{NODE}", {"spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24"]}})
        until(lambda: not node.reaches(STRANGER, DATABASE, CLIENTS), tmp_path / "kube-router.log")
        assert seen() == walled, (tmp_path / "kube-router.log").read_text()
        until(
            lambda: "10.244.2.0/24" not in program(router, "iptables-save", "-t", "mangle"),
            tmp_path / "kube-router.log",
        )
        node.pod(NEW, CLIENTS)
        assert not node.reaches(API, NEW, CLIENTS), "a pod that nobody knows yet is closed"
        known(api, NEW, OTHERS)
        until(lambda: node.reaches(API, NEW, CLIENTS), tmp_path / "kube-router.log")
    assert seen() == walled, "without the controller its rules stay"
    assert node.reaches(API, NEW, CLIENTS)
    old.stdin.write("\n")
    old.stdin.flush()
    assert old.stdout.readline() == "hello\n", "who was connected before the wall stays connected"

"""Node ports behind the public names, as the kernel serves them: control hosts reach them, others do not."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._host.guard import admit
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.node_ports import GUARD
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root

NODE, CONTROL, STRANGER, BEHIND = "10.7.0.1", "10.7.0.2", "10.7.0.99", "10.8.0.2"
CLOSED, OPEN, POD = 30500, 30999, 5000
# As kube-proxy leads node ports to a pod, here one on the node itself.
KUBE_PROXY = f"""
table ip proxy {{
  chain prerouting {{
    type nat hook prerouting priority dstnat;
    fib daddr type local tcp dport {{ {CLOSED}, {OPEN} }} dnat to {NODE}:{POD}
  }}
}}
"""
_LISTEN = "import socket, sys, time; s = socket.create_server(('', int(sys.argv[1]))); time.sleep(600)"
_ASK = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 2, (sys.argv[3], 0))"


def reaches(host: HostRoot, source: str, target: str, port: int) -> bool:
    argv = ("ip", "netns", "exec", "clients", "python3", "-c", _ASK, target, str(port), source)
    return host.run(*argv).returncode == 0


def test_who_reaches_a_node_port(tmp_path: Path) -> None:
    with host_root(tmp_path, f"{NODE}/32") as host:
        for command in (
            "ip netns add clients", "ip netns add behind",
            "ip link add clients type veth peer name eth0 netns clients", "ip link set clients up",
            "ip link add behind type veth peer name eth0 netns behind", "ip link set behind up",
            f"ip route add {CONTROL}/32 dev clients src {NODE}", f"ip route add {STRANGER}/32 dev clients src {NODE}",
            f"ip route add {BEHIND}/32 dev behind src {NODE}", "sysctl --quiet --write net.ipv4.ip_forward=1",
            "ip -n clients link set eth0 up", f"ip -n clients address add {CONTROL}/24 dev eth0",
            f"ip -n clients address add {STRANGER}/24 dev eth0", f"ip -n clients route add default via {NODE}",
            "ip -n behind link set eth0 up", f"ip -n behind address add {BEHIND}/32 dev eth0",
            f"ip -n behind route add {NODE}/32 dev eth0", f"ip -n behind route add default via {NODE}",
        ):  # fmt: skip
            done = host.run(*command.split())
            assert done.returncode == 0, f"{command}: {done.stdout}"
        host.start("python3", "-c", _LISTEN, str(POD))
        host.start("ip", "netns", "exec", "behind", "python3", "-c", _LISTEN, str(CLOSED))
        host.at("run/proxy.nft").write_text(KUBE_PROXY)
        assert host.run("nft", "-f", "/run/proxy.nft").returncode == 0
        until(lambda: reaches(host, STRANGER, NODE, CLOSED), seconds=60)
        until(lambda: reaches(host, STRANGER, BEHIND, CLOSED), seconds=60)

        host.at("run/guard.nft").write_text(GUARD.text([*admit([CONTROL], ports=[CLOSED])], ports=[CLOSED]))
        for _ in range(2):  # it replaces itself
            done = host.run("nft", "-f", "/run/guard.nft")
            assert done.returncode == 0, done.stdout
        assert reaches(host, CONTROL, NODE, CLOSED)
        assert not reaches(host, STRANGER, NODE, CLOSED)
        assert reaches(host, STRANGER, NODE, OPEN), "a port that is not of the plan is not ours to close"
        assert reaches(host, STRANGER, BEHIND, CLOSED), "what only passes through has the port of somebody else"

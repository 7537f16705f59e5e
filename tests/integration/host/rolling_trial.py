"""Three control hosts behind HAProxy restart one after the other while a prober asks; prints what was seen as JSON.

Usage: rolling_trial.py DIRECTORY SOCKET HOW     in the network of the HAProxy, whose address is 10.9.0.2

DIRECTORY has ca.crt, pki/etcd/* and the programs `etcd`, `etcd-next` and `kube-apiserver`; SOCKET is HAProxy's. HOW:
`leave`, as a run does it; `kill`: etcd and the API server are killed at once, and HAProxy must notice by itself.
"""

from __future__ import annotations

import contextlib
import json
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._edge import admin, servers
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import documents, renewal, rolling_restart
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApi, NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.etcd import Etcd, EtcdMember
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.unattended import ControlHost
from ansible_collections.groundup.cloud.tests.e2e.probing import Line, Prober
from ansible_collections.groundup.cloud.tests.e2e.serving import CONFIG_MAPS, PREFIX, Cluster
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.e2e.watching import Watch

HERE, HOW = Path(sys.argv[1]), sys.argv[3]
VIP, PORT, PATIENCE = "10.9.0.2", 6444, 600.0
HOSTS = {f"control-{number}": f"10.9.1.{number}" for number in (1, 2, 3)}
CA, PAIR = HERE / "ca.crt", (HERE / "pki/etcd/healthcheck-client.crt", HERE / "pki/etcd/healthcheck-client.key")
TOKEN = "test-only"  # of API servers on loopback that live as long as the test
STEADY = 20  # requests before and after
HANDED = "handed over to"


class Kubelet(NodeHost):
    """A control host whose kubelet starts again what ends: by the new etcd, after one second."""

    def __init__(self, name: str, address: str) -> None:
        """Have its files and its address."""
        super().__init__(name=name, paths=Paths(HERE / name))
        self.address, self.new = address, False
        self._running: dict[str, tuple[subprocess.Popen[bytes], int]] = {}
        self._pending: set[str] = set()
        self.note: Callable[[str], None] = lambda _: None

    def commands(self) -> dict[str, list[str]]:
        """Return the command of each static pod."""
        client, peer = f"https://{self.address}:2379", f"https://{self.address}:2380"
        pair = [f"--{kind}{part}" for kind in ("", "peer-") for part in (f"cert-file={PAIR[0]}", f"key-file={PAIR[1]}")]
        trust = [f"--{kind}trusted-ca-file={CA}" for kind in ("", "peer-")]
        members = ",".join(f"{name}=https://{address}:2380" for name, address in HOSTS.items())
        program = "etcd-next" if self.new else "etcd"
        return {
            "etcd": [
                program, f"--name={self.name}", f"--data-dir={HERE / self.name / 'data'}", *pair, *trust,
                f"--listen-client-urls={client}", f"--advertise-client-urls={client}", "--unsafe-no-fsync",
                f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster={members}",
                "--client-cert-auth=true", "--heartbeat-interval=500", "--election-timeout=5000",
            ],
            "kube-apiserver": [
                "kube-apiserver", f"--etcd-servers={client}", f"--etcd-cafile={CA}", f"--etcd-certfile={PAIR[0]}",
                f"--etcd-keyfile={PAIR[1]}", f"--bind-address={self.address}", f"--advertise-address={self.address}",
                f"--secure-port={PORT}", f"--tls-cert-file={PAIR[0]}", f"--tls-private-key-file={PAIR[1]}",
                f"--cert-dir={HERE / self.name}", f"--shutdown-delay-duration={documents.SHUTDOWN_DELAY}s",
                f"--shutdown-watch-termination-grace-period={documents.WATCHES_CLOSE}s",
                "--authorization-mode=RBAC", f"--token-auth-file={HERE / 'tokens.csv'}", "--watch-cache=false",
                "--disable-admission-plugins=ServiceAccount",
                "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={PAIR[0]}",
                f"--service-account-signing-key-file={PAIR[1]}", "--service-cluster-ip-range=10.255.0.0/24",
            ],
        }  # fmt: skip

    def step(self, name: str) -> None:
        """Note what is done to this host from now on."""
        self.note(f"{self.name}: {name}")

    def start(self, name: str) -> None:
        """Start a static pod."""
        program, *arguments = self.commands()[name]
        with (HERE / f"{self.name}-{name}.log").open("ab") as log:
            command = ["setpriv", "--pdeathsig", "KILL", "--", str(HERE / program), *arguments]
            self._running[name] = subprocess.Popen(command, stdout=log, stderr=log), time.time_ns()

    def revive(self) -> None:
        """Start again what ended by itself, as where the machine does more than this."""
        for name, (process, _) in list(self._running.items()):
            if process.poll() is not None and name not in self._pending:
                self.start(name)

    def end(self, name: str, how: signal.Signals, *, timeout: float) -> None:
        """End a static pod; the kubelet notices and starts it again."""
        process, _ = self._running[name]
        process.send_signal(how)
        try:
            process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._pending.add(name)
        threading.Thread(target=self._again, args=[name], daemon=True).start()

    def _again(self, name: str) -> None:
        """Start what ended, after a second. A program ends with the thread that started it: wait for its end."""
        time.sleep(1.0)
        self.start(name)
        self._pending.discard(name)
        self._running[name][0].wait()

    def run(self, argv: Sequence[str], *, timeout: float, why: str) -> str:  # noqa: ARG002  # NodeHost's signature
        """Stand for the container runtime."""
        if argv[1] == "ps":
            alive = [(name, one) for name, one in self._running.items() if one[0].poll() is None]
            labels = [{"io.kubernetes.container.name": name} for name, _ in alive]
            found = [
                {"id": name, "createdAt": str(one[1]), "labels": labels[number]}
                for number, (name, one) in enumerate(alive)
            ]
            return json.dumps({"containers": found})
        assert argv[:3] == ["crictl", "stop", "--timeout"], argv
        self.step(f"end {argv[4]}")
        self.end(argv[4], signal.SIGTERM, timeout=float(argv[3]))
        return ""

    def api(self, server: str) -> NodeApi:
        """Ask an API server as anybody may."""
        return NodeApi(server, context=ssl.create_default_context(cafile=str(CA)))

    def etcd(self) -> Etcd:
        """Ask its member of etcd."""
        return _Etcd(self, NodeHost(name=self.name, paths=_Shared()), server=f"https://{self.address}:2379")

    def version(self) -> str:
        """Return the version of its etcd."""
        return str(self.etcd()._ask(f"https://{self.address}:2379", "maintenance/status")["version"])

    def stop(self) -> None:
        """End everything."""
        for process, _ in self._running.values():
            process.kill()
            process.wait()


class _Etcd(Etcd):
    """A member whose hand-over is noted."""

    def __init__(self, kubelet: Kubelet, host: NodeHost, *, server: str) -> None:
        super().__init__(host, server=server)
        self._kubelet = kubelet

    def hand_over(self) -> EtcdMember | None:
        """Note when it begins and when it ended."""
        self._kubelet.step("hand over")
        to = super().hand_over()
        self._kubelet.step(f"{HANDED} {to.name}" if to else "did not lead")
        return to


class _Shared(Paths):
    """Paths with the credentials that all hosts have."""

    def __init__(self) -> None:
        super().__init__(HERE)
        self.pki = HERE / "pki"


def restarted(host: Kubelet, node: ControlHost) -> None:
    """Restart etcd, by the new program, and the API server of a host."""
    host.new = True
    host.step("drain")
    if HOW == "kill":
        for name in ("etcd", "kube-apiserver"):
            host.end(name, signal.SIGKILL, timeout=PATIENCE)
        until(lambda: rolling_restart.unready(host, node.api_server) is None, seconds=PATIENCE)
        return
    changes, wanted = Changes(check=False), {"server": node.name}
    assert servers.take_out(changes, wanted)["out"], admin.statistics()
    rolling_restart.Etcd = lambda _: host.etcd()  # type: ignore[attr-defined,misc,assignment]  # each on its own loopback address
    rolling_restart.wait_until_spared(node, host)
    renewal.restart("etcd", "kube-apiserver", node=node, host=host)
    servers.put_back(changes, wanted)
    host.step("put back")


def whole(hosts: Sequence[Kubelet]) -> bool:
    """Return whether every member is healthy and HAProxy sends requests to every API server."""
    for one in hosts:
        one.revive()
    return healthy(hosts) and set(admin.statistics()[1]["kubernetes"].values()) == {"UP"}


def healthy(hosts: Sequence[Kubelet]) -> bool:
    """Return whether every member of etcd is healthy."""
    with contextlib.suppress(NodeApiError):
        etcd = hosts[0].etcd()
        return all(etcd.healthy(member) for member in etcd.members())
    return False


def main() -> None:
    """Try it."""
    admin.ADMIN_SOCKET = sys.argv[2]
    # Of a machine that does more than this.
    admin.PATIENCE = rolling_restart.PATIENCE = renewal.WAIT = PATIENCE
    hosts = [Kubelet(name, address) for name, address in HOSTS.items()]
    nodes = [ControlHost(name=one.name, address=one.address, api_port=PORT) for one in hosts]
    (HERE / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')
    try:
        for one in hosts:
            one.start("etcd")
        until(lambda: healthy(hosts), seconds=PATIENCE)
        for one in hosts:
            one.start("kube-apiserver")
        until(lambda: whole(hosts), seconds=PATIENCE)
        context = ssl.create_default_context(cafile=str(CA))
        cluster = Cluster(server=f"https://{VIP}:6443", context=context, headers={"Authorization": f"Bearer {TOKEN}"})
        prober = Prober(dict(cluster.lanes()))
        steps: list[str] = []

        def note(step: str) -> None:
            steps.append(step)
            prober.step(step)

        for one in hosts:
            one.note = note
        line = partial(Line, cluster.server, context=context, kept=False)
        before = hosts[0].version()
        with Watch(line, path=CONFIG_MAPS, selector=PREFIX, headers=cluster.headers).kept() as watch:
            prober.start()
            steady(prober)
            began = time.monotonic()
            # As the filter kubernetes_members orders them.
            for host, node in sorted(zip(hosts, nodes, strict=True), key=lambda pair: pair[0].etcd().leads()):
                restarted(host, node)
                until(lambda: whole(hosts), seconds=PATIENCE)
            took = time.monotonic() - began
            steady(prober)
            found = prober.stop()
        versions = {before} | {f"{one.version()}" for one in hosts}
        left = servers.out(admin.statistics()[1])
        lanes = {name: asdict(lane) for name, lane in found.items()}
        seen = {"lanes": lanes, "watch": watch.told(), "etcd": sorted(versions), "out": left, "seconds": round(took)}
        print(json.dumps(seen | {"handed": [step for step in steps if HANDED in step]}))
    finally:
        for one in hosts:
            one.stop()


def steady(prober: Prober) -> None:
    """Let the prober ask for a while."""
    goal = prober.asked() + STEADY
    until(lambda: prober.asked() >= goal, seconds=PATIENCE)


if __name__ == "__main__":
    main()

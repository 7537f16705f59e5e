"""What a hand-over of etcd's leadership costs: three real members, one of which is frozen so that it lasts."""

from __future__ import annotations

import base64
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import etcd as module
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.api import NodeApi, NodeApiError
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.etcd import Etcd
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import ensure, missing
from ansible_collections.groundup.cloud.tests.e2e.unavoidable import DROPPED
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.rollout_api.control_plane import free_port
from ansible_collections.groundup.cloud.tests.unit.certificates import issue

PATIENCE = 300.0  # of a machine that does more than this
ELECTION = 10  # seconds: so long a hand-over may take, and a write that is dropped waits 5 s and twice this


class Member:
    """A member of etcd, asked at its own address."""

    def __init__(self, etcd: Etcd, process: subprocess.Popen[bytes]) -> None:
        self.etcd, self.process = etcd, process

    def id(self) -> str:
        return self.etcd._own_and_leader()[0]

    def put(self, key: str) -> str:
        """Write; return what etcd says against it."""
        return self._said("kv/put", {"key": _encoded(key), "value": _encoded("v")})

    def read(self, key: str) -> str:
        """Return the number of keys of this name by a read that the leader confirms, or what etcd says against it."""
        return self._said("kv/range", {"key": _encoded(key), "count_only": True})

    def hand_over(self, target: str) -> str:
        """Have another member lead; return what etcd says against it."""
        return self._said("maintenance/transfer-leadership", {"targetID": target})

    def pending(self) -> bool:
        """Return whether a write was proposed and waits."""
        with NodeApi(self.etcd._server, context=self.etcd._context) as api:
            return "etcd_server_proposals_pending 1\n" in api.raw("GET", "/metrics")[1]

    def _said(self, what: str, body: dict[str, object]) -> str:
        try:
            return str(self.etcd._ask(self.etcd._server, what, body).get("count", ""))
        except NodeApiError as error:
            return str(error)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
def members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Member]]:
    """Three members; the leader is the first."""
    if lacking := missing(["etcd-programs"]):
        pytest.skip(f"the cache lacks {', '.join(lacking)}: ci/supply build etcd-programs")
    monkeypatch.setattr(module, "TIMEOUT", PATIENCE)
    paths = Paths(tmp_path)
    pki = paths.pki / "etcd"
    pki.mkdir(parents=True)
    authority = issue("etcd-ca", ca=True)
    leaf = issue("etcd", authority, names=["127.0.0.1"])
    (pki / "ca.crt").write_text(authority.pem)
    (pki / "healthcheck-client.crt").write_text(leaf.pem)
    (pki / "healthcheck-client.key").write_text(leaf.key)
    program = ensure(["etcd-programs"])["etcd-programs"].path / "etcd"
    urls = {f"m{n}": (f"https://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}") for n in range(3)}
    found = []
    with ExitStack() as stack:
        for name, (client, peer) in urls.items():
            log = stack.enter_context((tmp_path / f"{name}.log").open("wb"))
            argv = [
                "setpriv", "--pdeathsig", "KILL", "--", str(program), f"--name={name}", f"--data-dir={tmp_path / name}",
                f"--listen-client-urls={client}", f"--advertise-client-urls={client}", "--unsafe-no-fsync",
                f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", "--client-cert-auth",
                f"--initial-cluster={','.join(f'{one}={url}' for one, (_, url) in urls.items())}",
                f"--trusted-ca-file={pki / 'ca.crt'}", f"--cert-file={pki / 'healthcheck-client.crt'}",
                f"--key-file={pki / 'healthcheck-client.key'}", f"--election-timeout={ELECTION * 1000}",
                "--heartbeat-interval=500",
            ]  # fmt: skip
            process = stack.enter_context(subprocess.Popen(argv, stdout=log, stderr=log))
            stack.callback(process.kill)
            found.append(Member(Etcd(NodeHost(name=name, paths=paths), server=client), process))
        until(lambda: all(one.put("ready") == "" for one in found), seconds=PATIENCE)
        yield sorted(found, key=lambda one: not one.etcd.leads())


@pytest.mark.long
def test_what_is_written_while_the_leadership_moves_is_refused_by_the_leader_and_dropped_for_the_others(
    members: list[Member],
) -> None:
    leader, heir, third = members
    target = heir.id()
    said: dict[str, str] = {}
    threads = [
        threading.Thread(target=lambda: said.update(moved=leader.hand_over(target))),
        threading.Thread(target=lambda: said.update(dropped=third.put("dropped"))),
    ]
    heir.process.send_signal(signal.SIGSTOP)
    try:
        threads[0].start()
        while not (refused := leader.put("refused")):
            pass  # it does not hand over yet
        threads[1].start()
        until(third.pending, seconds=PATIENCE)
        # The leader takes what a member passes on in its order: it has the write by now.
        assert third.read("ready") == "1", "reads go on"
    finally:
        heir.process.send_signal(signal.SIGCONT)
    for thread in threads:
        thread.join(PATIENCE)
    assert refused == "raft proposal dropped", "by the leader's own API server: it has to end first"
    assert said["moved"] == ""
    assert said["dropped"] in DROPPED
    assert heir.etcd.leads()
    assert [one.put("after") for one in members] == ["", "", ""]
    assert third.read("dropped") == "", "it was not written: who asks again makes it once"
    until(lambda: [one.etcd.behind() for one in members] == [0, 0, 0], seconds=PATIENCE)
    third.process.send_signal(signal.SIGSTOP)
    assert leader.put("later") == ""
    assert heir.etcd.behind() <= 0
    third.process.send_signal(signal.SIGCONT)
    until(lambda: third.etcd.behind() <= 0, seconds=PATIENCE)

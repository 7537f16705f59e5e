"""A snapshot is restored into one member with the flags of one that had joined; two others join it, and count."""

from __future__ import annotations

import base64
import http.client
import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import etcd_restore
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.host import NodeHost
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Paths
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import scratch_etcd
from ansible_collections.groundup.cloud.tests.integration.rollout_api.control_plane import free_port

NAMES = ("control-1", "control-2", "control-3")


class Site:
    """Three members on this machine, each with the flags of a static pod that kubeadm wrote at a join."""

    def __init__(self, place: Path) -> None:
        self.place, self.programs = place, supply.ensure(["etcd-programs"])["etcd-programs"].path
        self.clients = {name: free_port() for name in NAMES}
        self.peers = {name: f"http://127.0.0.1:{free_port()}" for name in NAMES}

    def data(self, name: str) -> Path:
        return self.place / name / "var/lib/etcd"

    @contextmanager
    def member(self, name: str, *, among: tuple[str, ...], state: str = "existing") -> Iterator[None]:
        url = f"http://127.0.0.1:{self.clients[name]}"
        argv = [
            "setpriv", "--pdeathsig", "KILL", "--", str(self.programs / "etcd"), f"--name={name}",
            f"--data-dir={self.data(name)}", f"--listen-client-urls={url}", f"--advertise-client-urls={url}",
            f"--listen-peer-urls={self.peers[name]}", f"--initial-advertise-peer-urls={self.peers[name]}",
            f"--initial-cluster={','.join(f'{one}={self.peers[one]}' for one in among)}",
            f"--initial-cluster-state={state}", "--unsafe-no-fsync",
        ]  # fmt: skip
        with (self.place / f"{name}.log").open("ab") as log, subprocess.Popen(argv, stdout=log, stderr=log) as process:
            try:
                yield
            finally:
                process.kill()

    def ask(self, name: str, what: str, **body: Any) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.clients[name], timeout=10)
        try:
            connection.request("POST", f"/v3/{what}", json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != http.HTTPStatus.OK:
                raise OSError(text.decode())
            return dict(json.loads(text))
        finally:
            connection.close()

    def count(self, name: str) -> tuple[int, int]:
        """Return keys and revision."""
        said = self.ask(name, "kv/range", key="AA==", range_end="AA==", count_only=True)
        return int(said.get("count", 0)), int(said["header"]["revision"])

    def wait(self, name: str, keys: int) -> None:
        def wrong() -> str:
            try:
                found = self.count(name)[0]
            except OSError as error:
                return str(error)
            return "" if found == keys else f"{found} keys"

        log = (self.place / f"{name}.log").read_text(errors="replace")
        assert not (why := wait_until(wrong, timeout=60, pause=0.2)), why + log[-2000:]

    def add(self, name: str, *, by: str) -> None:
        """Add a member, once those before it are connected: etcd refuses until then."""

        def refused() -> str:
            try:
                self.ask(by, "cluster/member/add", peerURLs=[self.peers[name]])
            except OSError as error:
                return str(error)
            return ""

        assert not (why := wait_until(refused, timeout=60, pause=0.5)), why

    def put(self, name: str, numbers: range) -> None:
        for number in numbers:
            key = base64.b64encode(f"k{number:05}".encode()).decode()
            self.ask(name, "kv/put", key=key, value=key)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    if reason := scratch_etcd.lacking():
        pytest.skip(reason)
    return Site(tmp_path)


def _snapshot(site: Site, name: str) -> Path:
    file, data = site.place / "snapshot.db", b""
    connection = http.client.HTTPConnection("127.0.0.1", site.clients[name], timeout=30)
    connection.request("POST", "/v3/maintenance/snapshot", "{}")
    for line in connection.getresponse():
        data += base64.b64decode(json.loads(line)["result"].get("blob", ""))
    file.write_bytes(data)
    return file


def test_one_member_is_restored_and_two_join_it_with_all_keys_and_later_revisions(site: Site) -> None:
    with ExitStack() as before:
        for name in NAMES:
            before.enter_context(site.member(name, among=NAMES, state="new"))
        site.wait("control-1", 0)
        site.put("control-1", range(40))
        site.wait("control-2", 40)  # a follower's snapshot is what it has applied, and it may be a key behind
        snapshot = _snapshot(site, "control-2")
        site.put("control-1", range(40, 60))
        keys, last = site.count("control-1")
        old = site.ask("control-1", "cluster/member/list")["header"]["cluster_id"]
    assert keys == 60

    first, path = "control-2", site.data("control-2")
    host = NodeHost(name=first, paths=Paths(site.place / first))
    given = {"program": str(site.programs / "etcdutl"), "snapshot": str(snapshot), "restore": "20261128T150000Z"}
    path.rename(path.with_name("etcd.kept"))
    etcd_restore.restore_snapshot(host, given, into=path, member=first, peer=site.peers[first])
    with ExitStack() as after:
        after.enter_context(site.member(first, among=NAMES))  # the manifest still names all three
        site.wait(first, 40)
        members = site.ask(first, "cluster/member/list")
        assert [one["name"] for one in members["members"]] == [first]
        assert members["header"]["cluster_id"] != old  # a member that comes back with old data is another cluster's
        assert site.count(first)[1] > last  # whoever watched sees later revisions, never the same ones again
        for number, name in enumerate(("control-1", "control-3"), start=2):
            site.data(name).rename(site.data(name).with_name("etcd.before"))
            site.add(name, by=first)
            after.enter_context(site.member(name, among=(first, "control-1", name)[:number]))
            site.wait(name, 40)
        site.put("control-3", range(1000, 1010))
        assert {site.count(name)[0] for name in NAMES} == {50}


def test_a_watch_of_before_ends_with_compacted_and_never_stays_silent(site: Site) -> None:
    with site.member("control-1", among=("control-1",), state="new"):
        site.wait("control-1", 0)
        site.put("control-1", range(20))
        snapshot = _snapshot(site, "control-1")
    given = {"program": str(site.programs / "etcdutl"), "snapshot": str(snapshot), "restore": "r"}
    site.data("control-1").rename(site.place / "kept")
    host = NodeHost(name="control-1", paths=Paths(site.place / "control-1"))
    etcd_restore.restore_snapshot(
        host, given, into=site.data("control-1"), member="control-1", peer=site.peers["control-1"]
    )
    with site.member("control-1", among=("control-1",)):
        site.wait("control-1", 20)
        with pytest.raises(OSError, match="required revision has been compacted"):
            site.ask("control-1", "kv/range", key="AA==", range_end="AA==", revision="15")

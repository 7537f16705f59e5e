"""A real etcd with TLS is backed up while it is written to, and restored into a process that nobody else reaches."""

from __future__ import annotations

import base64
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import etcd, scratch_etcd
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.tests.integration.rollout_api.control_plane import free_port
from ansible_collections.groundup.cloud.tests.unit.certificates import Issued, issue


@dataclass(frozen=True)
class Member:
    """An etcd member, and the Kubernetes API on the way to it."""

    port: int
    authority: Issued
    client: Issued

    @contextmanager
    def connect(self, _namespace: str, _pod: str, port: int) -> Iterator[socket.socket]:
        assert port == etcd.PORT
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield connection

    @property
    def credentials(self) -> dict[str, str]:
        return {"ca": self.authority.pem, "certificate": self.client.pem, "key": self.client.key}

    @contextmanager
    def connection(self, **other: str) -> Iterator[etcd.EtcdConnection]:
        api: Any = self
        with etcd.connected(api, "etcd-control-1", **{**self.credentials, **other}) as connection:
            yield connection

    def put(self, numbers: range, *, size: int = 10) -> None:
        with self.connection() as connection:
            for number in numbers:
                key, value = (base64.b64encode(text.encode()).decode() for text in (f"k{number:05}", "v" * size))
                connection._ask("kv/put", {"key": key, "value": value})


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    if reason := scratch_etcd.lacking():
        pytest.skip(reason)
    place, port = tmp_path_factory.mktemp("etcd"), free_port()
    authority = issue("etcd-ca", ca=True)
    server, client = issue("etcd", authority, names=["127.0.0.1"]), issue("client", authority, client=True)
    for name, text in {"ca": authority.pem, "crt": server.pem, "key": server.key}.items():
        (place / name).write_text(text)
    program = supply.ensure(["etcd-programs"])["etcd-programs"].path / "etcd"
    argv = [
        "setpriv", "--pdeathsig", "KILL", "--", str(program), f"--data-dir={place}/data", "--unsafe-no-fsync",
        *(f"--{one}-client-urls=https://127.0.0.1:{port}" for one in ("listen", "advertise")),
        f"--listen-peer-urls=http://127.0.0.1:{free_port()}", "--client-cert-auth",
        f"--trusted-ca-file={place}/ca", f"--cert-file={place}/crt", f"--key-file={place}/key",
    ]  # fmt: skip
    with (place / "log").open("wb") as log, subprocess.Popen(argv, stdout=log, stderr=log) as process:
        try:
            found, said = Member(port, authority, client), list[str]()

            def waits() -> bool:
                try:
                    with found.connection() as connection:
                        connection.state()
                except (OSError, GroundupError) as error:
                    said[:] = [str(error)]
                    return process.poll() is None
                return False

            assert not wait_until(waits, timeout=30, pause=0.2), said[0] + (place / "log").read_text()[-2000:]
            found.put(range(300), size=10_000)  # a snapshot of several messages
            yield found
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    (tmp_path / "state/lab").mkdir(parents=True)


def test_a_snapshot_taken_under_writes_restores_to_what_was_counted(member: Member) -> None:
    data, writer = bytearray(), threading.Thread(target=member.put, args=(range(300, 500),))
    with member.connection() as connection:
        writer.start()
        about = etcd.take(connection, data.extend)
        writer.join()
    found = scratch_etcd.restored("lab", [bytes(data)], size=len(data))
    assert etcd.judge(about, found) == []
    assert found["keys"] >= 300
    assert about["revision"][0] <= found["revision"] <= about["revision"][1]


def test_a_flipped_byte_is_no_snapshot_and_nothing_is_left_of_the_test(member: Member, tmp_path: Path) -> None:
    data = bytearray()
    with member.connection() as connection:
        etcd.take(connection, data.extend)
    data[len(data) // 2] ^= 1
    with pytest.raises(GroundupError, match=r"etcdutl: .*sha256"):
        scratch_etcd.restored("lab", [bytes(data)], size=len(data))
    assert [*Path("/dev/shm").glob("groundup-restore-lab-*"), *tmp_path.rglob("groundup-restore-*")] == []  # noqa: S108


def test_a_client_without_the_clusters_certificate_gets_nothing(member: Member) -> None:
    stranger = issue("stranger", client=True)
    with (
        pytest.raises(GroundupError, match="etcd cannot be backed up: ") as caught,
        member.connection(certificate=stranger.pem, key=stranger.key) as connection,
    ):
        connection.state()
    assert "etcd-control-1" in str(caught.value)


def test_a_member_that_is_lost_in_the_middle_gives_no_snapshot(member: Member) -> None:
    got = bytearray()
    with member.connection() as connection:

        def write(data: bytes) -> None:
            got.extend(data)
            if len(got) > 100_000:
                connection._http.sock.shutdown(socket.SHUT_RDWR)

        with pytest.raises(GroundupError, match="etcd cannot be backed up: ") as caught:
            connection.snapshot(write)
    assert "etcd-control-1" in str(caught.value)
    assert len(got) > 100_000

"""A Galera member that is told to end hands over its clients: the chart's programs, a real server and a real API."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.tests.integration.images.conftest import (  # noqa: F401  # fixtures
    Image,
    artifact,
    image,
)
from ansible_collections.groundup.cloud.tests.unit.charts.conftest import script

from .conftest import Site
from .control_plane import free_port
from .puppet import NODE
from .test_galera_state import CNF, Member

WRITER = "openstack.groundup.cloud/writer"
FORMER, NEW = "mariadb-server-0", "mariadb-server-1"
controller = script("mariadb/files/mariadb_controller.py")


class Served(Member):
    """A member with clients on a port of its own."""

    def __init__(self, mariadb: Image, site: Site, directory: Path) -> None:
        super().__init__(mariadb, site, directory)
        self.port = free_port()
        cnf = CNF.format(port=free_port()).replace("skip_networking", f"bind_address=127.0.0.1\nport={self.port}")
        (directory / "etc/my.cnf").write_text(cnf)
        (directory / "etc/admin_user.cnf").write_text("[client]\nuser = root\npassword = word\n")

    @contextmanager
    def client(self, name: str, *statements: str) -> Iterator[Callable[[str], None]]:
        """Hold a connection of the account ``name`` open; yield what sends it a statement."""
        self.ask(f"CREATE USER {name} IDENTIFIED BY 'word'; GRANT ALL ON *.* TO {name}")
        argv = self._command(
            "mariadb", "--no-defaults", "--host=127.0.0.1", f"--port={self.port}", f"--user={name}", "--password=word",
            "--unbuffered", "--skip-reconnect",
        )  # fmt: skip
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=self._env)
        assert process.stdin is not None

        def send(statement: str) -> None:
            assert process.stdin is not None
            process.stdin.write(f"{statement};\n")
            process.stdin.flush()

        try:
            for statement in statements:
                send(statement)
            self.until(lambda: name in self.clients())
            yield send
        finally:
            process.stdin.close()
            process.wait(timeout=60)

    def clients(self) -> list[str]:
        """Return the accounts that are connected."""
        rows = self.ask("SELECT user FROM information_schema.processlist WHERE user IN ('idle', 'busy') ORDER BY user")
        return (rows or "").split()

    def leaves(self, label: str = WRITER) -> subprocess.Popen[bytes]:
        """Start the preStop hook, as one of two members."""
        argv = self._command("/mnt/leave.py", label)
        return subprocess.Popen(argv, env=self._env | {"MEMBERS": "2"})


class Chart:
    """The API as the chart's programs call it."""

    def __init__(self, site: Site) -> None:
        self._api = site.api

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the answer to one request."""
        return dict(self._api.request(method, path, body=body, content_type="application/merge-patch+json"))


def pods(site: Site) -> str:
    return resource_path("v1", "pods", namespace=site.namespace)


def labels(site: Site, name: str) -> dict[str, str]:
    return dict(site.api.get(f"{pods(site)}/{name}")["metadata"].get("labels") or {})


@pytest.fixture
def members(site: Site) -> Iterator[Site]:
    """The pods of two members; the writer's is on its way out, and stays until the test ends."""
    for name, more in ((FORMER, {WRITER: "true"}), (NEW, {})):
        metadata = {"name": name, "labels": {"application": "mariadb", **more}, "finalizers": ["test.example/kept"]}
        spec = {"nodeName": NODE, "containers": [{"name": "mariadb", "image": "none"}]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        site.api.request("POST", pods(site), body=body)
    yield site
    for name in (FORMER, NEW):
        Chart(site).call("PATCH", f"{pods(site)}/{name}", {"metadata": {"finalizers": None}})


@pytest.fixture
def member(image: Callable[[str], Image], members: Site, tmp_path: Path) -> Served:  # noqa: F811  # `image` is a fixture
    """A member with an empty volume."""
    tmp_path.chmod(0o755)
    directory = tmp_path / "member"
    directory.mkdir()
    return Served(image("mariadb"), members, directory)


def test_a_writer_serves_until_another_is_named_and_its_clients_are_gone(
    members: Site, member: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle connections end once there is another writer, and one in a transaction after that."""
    monkeypatch.setattr(controller, "serves", lambda _: True)  # the other member has a pod, and no server
    table = ("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
    begin = (*table, "START TRANSACTION", "INSERT INTO d.t VALUES (1)")
    with member.started():
        member.until(member.serves)
        with member.client("idle"), member.client("busy", *begin) as busy:
            member.until(lambda: member.ask("SELECT COUNT(*) FROM information_schema.innodb_trx") == "1")
            members.api.delete(f"{pods(members)}/{FORMER}")
            hook = member.leaves()
            with pytest.raises(subprocess.TimeoutExpired):
                hook.wait(timeout=3)
            assert member.clients() == ["busy", "idle"], "nobody else serves them yet"
            controller.look(Chart(members), pods(members), "application=mariadb", WRITER, may_stay=lambda _: True)
            assert (labels(members, FORMER).get(WRITER), labels(members, NEW).get(WRITER)) == (None, "true")
            member.until(lambda: member.clients() == ["busy"])
            assert hook.poll() is None
            busy("COMMIT")
            assert hook.wait(timeout=30) == 0
            assert member.clients() == []
            assert member.ask("SELECT id FROM d.t") == "1"


def test_a_member_that_may_not_ask_ends_in_time(member: Served) -> None:
    """Its token is refused: the pod ends all the same."""
    (member.data.parent / "account/token").write_text("of nobody")
    begun = time.monotonic()
    assert member.leaves().wait(timeout=90) == 0
    assert time.monotonic() - begun < 60

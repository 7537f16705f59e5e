"""A single Galera member and its volume: the chart's start program, a real server and a real API."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.diagnose.rules import diagnose
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import EventLine, Symptom
from ansible_collections.groundup.cloud.tests.integration.images.conftest import (  # noqa: F401  # fixtures
    Image,
    artifact,
    image,
)

from .conftest import Site
from .control_plane import TOKEN, ControlPlane, free_port

FILES = Path(__file__).resolve().parents[3] / "charts/mariadb/files"
ACCOUNT, MYSQL = "/run/secrets/kubernetes.io/serviceaccount", 999
LIBRARY = FILES.parents[1] / "groundup-lib/files"
CNF = """
[client-server]
socket = /run/mysqld/mysqld.sock
[mysqld]
datadir = /var/lib/mysql
skip_networking
wsrep_on = ON
wsrep_provider = /usr/lib/galera/libgalera_smm.so
wsrep_provider_options = "gmcast.listen_addr=tcp://127.0.0.1:{port}"
wsrep_sst_method = mariabackup
binlog_format = ROW
innodb_buffer_pool_size = 32M
!includedir /etc/mysql/member.d/
"""


class Member:
    """A member whose pod is started and loses its power as often as a test likes."""

    def __init__(self, mariadb: Image, site: Site, directory: Path) -> None:
        self._image, self._site, self._directory = mariadb, site, directory
        self.data, self.log = directory / "data", directory / "log"
        places = {
            "/var/lib/mysql": "data",
            "/run/mysqld": "run",
            "/etc/mysql": "etc",
            "/mnt": "files",
            ACCOUNT: "account",
        }
        self._mounts = {inside: directory / name for inside, name in places.items()}
        for place in (*self._mounts.values(), directory / "etc/member.d"):
            place.mkdir()
            os.chown(place, MYSQL, MYSQL)
        for file in (*FILES.iterdir(), *LIBRARY.glob("*.py")):
            shutil.copy(file, directory / "files")
        (directory / "etc/my.cnf").write_text(CNF.format(port=free_port()))
        control: ControlPlane = site.control_plane
        (directory / "account/token").write_text(TOKEN)
        shutil.copy(control.directory / "certificates/apiserver.crt", directory / "account/ca.crt")
        server = yaml.safe_load(control.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        self._env = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp",  # noqa: S108  # in its root
            "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": server.rpartition(":")[2],
            "POD_NAME": "mariadb-server-0", "POD_IP": "127.0.0.1", "NAMESPACE": site.namespace, "NODE": "control-1",
            "CLAIM": "mysql-data-mariadb-server-0", "MEMBERS": "1", "DISCOVERY": "localhost", "WSREP_PORT": "4567",
            "STATE_CONFIGMAP": "mariadb-mariadb-state",
            **{f"MYSQL_DB{who}_{what}": value for who, name in (("ADMIN", "root"), ("SST", "sst"), ("AUDIT", "audit"))
               for what, value in (("USERNAME", name), ("PASSWORD", "word"))},
        }  # fmt: skip

    def _command(self, *argv: str) -> list[str]:
        command = self._image.command(argv, uid=MYSQL, mounts=self._mounts)
        command.remove("--net")  # the API is on this machine's loopback
        return command

    @contextmanager
    def started(self) -> Iterator[None]:
        """Run the container; at the end its power is cut."""
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                self._command("python3", "/mnt/start.py"), stdout=log, stderr=subprocess.STDOUT, env=self._env
            )
            try:
                yield
            finally:
                # The first process of its namespace, since all others end with it: it ran as root once, so it is not
                # the death of its parent that ends it.
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                for child in children:
                    os.kill(int(child), signal.SIGKILL)
                process.wait()

    def ask(self, sql: str) -> str | None:
        """Return what the server answers, None while it does not serve."""
        client = ("mariadb", "--user=root", "--password=word", "--batch", "--skip-column-names", f"--execute={sql}")
        done = subprocess.run(
            self._command(*client), capture_output=True, text=True, env=self._env, timeout=60, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else None

    def serves(self) -> bool:
        """Return whether it takes queries as a member of a cluster, and no longer to make its accounts."""
        return "becoming the server" in self.said() and (self.ask("SHOW STATUS LIKE 'wsrep_ready'") or "").endswith(
            "ON"
        )

    def said(self) -> str:
        """Return the log of the present start."""
        return self.log.read_text()

    def state(self) -> dict[str, Any]:
        """Return the ConfigMap."""
        path = f"/api/v1/namespaces/{self._site.namespace}/configmaps/{self._env['STATE_CONFIGMAP']}"
        return dict(self._site.api.get(path))

    def annotate(self, **notes: str) -> None:
        """Consent to something."""
        body = {
            "metadata": {
                "annotations": {f"openstack.groundup.cloud/{k.replace('_', '-')}": v for k, v in notes.items()}
            }
        }
        self._site.api.request(
            "PATCH", f"/api/v1/namespaces/{self._site.namespace}/configmaps/{self._env['STATE_CONFIGMAP']}",
            body=body, content_type="application/merge-patch+json",
        )  # fmt: skip

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition. Raises AssertionError with the log."""
        end = time.monotonic() + 300
        while not condition():
            assert time.monotonic() < end, self.said()
            time.sleep(0.3)


@pytest.fixture
def member(image: Callable[[str], Image], site: Site, tmp_path: Path) -> Member:  # noqa: F811  # `image` is a fixture
    """A member with an empty volume."""
    tmp_path.chmod(0o755)
    directory = tmp_path / "member"
    directory.mkdir()
    return Member(image("mariadb"), site, directory)


def test_a_database_that_was_formed_is_made_anew_by_consent_alone(member: Member) -> None:
    with member.started():
        member.until(member.serves)
        assert member.ask("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (7)") == ""
        formed = member.state()["data"]["cluster"]
    member.data.rename(member.data.with_name("away"))
    member.data.mkdir()
    os.chown(member.data, MYSQL, MYSQL)
    with member.started():
        member.until(lambda: "refused: " in member.said())
        refusal = next(line for line in member.said().splitlines() if line.startswith("refused: "))
        assert f"cluster {formed} was formed here; here: volume claim mysql-data-mariadb-server-0 on node" in refusal
        event = EventLine(reason="Unhealthy", object="Pod/x", message=f"Readiness probe failed: {refusal}", count=1)
        seen = Symptom(release="mariadb", namespace="n", object="Pod/x", stage="start", events=(event,))
        assert diagnose(seen).rule == "database-lost"
        assert list(member.data.iterdir()) == []
    member.data.rmdir()
    member.data.with_name("away").rename(member.data)
    with member.started():
        member.until(member.serves)
        assert member.ask("SELECT id FROM d.t") == "7"
        assert member.ask("SHOW STATUS LIKE 'wsrep_cluster_state_uuid'") == f"wsrep_cluster_state_uuid\t{formed}"
        assert member.state()["data"]["cluster"] == formed
    shutil.rmtree(member.data)
    member.data.mkdir()
    os.chown(member.data, MYSQL, MYSQL)
    with member.started():
        member.until(lambda: "refused: " in member.said())
        member.annotate(new_database="00decade")
        member.until(lambda: "ignored" in member.said())
        outage = member.state()["data"]["outage"]
        assert f"openstack.groundup.cloud/new-database={outage}\n" in member.said()
        member.annotate(new_database=outage)
        member.until(member.serves)
        assert member.ask("SHOW DATABASES LIKE 'd'") == ""
        state = member.state()
        assert state["data"]["cluster"] != formed
        assert "outage" not in state["data"]
        assert not state["metadata"].get("annotations")

"""All is lost and comes back from one backup set: etcd of every control host, every volume of MariaDB, OVN's networks
of tenants, the state directory of the control node.

Needs tests/e2e/network/site.yml (or inventories/cloud, inventories/ha). Prints a table: seconds until each loss serves
again, and what a writer, who stamped a row and an object each second, does not find afterwards; drill.json of the state
directory keeps it. Backup and restore are killed in between, and go on. Where the site has `backups.logs_every`, binary
logs are copied meanwhile.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import NB
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import mariadb
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.shelf import STAMP
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.cluster import etcds, play
from ansible_collections.groundup.cloud.tests.e2e.drilling import Loss, kept, killed, killed_when, lost, running, table
from ansible_collections.groundup.cloud.tests.e2e.failover import kept_instance, nbctl, root
from ansible_collections.groundup.cloud.tests.e2e.pinging import pinged
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.long]
OBJECT = resource_path("v1", "configmaps", namespace="default", name="drill")
CLIENT = ("mariadb", "--defaults-file=/etc/mysql/admin_user.cnf", "--host=localhost", "--batch", "--skip-column-names")
TABLE = "drill.stamps"
WHOLE, ETCD, MARIADB, RPO = 600.0, 120.0, 240.0, 5.0  # seconds, as wanted of a lab (issue 33)


@dataclass
class Writer:
    """Stamps a row and an object each second; ``rows`` and ``objects``: times of those that were taken."""

    api: Api
    namespace: str
    rows: list[float] = field(default_factory=list)
    objects: list[float] = field(default_factory=list)

    def query(self, sql: str) -> str:
        done = self.api.execute(
            self.namespace, f"{mariadb.SET}-0", (*CLIENT, f"--execute={sql}"), container="mariadb", timeout=10.0
        )
        if done.code:
            raise GroundupError(done.stderr, where="mariadb", why="", remedy="")
        return done.stdout.strip()

    def stamp(self, now: float) -> None:
        with suppress(GroundupError):
            self.query(f"INSERT INTO {TABLE} VALUES ({now:.3f})")  # noqa: S608  # a constant and a number
            self.rows.append(now)
        with suppress(GroundupError):
            body = {"data": {"stamp": f"{now:.3f}"}}
            self.api.request("PATCH", OBJECT, body=body, content_type="application/merge-patch+json", timeout=5.0)
            self.objects.append(now)

    @contextmanager
    def writing(self) -> Iterator[None]:
        end = threading.Event()

        def work() -> None:
            while not end.wait(1.0):
                self.stamp(time.time())

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()


@pytest.fixture(scope="module")
def writer(plan: Plan, state: Path) -> Iterator[Writer]:
    found = Writer(Api(state / "kubeconfig", patience=0.0), plan.openstack.namespace)
    found.query(f"CREATE DATABASE IF NOT EXISTS drill; CREATE TABLE IF NOT EXISTS {TABLE} (at DOUBLE PRIMARY KEY)")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "drill"}}
    if found.api.find(OBJECT) is None:
        found.api.request("POST", OBJECT.rpartition("/")[0], body=body)
    yield found
    found.query("DROP DATABASE IF EXISTS drill")
    found.api.delete(OBJECT)


@pytest.fixture(scope="module")
def guest(plan: Plan, outside: Callable[..., Any]) -> Iterator[str]:
    """The floating IP of an instance from before."""
    with kept_instance(plan, outside) as address:
        yield address


def save(writer: Writer, directory: Path) -> dict[str, Any]:
    """Take a set while the writer writes; return the variables that name it."""
    with writer.writing():
        play("backup", backup_directory=str(directory))
    newest = max(one.parent.name for one in directory.rglob("set.json"))
    return {"backup_directory": str(directory), "restore_from": newest}


@pytest.fixture(scope="module")
def directory(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory of sets, into which binary logs are copied all the time where the site has them."""
    found = tmp_path_factory.mktemp("sets")
    with running("backup_logs", backup_directory=str(found)) if plan.backups.logs_every else nullcontext():
        yield found


@pytest.fixture(scope="module")
def saved(writer: Writer, directory: Path, guest: str) -> dict[str, Any]:
    """A set that was taken by the run after one that was killed."""
    assert guest
    killed_when("backup", seen=lambda: any(directory.rglob(".partial-*/*")), backup_directory=str(directory))
    assert not list(directory.rglob("set.json"))
    return save(writer, directory)


@dataclass(frozen=True, kw_only=True)
class Drill:
    """A site that is saved, with an instance, and a writer."""

    plan: Plan
    writer: Writer
    saved: dict[str, Any]
    guest: str
    connect: Callable[[str], Any]


@pytest.fixture(scope="module")
def drill(plan: Plan, writer: Writer, saved: dict[str, Any], guest: str, connect: Callable[[str], Any]) -> Drill:
    return Drill(plan=plan, writer=writer, saved=saved, guest=guest, connect=connect)


def lose_etcd(plan: Plan, connect: Callable[[str], Any]) -> None:
    for name in plan.edge.hosts:
        root(
            connect(name),
            """systemctl stop kubelet
            crictl ps --quiet --name '^(etcd|kube-.*)$' | xargs --no-run-if-empty crictl stop --timeout 0
            rm -rf /var/lib/etcd/member""",
        )


def make_anew(plan: Plan, connect: Callable[[str], Any]) -> None:
    """Leave nothing of Kubernetes on any control host, as an installation does; volumes have a disk of their own."""
    for name in plan.edge.hosts:
        root(
            connect(name),
            """systemctl stop kubelet
            kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock --skip-phases remove-etcd-member
            rm -rf /etc/kubernetes /var/lib/etcd/member /var/lib/kubelet/* /etc/cni/net.d
            rm -f /usr/local/bin/kubeadm /usr/local/bin/kubelet /usr/local/bin/kubectl /usr/local/bin/crictl
            systemctl restart containerd""",
        )


def lose_volumes(plan: Plan, api: Api, connect: Callable[[str], Any]) -> None:
    pods = resource_path("v1", "pods", namespace=plan.openstack.namespace)
    for number in range(mariadb.Members(api, plan.openstack.namespace).count):
        name = f"{mariadb.SET}-{number}"
        empty = ("find", "/var/lib/mysql", "-mindepth", "1", "-not", "-name", "lost+found", "-delete")
        api.execute(plan.openstack.namespace, name, empty, container="mariadb")
        root(connect(api.get(f"{pods}/{name}")["spec"]["nodeName"]), "pkill -KILL -x mariadbd || true")


# Of a restore, where it is killed: etcd is put in place; the databases are in their volume; etcd and they.
IN_ETCD, IN_MARIADB = "PLAY [Kubelets]", "restore: starting MariaDB"
IN_KEYS, IN_INIT = "TASK [Stop etcd and the control plane", "Install programs, container runtime and kubelet"
ANEW = ["kubernetes-keys", "etcd"]


@pytest.mark.parametrize(
    ("parts", "kills"),
    [
        (["etcd"], []),
        (["mariadb"], []),
        (["etcd", "mariadb"], []),
        (["etcd", "mariadb"], [IN_ETCD, IN_MARIADB]),
        (ANEW, []),
        (ANEW, [IN_KEYS, IN_ETCD, IN_INIT]),
    ],
    ids=["etcd", "mariadb", "both", "both, killed twice", "all control hosts", "all control hosts, killed thrice"],
)
def test_what_was_lost_is_back_and_an_instance_from_before_answers(
    parts: list[str], kills: list[str], drill: Drill, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan, writer, api = drill.plan, drill.writer, drill.writer.api
    with writer.writing():
        until(lambda: len(writer.rows) > 3 and len(writer.objects) > 3, seconds=60)
        at = time.time()
        if "mariadb" in parts:
            lose_volumes(plan, api, drill.connect)
        if "etcd" in parts:
            (make_anew if parts == ANEW else lose_etcd)(plan, drill.connect)
        started, options = time.monotonic(), {"restore_parts": parts, "restore_force": ["overwrite"], **drill.saved}
        for kill in kills:
            killed("restore", at=kill, **options)
        play("restore", **options)
        seconds = time.monotonic() - started
    measured: dict[str, Any] = {}
    if "mariadb" in parts:
        rows = [float(one) for one in writer.query("SELECT at FROM drill.stamps").split()]
        number, age = lost(writer.rows, rows, at=at)
        there = {round(one, 3) for one in rows}
        writer.rows[:] = [one for one in writer.rows if round(one, 3) in there]  # the next loss is not of these
        measured = {"rows_lost": number, "rpo_rows": age}
    if "etcd" in parts:
        since = datetime.strptime(drill.saved["restore_from"], STAMP).replace(tzinfo=UTC).timestamp()
        measured |= {"objects_since_the_set": sum(since < one < at for one in writer.objects)}
        assert etcds(api) == set(plan.edge.hosts)
    found = kept(Loss(parts=tuple(parts), kills=len(kills), rto=round(seconds, 1), **measured), state_dir(plan.site))
    with capfd.disabled():
        print(f"\n{table(found)}", flush=True)
    assert not plan.backups.logs_every or measured.get("rpo_rows", 0.0) <= RPO
    if not kills:
        assert seconds <= (WHOLE if len(parts) > 1 else ETCD if parts == ["etcd"] else MARIADB)
    play("status")
    with pinged(drill.guest, tmp_path / "ping"):  # it answers before, and after
        pass
    drill.saved.update(save(writer, Path(drill.saved["backup_directory"])))  # the next logs follow another set


def recorded(drill: Drill, part: str, started: float, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> float:
    """Print the table with this loss; check cloud and instance; take the next set; return the seconds."""
    loss = Loss(parts=(part,), kills=1, rto=round(time.monotonic() - started, 1))
    with capfd.disabled():
        print(f"\n{table(kept(loss, state_dir(drill.plan.site)))}", flush=True)
    play("status")
    with pinged(drill.guest, tmp_path / "ping"):
        pass
    drill.saved.update(save(drill.writer, Path(drill.saved["backup_directory"])))
    return loss.rto


def switch_ports(drill: Drill) -> set[str]:
    return set(nbctl(drill.plan, drill.connect, "--bare --columns=name list logical_switch_port").split())


def test_networks_of_tenants_that_every_member_of_ovn_lost_are_back(
    drill: Drill, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The northbound database's files are gone from every control host; the run that restores it is killed once."""
    plan = drill.plan
    before = switch_ports(drill)
    assert before
    started = time.monotonic()
    for name in plan.edge.hosts:
        root(
            drill.connect(name),
            f"""systemctl mask --quiet --runtime {NB.unit}; systemctl kill --signal KILL {NB.unit}
            rm {NB.file}; systemctl unmask --quiet --runtime {NB.unit}; systemctl reset-failed {NB.unit} || true""",
        )
    said = play("network", network_force=["new-cluster"], code=2)
    assert "northd is stopped" in said or "it would delete the flows" in said
    source = next(Path(drill.saved["backup_directory"]).rglob(drill.saved["restore_from"]))
    options: dict[str, Any] = {
        "network_restore_from": str(source),
        "network_restore_force": ["new-cluster", "overwrite"],
    }
    killed("network_restore", at="TASK [Save what is there, and restore", **options)
    play("network_restore", **options)
    nbctl(plan, drill.connect, "--wait=hv sync")  # northd and every chassis have it
    assert switch_ports(drill) == before
    assert recorded(drill, "ovn", started, capfd, tmp_path) <= WHOLE


def test_the_set_and_the_password_bring_a_lost_control_node_back(
    drill: Drill, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Of the state directory what the lab's hosts run on stays, and nothing else."""
    home, away = state_dir(drill.plan.site), tmp_path / "lost"
    away.mkdir()
    source = next(Path(drill.saved["backup_directory"]).rglob(drill.saved["restore_from"]))
    options: dict[str, Any] = {"restore_parts": ["state"], "restore_from": str(source)}
    started = time.monotonic()
    for one in set(home.iterdir()) - {home / "lab"}:
        one.rename(away / one.name)
    try:
        killed("restore", at="TASK [Put back the state of the control node", **options)
        play("restore", **options)
        for name in ("secrets.yml", "kubeconfig", "ca.crt", "ovn.json", "clouds.yaml"):
            assert (home / name).read_bytes() == (away / name).read_bytes(), name
    except BaseException:
        shutil.copytree(away, home, dirs_exist_ok=True)
        raise
    assert recorded(drill, "state", started, capfd, tmp_path) <= WHOLE
    play("site", "--tags", "verify")

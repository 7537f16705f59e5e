"""What one control host does with OVN's databases: what is on its disk decides."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import tls
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import packages, units
from ansible_collections.groundup.cloud.plugins.module_utils._host.guard import Guard
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import (
    converge,
    databases,
    disk,
    guard,
    northd,
    stale,
    status,
)
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.converge import Central, Step

from .test_status import CENTRAL

KNOWN = {"nb": "cid-nb", "sb": "cid-sb"}
PEERS = ("10.0.0.11", "10.0.0.13")


class Host:
    """A control host: ovsdb-tool keeps cluster and address in its files, systemd starts what is asked for."""

    def __init__(self, root: Path) -> None:
        self.data = root / "data"
        self.running: set[str] = set()
        self.verbs: list[str] = []
        self.tool: list[Sequence[str]] = []
        self.elsewhere: dict[str, str] = {}
        self.leads = False
        self.refused: set[str] = set()  # databases that northd refuses
        self.rows: dict[str, int] = {}  # by table

    def run(self, argv: Sequence[str], **_: object) -> str:
        if argv[0] == "ovsdb-tool":
            return self._tool(argv)
        self.verbs.append(" ".join(word for word in argv if not word.startswith("--")))
        return ""

    def attempt(self, argv: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        said = self._tool(argv)
        return subprocess.CompletedProcess(argv, 0 if said else 2, said, "")

    def _tool(self, argv: Sequence[str]) -> str:
        (verb,) = (word for word in argv if word.startswith(("db-", "create-", "join-")))
        file = next(Path(word) for word in argv if word.endswith(".db"))
        short = "nb" if "ovnnb" in file.name else "sb"
        if verb.startswith("db-"):
            cluster, address = file.read_text().removeprefix("OVSDB CLUSTER ").split("|")
            return {"db-cid": cluster, "db-sid": "sid", "db-local-address": address}[verb]
        self.tool.append(argv)
        cluster = f"cid-{short}" if verb == "create-cluster" else ""
        file.write_text(f"OVSDB CLUSTER {cluster}|{argv[argv.index(str(file)) + 2]}")
        return ""

    def control(self, verb: str, unit: str) -> None:
        self.verbs.append(f"{verb} {unit}")
        (self.running.discard if verb == "stop" else self.running.add)(unit)
        if unit == databases.NORTHD:  # a new process has seen nothing
            self.refused.clear()

    def ask_northd(self, argv: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        if argv[0] == "ovn-appctl":
            said = "not connected\n" if argv[-1][:2] in self.refused else "connected\n"
            return subprocess.CompletedProcess(argv, int(databases.NORTHD not in self.running), said, "")
        number = self.rows.get(json.loads(argv[-1])[1]["table"], 0)
        return subprocess.CompletedProcess(argv, 0, json.dumps([{"rows": [{}] * number}]), "")

    def tell_northd(self, argv: Sequence[str], **_: object) -> str:
        self.verbs.append(argv[-1])
        self.refused.discard(argv[-1][:2])
        return ""

    def has(self, database: databases.Database, *, cluster: str, address: str = "10.0.0.12") -> None:
        self.data.mkdir(exist_ok=True)
        database.file.write_text(f"OVSDB CLUSTER {cluster}|{database.member(address)}")

    def ask(self, database: databases.Database) -> status.Status | None:
        if database.unit not in self.running:
            return None
        return status.Status(
            cluster=f"cid-{database.short}", state="cluster member",
            role="leader" if self.leads else "follower", leader="self" if self.leads else "abcd",
            election_timer=4000, behind=0, servers={},
        )  # fmt: skip


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    found = Host(tmp_path)
    monkeypatch.setattr(databases, "DATA", found.data)
    for name, place in {
        "CA": "ca",
        "CHASSIS_CA": "sb-ca",
        "MEMBER": "member",
        "OPTIONS": "default",
        "PARAMETERS": "northd",
        "UNITS": "units",
    }.items():
        monkeypatch.setattr(converge, name, tmp_path / place)
    here = replace(guard.GUARD, rules=tmp_path / "ports.nft", unit=tmp_path / guard.GUARD.unit.name)
    monkeypatch.setattr(guard, "GUARD", here)
    monkeypatch.setattr(Guard, "in_force", lambda *_: guard.GUARD.unit.name in found.running)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(units, "properties", lambda unit, *_: {
        "ActiveState": "active" if unit in found.running else "inactive", "UnitFileState": "enabled",
    })  # fmt: skip
    monkeypatch.setattr(units, "control", found.control)
    monkeypatch.setattr(packages, "installed", lambda *_: False)
    monkeypatch.setattr(tls, "check_pair", lambda *_, **__: None)
    for module in (converge, disk, stale):
        monkeypatch.setattr(module, "run", found.run)
    monkeypatch.setattr(disk, "attempt", found.attempt)
    monkeypatch.setattr(northd, "attempt", found.ask_northd)
    monkeypatch.setattr(northd, "run", found.tell_northd)
    monkeypatch.setattr(northd, "SETTLES", 0.0)
    monkeypatch.setattr(northd, "RECONNECTS", 0.0)
    monkeypatch.setattr(status, "ask", found.ask)
    monkeypatch.setattr(status, "elsewhere", lambda *_: found.elsewhere)
    monkeypatch.setattr(status, "listeners", lambda _: frozenset())
    monkeypatch.setattr(converge, "PATIENCE", 0.0)
    monkeypatch.setattr(stale, "PATIENCE", 0.0)
    return found


def central(step: Step, *, create: Sequence[str] = (), clusters: Mapping[str, str] = KNOWN) -> Central:
    return replace(CENTRAL, step=step, create=create, clusters=clusters, peers=PEERS)


def converged(wanted: Central, *, check: bool = False) -> dict[str, Any]:
    return converge.converge(wanted, Changes(check=check))


def test_a_host_without_data_starts_nothing_by_itself(host: Host) -> None:
    result = converged(central("maintain"))
    assert (result["waits"], result["databases"]) == (["nb", "sb"], {"nb": None, "sb": None})
    assert (host.verbs, host.tool) == ([f"start {guard.GUARD.unit.name}"], []), "the ports are closed before all else"


def test_the_first_host_makes_the_clusters_where_it_is_told_to(host: Host) -> None:
    result = converged(central("form", create=("nb", "sb"), clusters={}))
    assert result["databases"] == KNOWN
    assert [call[2] for call in host.tool] == ["create-cluster"] * 2
    assert "--election-timer=4000" in host.tool[0]
    servers = {"ovn-ovsdb-server-nb.service", "ovn-ovsdb-server-sb.service", guard.GUARD.unit.name}
    assert host.running == {*servers, "ovn-central.service", "ovn-northd.service"}


def test_no_cluster_is_made_where_the_site_has_one(host: Host) -> None:
    with pytest.raises(GroundupError, match="no second cluster of OVN_Northbound"):
        converged(central("form", create=("nb", "sb")))
    assert host.tool == []


def test_a_host_without_data_joins_the_known_cluster_through_members_that_are_in_touch_with_it(host: Host) -> None:
    host.elsewhere = {"10.0.0.11": "cid-nb"}
    converged(replace(central("form"), clusters={"nb": "cid-nb", "sb": "cid-nb"}))
    assert host.tool[0][1:3] == ["--cid=cid-nb", "join-cluster"]
    assert host.tool[0][-2:] == ["ssl:10.0.0.12:6643", "ssl:10.0.0.11:6643"]


@pytest.mark.parametrize("answers", [{}, {"10.0.0.11": "another"}])
def test_nothing_is_joined_without_a_member_of_the_known_cluster(host: Host, answers: dict[str, str]) -> None:
    host.elsewhere = answers
    with pytest.raises(GroundupError, match="cannot join OVN_Northbound"):
        converged(central("form"))
    assert host.tool == []


@pytest.mark.parametrize("step", ["maintain", "form", "restart"])
def test_a_member_with_data_is_never_made_anew(host: Host, step: Step) -> None:
    for one in databases.DATABASES:
        host.has(one, cluster=f"cid-{one.short}")
    before = [one.file.read_text() for one in databases.DATABASES]
    assert converged(central(step, create=("nb", "sb")))["waits"] == []
    assert host.tool == []
    assert [one.file.read_text() for one in databases.DATABASES] == before


def test_data_of_another_kind_are_refused_before_anything_is_written(host: Host, tmp_path: Path) -> None:
    host.data.mkdir()
    databases.NB.file.write_text("OVSDB JSON 1446 ...")
    with pytest.raises(GroundupError, match="no member of a cluster"):
        converged(central("maintain"))
    assert not (tmp_path / "default").exists()


def test_a_member_of_another_cluster_or_with_another_address_is_refused(host: Host) -> None:
    host.has(databases.NB, cluster="another")
    with pytest.raises(GroundupError, match=r"of the cluster another, the site's is cid-nb"):
        converged(central("maintain"))
    host.has(databases.NB, cluster="cid-nb", address="10.0.0.99")
    with pytest.raises(GroundupError, match=r"know this one as ssl:10\.0\.0\.99:6643"):
        converged(central("maintain"))


def test_a_running_member_waits_with_its_restart_until_it_is_its_turn(host: Host, tmp_path: Path) -> None:
    for one in databases.DATABASES:
        host.has(one, cluster=f"cid-{one.short}")
    converged(central("maintain"))
    host.verbs.clear()
    (tmp_path / "default").write_text("OVN_CTL_OPTS=other\n")
    assert converged(central("maintain"))["due"] == ["nb", "sb"]
    assert host.verbs == ["restart ovn-northd.service"]
    assert converged(central("restart"))["due"] == []
    assert host.verbs[1:] == ["restart ovn-ovsdb-server-nb.service", "restart ovn-ovsdb-server-sb.service"]
    host.verbs.clear()
    again = converged(central("maintain"))
    assert (again["changed"], again["due"], host.verbs) == (False, [], [])


def test_one_more_control_host_restarts_no_member_but_northd(host: Host) -> None:
    for one in databases.DATABASES:
        host.has(one, cluster=f"cid-{one.short}")
    converged(central("maintain"))
    host.verbs.clear()
    more = replace(central("maintain"), northbound=("ssl:10.0.0.11:6641", "ssl:10.0.0.12:6641"))
    assert converged(more)["due"] == []
    assert host.verbs == ["restart ovn-northd.service"]


def test_the_leader_sets_listeners_with_their_roles(host: Host) -> None:
    host.leads = True
    converged(central("form", create=("nb", "sb"), clusters={}))
    said = [line for line in host.verbs if "set-connection" in line]
    assert said == [
        "ovn-nbctl set-connection pssl:6641", "ovn-sbctl set-connection role=ovn-controller pssl:6642 role= pssl:16642",
    ]  # fmt: skip


def test_a_dry_run_predicts_and_touches_nothing(host: Host, tmp_path: Path) -> None:
    predicted = converged(central("form", create=("nb", "sb"), clusters={}), check=True)["changes"]
    assert "create the cluster of OVN_Northbound" in predicted
    assert (host.verbs, host.tool, list(tmp_path.iterdir())) == ([], [], [])


def test_a_member_is_only_removed_with_a_leader_that_agrees(host: Host) -> None:
    with pytest.raises(GroundupError, match="cannot speak for OVN_Northbound: its server does not answer"):
        stale.remove(Changes(check=False), lost={"nb": ["10.0.0.13"]}, clusters=KNOWN)
    host.running.add("ovn-ovsdb-server-nb.service")
    with pytest.raises(GroundupError, match="cannot speak for OVN_Northbound"):
        stale.remove(Changes(check=False), lost={"nb": ["10.0.0.13"]}, clusters={"nb": "another"})
    assert stale.remove(Changes(check=False), lost={"nb": ["10.0.0.13"]}, clusters=KNOWN)["changed"] is False
    assert host.verbs == []

"""When a Galera member may form a cluster, and what it makes of the data it holds (H2)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .conftest import script

start = script("mariadb/files/start.py")
data, election, shared = (sys.modules[name] for name in ("galera_data", "galera_election", "shared_object"))
UUID = "9fcd4f8d-e562-11f1-8455-1f2dc3171a73"
OTHER = "11111111-e562-11f1-8455-1f2dc3171a73"


def held(seqno: int = -1, uuid: str = UUID) -> Any:
    return election.Position(uuid, seqno)


def pod(ordinal: int) -> str:
    return f"mariadb-server-{ordinal}"


def test_a_new_cluster_is_formed_by_the_first_member_alone() -> None:
    positions = {pod(n): election.Position() for n in (2, 0, 1)}
    assert election.elect(positions, members=3) == pod(0)


def test_nobody_forms_a_cluster_while_a_member_has_not_been_heard() -> None:
    assert election.elect({pod(0): held(5), pod(1): held(9)}, members=3) is None


def test_the_member_with_the_newest_transaction_forms_the_cluster() -> None:
    assert election.elect({pod(0): held(5), pod(1): held(9), pod(2): held(7)}, members=3) == pod(1)


def test_among_equals_the_lowest_ordinal_forms_the_cluster() -> None:
    assert election.elect({pod(n): held(9) for n in (10, 2, 3)}, members=3) == pod(2)


def test_a_member_that_lost_its_volume_never_forms_the_cluster_over_one_that_has_data() -> None:
    positions = {pod(0): election.Position(), pod(1): held(0), pod(2): held(-1)}
    assert election.elect(positions, members=3) == pod(1)
    assert election.elect({pod(0): election.Position(), pod(1): held(-1)}, members=2) == pod(1)


def test_data_of_two_clusters_is_refused_with_both_names() -> None:
    with pytest.raises(election.RefusedError, match=f"{OTHER}, {UUID}"):
        election.elect({pod(0): held(5), pod(1): held(5, OTHER)}, members=2)


def test_an_operators_word_settles_it_as_soon_as_that_member_waits() -> None:
    positions = {pod(0): held(5), pod(1): held(5, OTHER)}
    assert election.elect(positions, members=3, form_from=pod(1)) == pod(1)
    assert election.elect(positions, members=3, form_from=pod(2)) is None


@given(st.lists(st.integers(-1, 5), min_size=3, max_size=3))
def test_whoever_is_chosen_nobody_holds_more(seqnos: list[int]) -> None:
    positions = {pod(n): held(seqno) for n, seqno in enumerate(seqnos)}
    chosen = election.elect(positions, members=3)
    assert positions[chosen].seqno == max(seqnos)


def test_a_report_seen_once_proves_nothing_and_one_that_stands_still_counts_as_away() -> None:
    beats = election.Beats()
    report = {"uuid": UUID, "seqno": 5, "beat": 1}
    assert beats.waiting({pod(1): report}, now=0.0) == {}
    assert beats.waiting({pod(1): {**report, "beat": 2}}, now=2.0) == {pod(1): held(5)}
    assert beats.waiting({pod(1): {**report, "beat": 2}}, now=16.0) == {pod(1): held(5)}
    assert beats.waiting({pod(1): {**report, "beat": 2}}, now=18.0) == {}


class ConfigMaps:
    """As much of the API as members share one ConfigMap through."""

    def __init__(self) -> None:
        self.version, self.content = 1, dict[str, Any]()

    def call(self, method: str, _path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        if method == "PATCH":
            assert body is not None
            if body["metadata"]["resourceVersion"] != str(self.version):
                raise shared.urllib.error.HTTPError("", shared.CONFLICT, "conflict", None, None)
            self.version += 1
            self.content |= body["data"]
        data = {key: value for key, value in self.content.items() if value is not None}
        return {"metadata": {"resourceVersion": str(self.version)}, "data": data}


def test_two_members_that_decide_on_the_same_state_cannot_both_claim() -> None:
    """A claim holds only against the version it was decided on: the second one finds the ConfigMap changed."""
    api = ConfigMaps()
    first, second = (shared.SharedObject(api, collection="/c", name="n") for _ in range(2))
    seen_by_first, seen_by_second = first.read(), second.read()
    assert first.change(seen_by_first, {"data": {"formed-by": pod(0)}}) is True
    assert second.change(seen_by_second, {"data": {"formed-by": pod(1)}}) is False
    assert api.content == {"formed-by": pod(0)}


def test_grastate_is_read_as_galera_writes_it() -> None:
    text = f"# GALERA saved state\nversion: 2.1\nuuid:    {UUID}\nseqno:   42\nsafe_to_bootstrap: 1\n"
    assert data.parse_grastate(text) == held(42)
    assert data.parse_grastate("") == election.Position()


def test_passwords_with_quotes_do_not_leave_their_string() -> None:
    env = {f"MYSQL_DB{who}_{what}": "it's\\" for who in ("ADMIN", "SST", "AUDIT") for what in ("USERNAME", "PASSWORD")}
    sql = data.accounts_sql(env)
    assert "'it\\'s\\\\'" in sql
    assert "'it's" not in sql


def test_a_database_half_made_is_not_taken_for_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "DATA", tmp_path)
    assert not data.has_data()
    (tmp_path / "mysql").mkdir()
    assert data.has_data()
    (tmp_path / ".installing").touch()
    assert not data.has_data()


def test_members_join_the_ready_ones_by_address_and_keep_their_options_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "MEMBER_FILE", tmp_path / "member.cnf")
    env = {"POD_NAME": pod(1), "POD_IP": "10.0.0.2", "WSREP_PORT": "4567"}
    env |= {"MYSQL_DBSST_USERNAME": "sst", "MYSQL_DBSST_PASSWORD": "word"}
    start.write_member(env, join=("10.0.0.1", "10.0.0.3"))
    assert "wsrep_cluster_address=gcomm://10.0.0.1:4567,10.0.0.3:4567\n" in (tmp_path / "member.cnf").read_text()
    assert (tmp_path / "member.cnf").stat().st_mode & 0o077 == 0
    start.write_member(env, join=())
    assert "wsrep_cluster_address=gcomm://\n" in (tmp_path / "member.cnf").read_text()


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with a database, and a server that says it recovered transaction 42 of UUID."""
    bin_, home = tmp_path / "bin", tmp_path / "data"
    bin_.mkdir()
    (home / "mysql").mkdir(parents=True)
    server = bin_ / "mariadbd"
    server.write_text(
        "#!/bin/sh\nfor word; do case $word in --log-error=*) log=${word#*=};; esac; done\n"
        f'echo "[Note] WSREP: Recovered position: {UUID}:42" > "$log"\n'
    )
    server.chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_), prepend=os.pathsep)
    monkeypatch.setattr(data, "DATA", home)
    monkeypatch.setattr(data, "RECOVERY_LOG", tmp_path / "recover.log")
    return home


def grastate(seqno: int, *, uuid: str = UUID, safe: int = 0) -> str:
    return f"# GALERA saved state\nversion: 2.1\nuuid:    {uuid}\nseqno:   {seqno}\nsafe_to_bootstrap: {safe}\n"


def test_a_member_that_ended_in_order_knows_its_position_and_one_that_crashed_asks_its_log(directory: Path) -> None:
    (directory / "grastate.dat").write_text(grastate(7))
    assert data.position() == held(7)
    (directory / "grastate.dat").write_text(grastate(-1))
    assert data.position() == held(42)


def test_a_copy_of_the_data_that_was_cut_short_counts_as_nothing(directory: Path) -> None:
    (directory / "grastate.dat").write_text(grastate(-1, uuid=election.NO_CLUSTER))
    (directory / "sst_in_progress").touch()
    assert data.position() == held(42), "a transfer that replaces nothing leaves the data whole"
    (directory / ".sst").mkdir()
    assert data.position() == election.Position()


@pytest.mark.usefixtures("directory")
def test_a_recovery_that_fails_elects_nobody_in_silence(tmp_path: Path) -> None:
    """What this member holds is unknown: to say "nothing" could make an older member the cluster's source."""
    (tmp_path / "bin" / "mariadbd").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(subprocess.CalledProcessError):
        data.position()


class BecameServer(Exception):  # noqa: N818 - it is no error
    """The process is the server now."""


def become(decision: Any, position: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the server's arguments."""
    argv: list[list[str]] = []

    def execv(_program: str, arguments: list[str]) -> None:
        argv.append(arguments)
        raise BecameServer

    monkeypatch.setattr(start.os, "execv", execv)
    monkeypatch.setattr(start, "MEMBER_FILE", tmp_path / "member.cnf")
    env = {"POD_NAME": pod(1), "POD_IP": "10.0.0.2", "WSREP_PORT": "4567"}
    env |= {"MYSQL_DBSST_USERNAME": "sst", "MYSQL_DBSST_PASSWORD": "word"}
    with pytest.raises(BecameServer):
        start.become_server(env, decision, position)
    return argv[0][1:]


def test_a_cluster_formed_after_a_crash_is_the_one_it_was(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it gets a new id, everybody takes a whole copy, and a second outage finds data of two clusters."""
    (directory / "grastate.dat").write_text(grastate(-1))
    for left in ("gvwstate.dat", "sst_in_progress"):
        (directory / left).touch()
    arguments = become(start.Form(data.position()), data.position(), tmp_path, monkeypatch)
    assert arguments == ["--wsrep-new-cluster"]
    assert (directory / "grastate.dat").read_text() == grastate(42, safe=1)
    assert sorted(path.name for path in directory.iterdir()) == ["grastate.dat", "mysql"]


def test_a_joining_member_tells_galera_what_it_recovered_and_leaves_its_file_alone(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / "grastate.dat").write_text(grastate(-1))
    arguments = become(start.Join(("10.0.0.1",)), data.position(), tmp_path, monkeypatch)
    assert arguments == [f"--wsrep-start-position={UUID}:42"]
    assert (directory / "grastate.dat").read_text() == grastate(-1)
    assert "gcomm://10.0.0.1:4567\n" in (tmp_path / "member.cnf").read_text()


def decided(monkeypatch: pytest.MonkeyPatch, found: dict[str, Any], *, members: str = "3") -> Any:
    """Return what member 1, which holds transaction 5, decides on ``found`` when nobody else runs."""

    class Found:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def read(self) -> dict[str, Any]:
            return {"metadata": {"resourceVersion": "1"}, **found}

        def change(self, _read: dict[str, Any], _patch: dict[str, Any]) -> bool:
            return True

    monkeypatch.setattr(start, "Api", Found)
    monkeypatch.setattr(start, "SharedObject", Found)
    monkeypatch.setattr(start, "running_others", lambda **_: ())
    env = {"MEMBERS": members, "POD_NAME": pod(1), "POD_IP": "10.0.0.2", "WSREP_PORT": "4567"}
    env |= {"NAMESPACE": "n", "STATE_CONFIGMAP": "s", "DISCOVERY": "d"}
    return start.decide(env, start.Position(UUID, 5))


def test_whom_an_operator_chose_forms_a_new_cluster_since_others_may_hold_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the old id a member that is ahead would keep transactions the new cluster does not have."""
    chosen = {"metadata": {"resourceVersion": "1", "annotations": {election.FORM_FROM: pod(1)}}}
    assert decided(monkeypatch, chosen) == start.Form(start.Position())


def test_a_single_member_goes_on_with_its_own_history(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decided(monkeypatch, {}, members="1") == start.Form(start.Position(UUID, 5))


def test_a_ready_address_at_which_nobody_listens_is_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name service goes on listing a member for half a minute after it died."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        resolve = socket.getaddrinfo

        def listed(name: str, *rest: Any, **more: Any) -> Any:
            names = [f"127.0.0.{number}" for number in (1, 2, 3)] if name == "d" else [name]
            return [found for each in names for found in resolve(each, *rest, **more)]

        monkeypatch.setattr(start.socket, "getaddrinfo", listed)
        assert start.running_others(domain="d", own="127.0.0.3", port=port) == ("127.0.0.1",)
        assert start.running_others(domain="d", own="127.0.0.1", port=port) == ()

"""What a Galera member decides at its start, and what it makes of the data it holds (H2)."""

from __future__ import annotations

import os
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from .conftest import script

start = script("mariadb/files/start.py")
data, states, shared = (sys.modules[name] for name in ("galera_data", "galera_state", "shared_object"))
UUID = "9fcd4f8d-e562-11f1-8455-1f2dc3171a73"
OTHER = "11111111-e562-11f1-8455-1f2dc3171a73"
NOTHING = states.Position()


def held(seqno: int = -1, uuid: str = UUID) -> Any:
    return states.Position(uuid, seqno)


def pod(ordinal: int) -> str:
    return f"mariadb-server-{ordinal}"


class ConfigMaps:
    """As much of the API as members share one ConfigMap through."""

    def __init__(self, *, annotations: dict[str, str] | None = None, **content: str) -> None:
        self.version, self.content = 1, dict[str, Any](content)
        self.annotations = dict[str, Any](annotations or {})
        self.down = False
        self._one = threading.Lock()

    def call(self, *request: Any) -> dict[str, Any]:
        with self._one:
            return self._call(*request)

    def _call(self, method: str, _path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        if self.down:
            raise OSError("no route to host")
        if method == "PATCH":
            assert body is not None
            if body["metadata"]["resourceVersion"] != str(self.version):
                raise shared.urllib.error.HTTPError("", shared.CONFLICT, "conflict", None, None)
            self.version += 1
            self.content |= body["data"]
            self.annotations |= body["metadata"].get("annotations", {})
        data, notes = ({k: v for k, v in each.items() if v is not None} for each in (self.content, self.annotations))
        return {"metadata": {"resourceVersion": str(self.version), "annotations": notes}, "data": data}

    @property
    def says(self) -> dict[str, str]:
        """What it holds but for the members' reports."""
        return {k: v for k, v in self.content.items() if v is not None and not k.startswith("member.")}


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
    assert data.parse_grastate("") == states.Position()


def test_passwords_with_quotes_do_not_leave_their_string() -> None:
    env = {f"MYSQL_DB{who}_{what}": "it's\\" for who in ("ADMIN", "SST", "AUDIT") for what in ("USERNAME", "PASSWORD")}
    sql = data.accounts_sql(env)
    assert "'it\\'s\\\\'" in sql
    assert "'it's" not in sql


def test_a_database_half_made_is_not_taken_for_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "DATA", tmp_path)
    assert not data.has_data()
    (tmp_path / "mysql").mkdir()
    for left in (".installing", ".sst"):
        assert data.has_data()
        (tmp_path / left).touch()
        assert not data.has_data()
        (tmp_path / left).unlink()


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
    (directory / "grastate.dat").write_text(grastate(-1, uuid=states.NO_CLUSTER))
    (directory / "sst_in_progress").touch()
    assert data.position() == held(42), "a transfer that replaces nothing leaves the data whole"
    (directory / ".sst").mkdir()
    assert data.position() == states.Position()


@pytest.mark.usefixtures("directory")
def test_a_recovery_that_fails_elects_nobody_in_silence(tmp_path: Path) -> None:
    """What this member holds is unknown: to say "nothing" could make an older member the cluster's source."""
    (tmp_path / "bin" / "mariadbd").write_text(f"#!/bin/sh\necho no such page >{tmp_path}/recover.log; exit 1\n")
    with pytest.raises(SystemExit, match="no such page\nwhat this member holds cannot be read"):
        data.position()


class BecameServer(Exception):  # noqa: N818 - it is no error
    """The process is the server now."""


def become(
    decision: Any, position: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, api: ConfigMaps | None = None
) -> list[str]:
    """Return the server's arguments."""
    argv: list[list[str]] = []

    def execv(_program: str, arguments: list[str]) -> None:
        argv.append(arguments)
        raise BecameServer

    monkeypatch.setattr(start.os, "execv", execv)
    monkeypatch.setattr(start, "MEMBER_FILE", tmp_path / "member.cnf")
    monkeypatch.setattr(start, "PAUSE", 0.0)
    env = {"POD_NAME": pod(1), "POD_IP": "10.0.0.2", "WSREP_PORT": "4567"}
    env |= {"MYSQL_DBSST_USERNAME": "sst", "MYSQL_DBSST_PASSWORD": "word"}
    with pytest.raises(BecameServer):
        start.become_server(env, decision, position, shared.SharedObject(api, collection="/c", name="n"))
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


@pytest.mark.usefixtures("directory")
def test_a_database_counts_as_formed_once_it_is_made_and_before_its_server_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut short before, the next start makes it again; cut short after, the next start finds data of that id."""
    api = ConfigMaps(outage="00c0ffee")

    def install() -> None:
        assert "cluster" not in api.says

    monkeypatch.setattr(data, "install", install)
    begun = data.new_history()
    become(start.Form(begun), NOTHING, tmp_path, monkeypatch, api=api)
    assert api.says == {"cluster": begun.uuid, "formed-by": pod(1)}
    assert data.position() == begun


def test_files_of_a_database_that_is_not_whole_are_not_built_upon(directory: Path) -> None:
    (directory / "mysql").rmdir()
    (directory / "ibdata1").touch()
    with pytest.raises(SystemExit, match="holds InnoDB's files without the system tables"):
        data.install()
    assert [path.name for path in directory.iterdir()] == ["ibdata1"]


class Ends(Exception):  # noqa: N818 - it is no error
    """The test has seen enough."""


def decided(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    api: ConfigMaps,
    *,
    holds: Any,
    members: int = 3,
    rounds: int = 3,
    others: tuple[str, ...] = (),
) -> Any:
    """Return what member 1, or 0 of one, decides beside ``others``; what it says last when it decides nothing."""
    pauses = iter(range(rounds))

    def sleep(_seconds: float) -> None:
        if next(pauses, None) is None:
            raise Ends

    monkeypatch.setattr(start.time, "sleep", sleep)
    monkeypatch.setattr(start, "running_others", lambda **_: others)
    monkeypatch.setattr(start, "WAITING", tmp_path / "waiting")
    env = {"MEMBERS": str(members), "POD_NAME": pod(1 if members > 1 else 0), "POD_IP": "10.0.0.2", "DISCOVERY": "d"}
    env |= {"WSREP_PORT": "4567", "NAMESPACE": "n", "STATE_CONFIGMAP": "s", "CLAIM": "mysql-data", "NODE": "control-1"}
    try:
        return start.decide(env, holds, shared.SharedObject(api, collection="/c", name="n"))
    except Ends:
        return (tmp_path / "waiting").read_text().rstrip()


def outage(*, ends: float = states.CONSENT) -> dict[str, str]:
    until = start.time.strftime("%Y-%m-%dT%H:%M:%SZ", start.time.gmtime(start.time.time() + ends))
    return {"outage": "00c0ffee", "outage-until": until, "cluster": UUID}


def test_whom_an_operator_chose_forms_a_new_cluster_since_others_may_hold_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Under the old id a member that is ahead would keep transactions the new cluster does not have."""
    api = ConfigMaps(annotations={states.FORM_FROM: f"{pod(1)}:00c0ffee"}, **outage())
    formed = decided(monkeypatch, tmp_path, api, holds=held(5))
    assert formed.history.seqno == 0
    assert formed.history.uuid not in (UUID, states.NO_CLUSTER)
    assert api.says == {"cluster": formed.history.uuid, "formed-by": pod(1)}
    assert api.annotations == {states.FORM_FROM: None, states.NEW_DATABASE: None}


@pytest.mark.parametrize("ends", [0.0, states.CONSENT])
def test_a_consent_that_is_over_forms_nothing_and_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], ends: float
) -> None:
    word = "00c0ffee" if ends == 0.0 else "00decade"
    api = ConfigMaps(annotations={states.FORM_FROM: f"{pod(1)}:{word}"}, **outage(ends=ends))
    assert "waiting for word of mariadb-server-0, mariadb-server-2" in decided(
        monkeypatch, tmp_path, api, holds=held(5)
    )
    assert f"ignored, since it does not name the outage {api.content['outage']}: " in capsys.readouterr().out
    assert api.content["outage"] != word


def test_a_single_member_goes_on_with_its_own_history_and_restores_a_lost_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    api = ConfigMaps()
    assert decided(monkeypatch, tmp_path, api, holds=held(5), members=1) == start.Form(held(5))
    assert api.says == {"cluster": UUID, "formed-by": pod(0)}


def test_a_member_that_joins_restores_a_lost_state_and_waits_for_no_api(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else an outage in which all volumes are lost would end in a new database without a word."""
    joined, api = start.Join(("10.0.0.1",)), ConfigMaps()
    for holds, says in ((NOTHING, {}), (held(5), {"cluster": UUID}), (held(5, OTHER), {"cluster": UUID})):
        assert decided(monkeypatch, tmp_path, api, holds=holds, others=joined.addresses) == joined
        assert api.says == says
    api.down = True
    assert decided(monkeypatch, tmp_path, api, holds=held(5), others=joined.addresses) == joined


def test_a_single_member_with_data_starts_without_the_api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    api = ConfigMaps()
    api.down = True
    assert decided(monkeypatch, tmp_path, api, holds=held(5), members=1) == start.Form(held(5))
    assert "no route to host" in decided(monkeypatch, tmp_path, api, holds=NOTHING, members=1)


def test_a_single_member_that_lost_its_volume_names_volume_node_and_consent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api = ConfigMaps(cluster=UUID)
    said = decided(monkeypatch, tmp_path, api, holds=NOTHING, members=1)
    assert said == (
        f"refused: no member holds a database, and cluster {UUID} was formed here; "
        "here: volume claim mysql-data on node control-1, which holds nothing"
    )
    word = api.content["outage"]
    assert f"annotate --overwrite configmap s {states.NEW_DATABASE}={word}\n" in capsys.readouterr().out
    api.annotations[states.NEW_DATABASE] = word
    formed = decided(monkeypatch, tmp_path, api, holds=NOTHING, members=1)
    assert formed.history.seqno == 0
    assert api.says["cluster"] == UUID, "the consent lasts until the new database is made"


def together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, api: ConfigMaps, positions: list[Any]) -> list[Any]:
    """Return what members that start at the same time decide; whoever forms the cluster records it and then runs."""
    running: list[str] = []
    monkeypatch.setattr(start, "PAUSE", 0.001)
    monkeypatch.setattr(start, "running_others", lambda **_: tuple(running))
    monkeypatch.setattr(start, "WAITING", tmp_path / "waiting")
    state = shared.SharedObject(api, collection="/c", name="n")

    def member(number: int) -> Any:
        env = {"MEMBERS": str(len(positions)), "POD_NAME": pod(number), "POD_IP": f"10.0.0.{number}", "DISCOVERY": "d"}
        env |= {"WSREP_PORT": "4567", "NAMESPACE": "n", "STATE_CONFIGMAP": "s", "CLAIM": "mysql-data", "NODE": "c"}
        decision = start.decide(env, positions[number], state)
        if isinstance(decision, start.Form):
            start._record(pod(number), decision.history, state)
            running.append(env["POD_IP"])
        return decision

    with ThreadPoolExecutor(len(positions)) as pool:
        return list(pool.map(member, range(len(positions)), timeout=60))


def test_members_that_start_at_once_agree_on_the_newest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    api = ConfigMaps(cluster=UUID)
    decisions = together(monkeypatch, tmp_path, api, [held(5), NOTHING, held(9)])
    assert decisions == [start.Join(("10.0.0.2",)), start.Join(("10.0.0.2",)), start.Form(held(9))]
    assert api.says == {"cluster": UUID, "formed-by": pod(2)}


def test_members_that_start_at_once_make_one_new_database_and_by_consent_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    api = ConfigMaps()
    formed, *others = together(monkeypatch, tmp_path, api, [NOTHING] * 3)
    assert others == [start.Join(("10.0.0.0",))] * 2
    assert api.says == {"cluster": formed.history.uuid, "formed-by": pod(0)}
    api.content |= outage() | {"cluster": formed.history.uuid}
    api.annotations[states.NEW_DATABASE] = "00c0ffee"
    again, *_ = together(monkeypatch, tmp_path, api, [NOTHING] * 3)
    assert api.says == {"cluster": again.history.uuid, "formed-by": pod(0)}
    assert again.history.uuid != formed.history.uuid


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

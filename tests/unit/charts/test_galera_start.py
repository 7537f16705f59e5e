"""What a Galera member decides at its start, and what it makes of the data it holds."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from .galera import NOTHING, UUID, ConfigMaps, data, held, pod, shared, start, states


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
    assert "'it's" not in data.narrowing_sql(env)


def test_the_auditor_may_ask_how_the_server_does_and_read_nothing() -> None:
    env = {
        f"MYSQL_DB{who}_{what}": who.lower() for who in ("ADMIN", "SST", "AUDIT") for what in ("USERNAME", "PASSWORD")
    }
    assert [line for line in data.accounts_sql(env).splitlines() if "'audit'" in line] == [
        "CREATE USER 'audit'@'%' IDENTIFIED BY 'audit';"
    ]


def test_the_auditor_may_call_procedures_that_are_made_with_system_tables_of_the_servers_series_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {f"MYSQL_DB{who}_{what}": who.lower() for who in ("ADMIN", "AUDIT") for what in ("USERNAME", "PASSWORD")}
    monkeypatch.setattr(data, "DATA", tmp_path)
    monkeypatch.setattr(data, "is_of_another_series", lambda: True)
    *_, revoked, grant = (now := data.narrowing_sql(env).splitlines())[:3] + now[-1:]
    assert now.count("CREATE DATABASE IF NOT EXISTS groundup;") == 1, "no data yet"
    assert sum(line.startswith("CREATE OR REPLACE DEFINER = 'admin'@'localhost' PROC") for line in now) == 6
    (tmp_path / "mysql").mkdir()
    assert data.narrowing_sql(env).splitlines()[2:] == [revoked, grant]
    assert grant == "GRANT EXECUTE ON groundup.* TO 'audit'@'%';"
    monkeypatch.setattr(data, "CLOUD_STATE", tmp_path / "none")
    assert data.narrowing_sql(env).splitlines()[2:] == [revoked], "a site without monitoring"


def test_passwords_of_members_are_in_no_binary_log() -> None:
    env = {f"MYSQL_DB{who}_{what}": who for who in ("ADMIN", "SST", "AUDIT") for what in ("USERNAME", "PASSWORD")}
    for sql in (data.accounts_sql(env), data.narrowing_sql(env)):
        assert sql.splitlines()[0] == "SET SESSION sql_log_bin = 0;"


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
        "#!/bin/sh\n[ $1 != --version ] || { echo 'mariadbd  Ver 11.8.9-MariaDB-0+deb13u1 from Debian'; exit; }\n"
        "for word; do case $word in --log-error=*) log=${word#*=};; esac; done\n"
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
    monkeypatch.setattr(start, "UPGRADING", tmp_path / "upgrading")
    monkeypatch.setattr(start, "subprocess", SimpleNamespace(Popen=argv.append))
    env = {"POD_NAME": pod(1), "POD_IP": "10.0.0.2", "WSREP_PORT": "4567"}
    env |= {f"MYSQL_DB{who}_{what}": "word" for who in ("ADMIN", "SST", "AUDIT") for what in ("USERNAME", "PASSWORD")}
    with pytest.raises(BecameServer):
        start.become_server(env, decision, position, shared.SharedObject(api, collection="/c", name="n"))
    accounts = tmp_path / "accounts.sql"
    server = argv[-1]
    assert server[1] == f"--init-file={accounts}"
    assert [one[1:] for one in argv[:-1]] == [["upgrade"]] * (tmp_path / "upgrading").exists()
    assert "REVOKE ALL PRIVILEGES, GRANT OPTION FROM 'word'@'%'" in accounts.read_text()
    assert accounts.stat().st_mode & 0o077 == 0
    return server[2:]


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


@pytest.mark.parametrize(
    ("file", "version", "begins"),
    [
        ("mysql_upgrade_info", "10.11.19-MariaDB", True),
        ("mariadb_upgrade_info", "11.4.5-MariaDB", True),
        ("mariadb_upgrade_info", "11.8.3-MariaDB", False),
        ("other", "", True),
    ],
)
def test_system_tables_of_another_series_or_of_none_are_upgraded_beside_the_server_and_the_probe_waits(
    file: str, version: str, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, begins: bool
) -> None:
    (directory / "grastate.dat").write_text(grastate(42))
    (directory / file).write_text(version)
    (tmp_path / "upgrading").touch()  # /tmp outlives a container: one was killed just when it had ended
    become(start.Join(("10.0.0.1",)), data.position(), tmp_path, monkeypatch)
    assert (tmp_path / "upgrading").exists() == begins


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

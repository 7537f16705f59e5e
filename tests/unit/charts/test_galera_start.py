"""When a Galera member may form a cluster (H2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .conftest import script

start = script("mariadb/files/start.py")
UUID = "9fcd4f8d-e562-11f1-8455-1f2dc3171a73"
OTHER = "11111111-e562-11f1-8455-1f2dc3171a73"


def held(seqno: int = -1, uuid: str = UUID) -> Any:
    return start.Position(uuid, seqno)


def pod(ordinal: int) -> str:
    return f"mariadb-server-{ordinal}"


def test_a_new_cluster_is_formed_by_the_first_member_alone() -> None:
    positions = {pod(n): start.Position() for n in (2, 0, 1)}
    assert start.elect(positions, members=3) == pod(0)


def test_nobody_forms_a_cluster_while_a_member_has_not_been_heard() -> None:
    assert start.elect({pod(0): held(5), pod(1): held(9)}, members=3) is None


def test_the_member_with_the_newest_transaction_forms_the_cluster() -> None:
    assert start.elect({pod(0): held(5), pod(1): held(9), pod(2): held(7)}, members=3) == pod(1)


def test_among_equals_the_lowest_ordinal_forms_the_cluster() -> None:
    assert start.elect({pod(n): held(9) for n in (10, 2, 3)}, members=3) == pod(2)


def test_a_member_that_lost_its_volume_never_forms_the_cluster_over_one_that_has_data() -> None:
    positions = {pod(0): start.Position(), pod(1): held(0), pod(2): held(-1)}
    assert start.elect(positions, members=3) == pod(1)
    assert start.elect({pod(0): start.Position(), pod(1): held(-1)}, members=2) == pod(1)


def test_data_of_two_clusters_is_refused_with_both_names() -> None:
    with pytest.raises(start.RefusedError, match=f"{OTHER}, {UUID}"):
        start.elect({pod(0): held(5), pod(1): held(5, OTHER)}, members=2)


def test_an_operators_word_settles_it_as_soon_as_that_member_waits() -> None:
    positions = {pod(0): held(5), pod(1): held(5, OTHER)}
    assert start.elect(positions, members=3, form_from=pod(1)) == pod(1)
    assert start.elect(positions, members=3, form_from=pod(2)) is None


@given(st.lists(st.integers(-1, 5), min_size=3, max_size=3))
def test_whoever_is_chosen_nobody_holds_more(seqnos: list[int]) -> None:
    positions = {pod(n): held(seqno) for n, seqno in enumerate(seqnos)}
    chosen = start.elect(positions, members=3)
    assert positions[chosen].seqno == max(seqnos)


def test_a_report_seen_once_proves_nothing_and_one_that_stands_still_counts_as_away() -> None:
    beats = start.Beats()
    report = {"uuid": UUID, "seqno": 5, "beat": 1}
    assert beats.waiting({pod(1): report}, now=0.0) == {}
    assert beats.waiting({pod(1): {**report, "beat": 2}}, now=2.0) == {pod(1): held(5)}
    assert beats.waiting({pod(1): {**report, "beat": 2}}, now=16.0) == {pod(1): held(5)}
    assert beats.waiting({pod(1): {**report, "beat": 2}}, now=18.0) == {}


def test_two_members_that_decide_on_the_same_state_cannot_both_claim() -> None:
    """A claim holds only against the version it was decided on: the second one finds the ConfigMap changed."""
    version = {"now": 1}

    class Api(start.State):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            self.url, self.name = "", ""

        def _call(self, method: str, _url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
            if method == "PATCH":
                assert body is not None
                if body["metadata"]["resourceVersion"] != str(version["now"]):
                    raise start.urllib.error.HTTPError("", start.CONFLICT, "conflict", None, None)
                version["now"] += 1
            return {"metadata": {"resourceVersion": str(version["now"])}}

    first, second = Api(), Api()
    seen_by_first, seen_by_second = first.read(), second.read()
    assert first.change(seen_by_first, {"formed-by": pod(0)}) is True
    assert second.change(seen_by_second, {"formed-by": pod(1)}) is False


def test_grastate_is_read_as_galera_writes_it() -> None:
    text = f"# GALERA saved state\nversion: 2.1\nuuid:    {UUID}\nseqno:   42\nsafe_to_bootstrap: 1\n"
    assert start.parse_grastate(text) == held(42)
    assert start.parse_grastate("") == start.Position()


def test_passwords_with_quotes_do_not_leave_their_string() -> None:
    env = {f"MYSQL_DB{who}_{what}": "it's\\" for who in ("ADMIN", "SST", "AUDIT") for what in ("USERNAME", "PASSWORD")}
    sql = start.accounts_sql(env)
    assert "'it\\'s\\\\'" in sql
    assert "'it's" not in sql


def test_a_database_half_made_is_not_taken_for_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "DATA", tmp_path)
    assert not start.has_data()
    (tmp_path / "mysql").mkdir()
    assert start.has_data()
    (tmp_path / ".installing").touch()
    assert not start.has_data()


def test_members_join_the_ready_ones_by_address_and_keep_their_options_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "MEMBER_FILE", tmp_path / "member.cnf")
    env = {"POD_NAME": pod(1), "POD_IP": "10.0.0.2", "WSREP_PORT": "4567"}
    env |= {"MYSQL_DBSST_USERNAME": "sst", "MYSQL_DBSST_PASSWORD": "word"}
    start.write_member(env, join=["10.0.0.1", "10.0.0.3"])
    assert "wsrep_cluster_address=gcomm://10.0.0.1:4567,10.0.0.3:4567\n" in (tmp_path / "member.cnf").read_text()
    assert (tmp_path / "member.cnf").stat().st_mode & 0o077 == 0
    start.write_member(env, join=None)
    assert "wsrep_cluster_address=gcomm://\n" in (tmp_path / "member.cnf").read_text()

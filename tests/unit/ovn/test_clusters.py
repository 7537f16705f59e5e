"""Which clusters of OVN's databases are the site's, and where one may be made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action.ovn import ActionModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.ovn import record
from ansible_collections.groundup.cloud.plugins.plugin_utils.ovn.clusters import decide, lost

HOSTS = ("control-1", "control-2")


def said(nb: str | None = None, sb: str | None = None) -> dict[str, Any]:
    """Return what a host said: of each database its cluster, None without data, "" while it joins."""
    databases = {"nb": nb, "sb": sb}
    return {"databases": databases, "waits": [name for name, cluster in databases.items() if cluster is None]}


def test_clusters_are_made_where_every_control_host_said_it_has_none() -> None:
    assert decide({"control-1": said(), "control-2": said()}, hosts=HOSTS, known={}) == ["nb", "sb"]


def test_a_killed_first_run_makes_only_what_it_did_not() -> None:
    assert decide({"control-1": said(nb="a"), "control-2": said()}, hosts=HOSTS, known={}) == ["sb"]


@pytest.mark.parametrize("known", [{"nb": "a", "sb": "b"}, {}])
def test_nothing_is_made_where_a_host_has_data(known: dict[str, str]) -> None:
    assert decide({"control-1": said(), "control-2": said(nb="a", sb="b")}, hosts=HOSTS, known=known) == []


def test_nothing_is_made_where_the_controller_knows_clusters_and_every_host_lost_them() -> None:
    assert decide({"control-1": said(), "control-2": said()}, hosts=HOSTS, known={"nb": "a", "sb": "b"}) == []


@pytest.mark.parametrize("answer", [None, {"failed": True}])
def test_a_silent_control_host_may_have_the_cluster(answer: dict[str, Any] | None) -> None:
    answers = {"control-1": said()} | ({"control-2": answer} if answer else {})
    with pytest.raises(GroundupError, match="control-2 did not say"):
        decide(answers, hosts=HOSTS, known={})


def test_a_host_that_began_to_join_says_there_was_a_cluster() -> None:
    with pytest.raises(GroundupError, match="control-2 began to join one"):
        decide({"control-1": said(), "control-2": said(nb="", sb="")}, hosts=HOSTS, known={})


def test_two_clusters_are_refused_with_their_hosts() -> None:
    with pytest.raises(GroundupError, match="a on control-1 and b on control-2"):
        decide({"control-1": said(nb="a"), "control-2": said(nb="b")}, hosts=HOSTS, known={"nb": "a"})


def test_only_what_every_control_host_has_lost_is_given_up() -> None:
    known = {"nb": "a", "sb": "b"}
    every = {"control-1": said(sb="b"), "control-2": said()}
    assert lost(every, hosts=HOSTS, known=known) == ["nb"]
    assert lost(every, hosts=HOSTS, known={"sb": "b"}) == [], "the record has no other"
    for other in (None, {"failed": True}, said(nb=""), said(nb="a")):
        answers = {"control-1": said()} | ({"control-2": other} if other else {})
        assert "nb" not in lost(answers, hosts=HOSTS, known=known)


def test_a_consent_has_the_record_forget_a_lost_cluster_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    record.keep("lab", {"nb": "a", "sb": "b"})
    given = {
        "step": "decide", "site": "lab", "hosts": HOSTS, "force": ["new-cluster"],
        "answers": {"control-1": said(sb="b"), "control-2": said()},
    }  # fmt: skip
    for check, left in ((True, {"nb": "a", "sb": "b"}), (False, {"sb": "b"})):
        action = object.__new__(ActionModule)
        action.changes = Changes(check=check)
        done = action.work(given)
        assert (done["create"], done["changed"]) == (["nb"], True)
        assert record.known("lab") == left
    action.changes = Changes(check=False)
    assert action.work(given) == {"changed": False, "changes": [], "diff": [], "create": ["nb"]}, "killed, run again"


@pytest.mark.parametrize(("check", "told"), [(True, {"sb": "b"}), (False, {"nb": "a", "sb": "b"})])
def test_a_dry_run_makes_what_the_record_still_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, check: bool, told: dict[str, str]
) -> None:
    """A run that changes something refuses it: there, `decide` has had the record forget it."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    record.keep("lab", {"nb": "a", "sb": "b"})
    asked: list[Any] = []

    def on_host(_: ActionModule, *, step: str, given: dict[str, Any]) -> dict[str, Any]:
        asked.append((step, given["clusters"]))
        return {}

    monkeypatch.setattr(ActionModule, "on_host", on_host)
    action = object.__new__(ActionModule)
    action.changes = Changes(check=check)
    action.work({"step": "form", "site": "lab", "create": ["nb"]})
    assert asked == [("form", told)]


def test_the_record_takes_new_clusters_and_keeps_those_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    assert record.known("lab") == {}
    record.keep("lab", {"nb": "a", "sb": None})
    record.keep("lab", {"nb": "z", "sb": "b"})
    assert record.known("lab") == {"nb": "a", "sb": "b"}


def test_a_damaged_record_is_no_site_without_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    record.keep("lab", {"nb": "a"})
    record.record_path("lab").write_text("{")
    with pytest.raises(GroundupError, match="record of OVN's clusters of site lab cannot be read"):
        record.known("lab")

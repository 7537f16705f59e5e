"""What a layer's dry run said is a row a change; whom it could not ask is a row that says so."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible import context
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift import dry_runs
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift.rows import DriftRow

Event = dict[str, Any]
WELL = {"event": "playbook_on_stats", "event_data": {"changed": {}}}
HIDDEN = [{"event": "playbook_on_stats", "event_data": {"changed": {"w": 1}}}]
# As a dry run of the layers host and openstack said it.
SYSCTL = {
    "changed": True, "changes": ["write /etc/sysctl.d/60-groundup.conf", "set net.ipv4.ip_forward"],
    "diff": [{"after_header": "/etc/sysctl.d/60-groundup.conf", "before": "", "after": "x"}],
}  # fmt: skip
RENDERED = {
    "changed": True, "msg": "ready: placement", "changes": {"placement": {"Secret": {"change": 1}}},
    "diff": {"prepared": "~ placement: Secret/placement-etc\n    data.placement.conf: 'sha256:3ad2' -> 'sha256:1ea8'\n"
                         "+ placement: Job/placement-db-sync-1 (hook)\n"},
}  # fmt: skip


def event(kind: str, result: dict[str, Any], host: str = "worker-1", **more: Any) -> Event:
    return {"event": f"runner_on_{kind}", "event_data": {"host": host, "task": "Apply", "res": result, **more}}


def told(*events: Event, code: int | None = 0, layer: str = "host") -> list[tuple[str, str, bool]]:
    return [(row.host, row.what, row.unknown) for row in dry_runs.told(layer, events, code=code)]


def test_a_layer_that_would_change_nothing_has_no_row() -> None:
    assert told(event("ok", {"changed": False, "changes": []}), event("skipped", {"msg": "in check mode"}), WELL) == []


def test_each_change_is_a_row_with_the_layer_that_mends_it() -> None:
    rows = dry_runs.told("host", [event("ok", SYSCTL)], code=0)
    assert [row.what for row in rows] == ["write /etc/sysctl.d/60-groundup.conf", "set net.ipv4.ip_forward"]
    assert {(row.layer, row.host, row.remedy) for row in rows} == {
        ("host", "worker-1", "run the playbook groundup.cloud.host")
    }


def test_of_releases_each_object_is_a_row_and_its_fields_are_none() -> None:
    found = told(event("ok", RENDERED, "localhost"), layer="openstack")
    assert [what for _, what, _ in found] == [
        "placement: Secret/placement-etc", "placement: Job/placement-db-sync-1 (hook)",
    ]  # fmt: skip


def test_a_release_whose_objects_are_alike_and_its_record_not_is_named() -> None:
    releases = [{"name": "placement", "changed": True}, {"name": "heat", "changed": True}, {"name": "nova"}]
    found = told(event("ok", {**RENDERED, "releases": releases}, "localhost"), layer="openstack")
    assert [what for _, what, _ in found][2:] == ["heat: Helm's record is of another render"]
    alike = {**RENDERED, "diff": {}, "releases": releases[1:]}
    assert [what for _, what, _ in told(event("ok", alike), layer="openstack")] == [found[2][1]]


@pytest.mark.parametrize(
    ("result", "what"),
    [
        ({"objects": ["NetworkPolicy openstack/default-deny"]}, "NetworkPolicy openstack/default-deny"),
        ({"files": [], "diff": [{"before_header": "plan.json", "after_header": "plan.json"}]}, "plan.json"),
        ({"diff": [{"before_header": "old.json", "after_header": ""}]}, "old.json"),
        ({"msg": "would be made: guest"}, "would be made: guest"),
        ({}, "Apply"),
    ],
)
def test_a_result_without_changes_is_told_by_what_it_has(result: dict[str, Any], what: str) -> None:
    assert told(event("ok", {"changed": True, **result})) == [("worker-1", what, False)]


def test_a_hidden_change_is_counted_by_the_recap() -> None:
    recap = {"event": "playbook_on_stats", "event_data": {"changed": {"worker-1": 1, "worker-2": 1}}}
    assert told(event("ok", SYSCTL), recap)[2:] == [("worker-2", "1 changes whose result is hidden", False)]


def test_a_host_that_fails_or_is_silent_or_set_aside_is_unknown() -> None:
    aside = {"host": "worker-3", "layer": "host", "reason": "it failed", "remedy": "mend it"}
    found = told(
        event("unreachable", {"msg": "no route"}),
        event("failed", {"msg": "no disk"}, "worker-2"),
        event("failed", {"msg": "expected"}, ignore_errors=True),
        event("ok", {"changed": False, "aside": [aside]}, "worker-3"),
        event("unreachable", {"msg": "set aside"}, "worker-3", resolved_action="groundup.cloud.set_aside"),
        code=4,
    )
    assert found == [("worker-1", "no route", True), ("worker-2", "no disk", True), ("worker-3", "it failed", True)]


def test_a_change_that_would_be_refused_differs_and_what_follows_it_is_unknown() -> None:
    found = told(event("failed", {**RENDERED, "msg": "refused: api-down"}, "localhost"), code=2, layer="openstack")
    assert [unknown for _, _, unknown in found] == [False, False, True]
    assert found[2][1] == "refused: api-down"


def test_what_cannot_be_rendered_is_unknown_and_no_difference() -> None:
    found = told(event("ok", {"changed": True, "not_known": True, "msg": "the cache lacks helm"}), layer="openstack")
    assert found == [("worker-1", "the cache lacks helm", True)]


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (None, "its dry run was killed"),
        (1, "its dry run ended with 1: no such file"),
        (2, "its dry run ended with 2: no such file"),
        (250, "its dry run ended with 250: no such file"),
    ],
)
def test_a_run_that_says_nothing_of_its_end_is_unknown(code: int | None, what: str) -> None:
    assert told({"event": "error", "stdout": "\x1b[0;31mno such file\x1b[0m\r\n"}, code=code) == [
        ("localhost", what, True)
    ]


def test_each_layer_runs_for_itself_without_silent_hosts_and_the_first_tells_what_many_see(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: dict[str, dict[str, Any]] = {}
    absent: list[Any] = []

    def run(**given: Any) -> SimpleNamespace:
        asked[given["playbook"]] = given
        absent.append(yaml.safe_load(Path(given["inventory"][-1]).read_text()))
        said = {"changed": True, "msg": "would be made: secret keystone/admin"}
        return SimpleNamespace(rc=0, events=iter([event("ok", said, "localhost"), WELL]))

    monkeypatch.setitem(sys.modules, "ansible_runner", SimpleNamespace(run=run))
    monkeypatch.setattr(context, "CLIARGS", {"inventory": ("/a/site.yml", "/a/jump.yml")})
    rows = dry_runs.rows(str(tmp_path / "site.yml"), ["seed", "host"], absent=["worker-1"])
    assert [(row.layer, row.what) for row in rows] == [("seed", "would be made: secret keystone/admin")]
    assert sorted(asked) == ["groundup.cloud.host", "groundup.cloud.seed"]
    assert absent == [{"absent": {"hosts": {"worker-1": {}}}}] * 2
    for given in asked.values():
        assert given["inventory"][:-1] == ["/a/site.yml", "/a/jump.yml"], "the run's own"
        assert given["cmdline"] == "--tags check", "changes nothing"
        assert given["envvars"]["ANSIBLE_HOST_KEY_CHECKING"] == "True"
        assert given["envvars"]["GROUNDUP_TIMELINE"] == os.devnull, "the file is of the run that asks"
        assert given["envvars"]["GROUNDUP_WITHIN_RUN"], "and it is no run of its own in the history"
        assert not Path(given["private_data_dir"]).exists(), "nothing is left"


def test_what_several_layers_tell_is_the_first_ones_but_for_what_nobody_saw() -> None:
    seen = [DriftRow(layer=layer, host="w", what="write /etc/x") for layer in ("host", "kubernetes")]
    hidden = [row for layer in ("host", "kubernetes") for row in dry_runs.told(layer, HIDDEN, code=0)]
    died = [row for layer in ("plan", "host") for row in dry_runs.told(layer, [], code=1)]
    assert dry_runs.merged([*seen, *hidden, *died]) == [seen[0], *hidden, *died]


def test_of_a_loop_the_first_item_that_failed_is_told() -> None:
    items = [{"item": "a"}, {"item": "b", "unreachable": True, "msg": "ssh: no route"}]
    found = told(event("unreachable", {"unreachable": True, "msg": "All items completed", "results": items}), code=4)
    assert found == [("worker-1", "ssh: no route", True)]


def test_a_row_is_one_printable_line() -> None:
    assert DriftRow(layer="host", host="h", what="a\nb\x1b[31m").what == "a b\\x1b[31m"

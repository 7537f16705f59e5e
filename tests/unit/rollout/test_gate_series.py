"""Servers of another series: who may follow whom, who is asked, and that nothing unknown passes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.groundup.cloud.plugins.action import rollout
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.context import VerifierContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.manifests import split
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.preview import ChangePreview
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import LiveRelease
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Executed
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate import series
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutOptions
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.rows import StatusRow

MARIADB, RABBITMQ = series.MARIADB, series.RABBITMQ


def workload(name: str, tag: str, kind: str = "StatefulSet", *, ready: bool = True, number: int = 0) -> dict[str, Any]:
    spec = {
        "containers": [{"name": "exporter", "image": "e:1"}, {"name": name, "image": f"r:5000/groundup/{name}{tag}"}]
    }
    if kind == "Pod":
        status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
        return {"metadata": {"name": f"{name}-{number}"}, "spec": spec, "status": status}
    return {"kind": kind, "metadata": {"name": name}, "spec": {"replicas": 3, "template": {"spec": spec}}}


def judge(
    name: str,
    before: str | tuple[str, ...],
    after: str,
    *,
    says: Mapping[str, str] | str = "",
    flags: tuple[str, ...] = (),
    stopped: bool = False,
    away: int | None = None,
    wanted: int = 0,
    unsaved: str = "",
) -> tuple[dict[str, str], list[str]]:
    """Return the reasons by code against tag ``after``, and who was asked; members of tags ``before`` say ``says``."""
    tags = before if isinstance(before, tuple) else (before,) * 3
    pods = [workload(name, tag, "Pod", ready=at != away, number=at) for at, tag in enumerate(tags)]
    asked: list[str] = []

    def execute(_: str, pod: str, __: object, *, container: str, timeout: float) -> Executed:
        assert (container, timeout > 1) == (name, True)
        asked.append(pod)
        if not says:
            return Executed(code=1, stdout="", stderr="10.1.2.3: no server")
        told = dict.fromkeys((one["metadata"]["name"] for one in pods), says) if isinstance(says, str) else says
        if name == MARIADB:
            return Executed(code=0, stdout=f"{told[pod]}\n", stderr="")
        enabled = {"name": "c", "state": "enabled", "stability": "stable"}
        found = {
            "versions": {f"rabbit@{one}.rabbitmq.openstack": {"rabbitmq_version": said} for one, said in told.items()},
            "feature_flags": [
                enabled,
                {"name": "khepri_db", "state": "disabled", "stability": "experimental"},
                *(enabled | {"name": one, "state": "disabled"} for one in flags),
            ],
        }
        return Executed(code=0, stdout=json.dumps(found), stderr="")

    def get(path: str, **_: object) -> dict[str, Any]:
        if path.endswith("/pods"):
            return {"items": [] if stopped else pods}
        return {"items": [{"metadata": {"name": name}, "spec": {"replicas": wanted or len(pods)}}]}

    api: Any = SimpleNamespace(get=get, execute=execute)
    release = ReleasePlan(
        name=name, chart=name, version="1", namespace="openstack", needs=(), verify=name, values={}
    )  # fmt: skip
    live = LiveRelease(
        name=name, namespace="openstack", revision=1, status="deployed", chart=name, chart_version="1",
        deployed_before=True, digest="", objects=(workload(name, tags[0]),), hooks=(),
    )  # fmt: skip
    rendered = split(name, "openstack", [workload(name, after)])
    found = ChangePreview(rendered={name: rendered}, live={name: live}, diffs={}, broken={})
    plan: Any = SimpleNamespace(openstack=SimpleNamespace(releases=(release,)))
    reasons = series.other_series(
        plan, found, unsaved=lambda _: (unsaved, "save it") if unsaved else ("", ""),
        context=lambda one: VerifierContext(api=api, plan=plan, release=one, values={}, authority=Path()),
    )  # fmt: skip
    return {one.code: f"{one.what} | {one.why} | {one.remedy}" for one in reasons}, asked


@pytest.mark.parametrize(
    ("server", "allowed"),
    [
        (MARIADB, {("10.6", "10.11"), ("10.11", "11.4"), ("11.4", "11.8"), ("11.8", "12.3")}),
        (RABBITMQ, {("4.0", "4.1"), ("4.0", "4.2"), ("4.1", "4.2"), ("4.2", "4.3")}),
    ],
)
def test_members_of_two_series_are_one_cluster_only_where_upstream_supports_it(
    server: str, allowed: set[tuple[str, str]]
) -> None:
    known = {one for pair in allowed for one in pair} | {"3.13", "11.5"}
    found = {pair for pair in itertools.permutations(known, 2) if not series.refusal(server, *pair, alone=False)}
    assert found == allowed


def test_a_database_without_other_members_may_leave_series_out_and_never_goes_back() -> None:
    assert series.refusal(MARIADB, "10.11", "11.8", alone=True) is None
    refused = series.refusal(MARIADB, "10.11", "11.8", alone=False)
    assert refused
    assert "10.11 → 11.4 → 11.8; or stop all members first" in refused[2]
    for alone in (True, False):
        older = series.refusal(MARIADB, "11.8", "10.11", alone=alone)
        assert older
        assert "11.8 runs, and 10.11 is older" in older[0]
    unknown = series.refusal(MARIADB, "11.8", "12.1", alone=True)
    assert unknown
    assert "no such step is known" in unknown[1]


def test_another_major_of_the_queue_is_a_new_cluster() -> None:
    refused = series.refusal(RABBITMQ, "3.13", "4.0", alone=True)
    assert refused
    assert "a new cluster takes its place: docs/charts.md" in refused[2]
    steps = series.refusal(RABBITMQ, "4.1", "4.3", alone=True)
    assert steps
    assert steps[2] == "go in steps: 4.1 → 4.2 → 4.3"


@pytest.mark.parametrize(
    ("before", "after"),
    [(":11.8", ":11.8"), (":11.8@sha256:ab", ":11.8@sha256:cd"), (":11.8", ":11.8.9-2"), (":own", ":own")],
)
def test_nobody_is_asked_while_the_series_stays(before: str, after: str) -> None:
    """A database that is down gets its mended image."""
    assert judge(MARIADB, before, after, away=0) == ({}, [])


def test_every_member_is_asked_and_what_it_says_counts() -> None:
    members = [f"mariadb-{number}" for number in range(3)]
    passed = judge(MARIADB, ":11.4", ":11.8", says="11.4.5-MariaDB-deb12-log")
    assert passed == ({}, members)
    says = dict.fromkeys(members, "11.4.5-MariaDB") | {"mariadb-2": "10.11.19-MariaDB"}
    found, _ = judge(MARIADB, ":11.4", ":11.8", says=says)
    assert "10.11 runs, and 11.8 may not follow it" in found["server-step"], "a rollout was killed before"
    half = judge(MARIADB, (":11.8", ":11.4"), ":11.8@sha256:ab", says={"mariadb-0": "11.8.1", "mariadb-1": "11.4.1"})
    assert half == ({}, members[:2]), "corrected on the way"
    assert judge(MARIADB, (":11.8", ":11.4"), ":11.8", away=1) == ({}, []), "on the way, and this run changes nothing"
    assert judge(MARIADB, (":10.11",), ":11.8", says="10.11.19-MariaDB")[0] == {}, "alone"


def test_what_is_not_known_is_refused() -> None:
    found, asked = judge(MARIADB, ":11.4", ":newest", says="11.4.5")
    assert "does not say of which series" in found["server-unknown"]
    found, asked = judge(MARIADB, ":11.4", ":11.8", says="11.4.5", away=1)
    assert "mariadb-1 is not Ready" in found["server-unknown"]
    assert asked == ["mariadb-0", "mariadb-2"]
    found, asked = judge(MARIADB, (":10.11",), ":11.8", says="10.11.1", wanted=3)
    assert "2 have no pod" in found["server-unknown"], "no member of one"
    found, _ = judge(MARIADB, ":11.4", ":11.8", says="")
    assert "mariadb-0: 10.1.2.3: no server" in found["server-unknown"]
    found, _ = judge(RABBITMQ, ":4.0", ":4.1", says="")
    assert "rabbitmq-2 does not answer: 10.1.2.3: no server" in found["server-unknown"]
    found, _ = judge(RABBITMQ, ":4.0", ":4.1", says={"rabbitmq-0": "4.0.5", "rabbitmq-2": "4.0.5"})
    assert "rabbitmq-1 is not in the cluster" in found["server-unknown"]


def test_members_that_are_stopped_are_what_their_release_was() -> None:
    assert judge(MARIADB, ":10.11", ":11.8", stopped=True) == ({}, [])
    found, _ = judge(MARIADB, ":own", ":11.8", stopped=True)
    assert "'own'" in found["server-unknown"]
    found, _ = judge(RABBITMQ, ":4.0", ":4.1", stopped=True)
    assert "all stopped" in found["server-unknown"], "its feature flags cannot be asked"


def test_a_queue_needs_its_feature_flags_and_a_database_a_set_of_the_last_hour() -> None:
    found, asked = judge(RABBITMQ, ":4.0", ":4.1", says="4.0.5", flags=("b", "a"))
    assert "feature flags are not enabled: a, b" in found["feature-flags"]
    assert asked == ["rabbitmq-0"], "it knows the others"
    assert judge(RABBITMQ, ":4.0", ":4.1", says="4.0.5", unsaved="there is none")[0] == {}
    found, _ = judge(MARIADB, ":11.4", ":11.8", says="11.4.5", unsaved="there is none")
    assert "there is none" in found["no-backup"]
    assert "nobody has looked" in RolloutOptions().unsaved(cast("Any", None))[0], "what is not known is no set"


@pytest.mark.parametrize(("age", "said"), [(None, "there is none"), (3700, "would be lost"), (300, "")])
def test_the_newest_set_is_looked_for_where_the_site_keeps_them(
    age: int | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [StatusRow(name="mariadb", state="ok", what="", facts={} if age is None else {"age": age})]
    monkeypatch.setattr(rollout, "set_rows", lambda *_, **__: rows)
    what, remedy = rollout._unsaved(cast("Any", None))
    assert said in what
    assert bool(said) == bool(what) == bool(remedy)

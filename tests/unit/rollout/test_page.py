"""The page for reviewers of a rollout answers their questions for each release that changes, without a secret."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.preview import preview
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import FieldChange, ObjectChange, ReleaseDiff
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Ref
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.page import page
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import (
    ReleaseReport,
    RolloutResult,
    State,
    against,
)

from .test_action import act

IMAGE = "spec.template.spec.containers[api].image"
SHRINKS = against("placement", "volume-shrink")(what="from 20Gi to 10Gi", why="it cannot", remedy="keep 20Gi")


def change(ref: str, kind: Any = "change", *, hook: bool = False, **fields: tuple[Any, Any]) -> ObjectChange:
    names = {"image": IMAGE, "replicas": "spec.replicas", "option": "data.placement.conf"}
    made = tuple(FieldChange(path=names[one], before=before, after=after) for one, (before, after) in fields.items())
    where, _, name = ref.partition("/")
    return ObjectChange(ref=Ref(where, "openstack", name), kind=kind, fields=made, hook=hook)


def predicted(*diffs: ReleaseDiff, reasons: tuple[Any, ...] = ()) -> RolloutResult:
    def report(name: str, state: State) -> ReleaseReport:
        return ReleaseReport(name=name, state=state, changed=state == "waiting", seconds=0.0)

    kept = report("glance", "unchanged")
    named = (*diffs, ReleaseDiff(release="glance", changes=()))
    reports = (*(report(diff.release, "waiting") for diff in diffs), kept)
    return RolloutResult(releases=reports, diffs=named, reasons=reasons, cards=())


def cells(text: str, release: str) -> list[str]:
    (line,) = [one for one in text.splitlines() if one.startswith(f"| {release} ")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_one_option_restarts_its_pods_and_runs_its_migration_and_nothing_else() -> None:
    diff = ReleaseDiff(
        release="placement", chart=("2026.1.0", "2026.1.0"),
        changes=(
            change("Secret/placement-etc", option=("sha256:1", "sha256:2")),
            change("Deployment/placement-api", image=("r/openstack:1", "r/openstack:2")),
            change("Deployment/other", replicas=(1, 2)),
            change("Job/placement-db-sync-2", "create"), change("Job/placement-db-sync-1", "remove"),
            change("Job/placement-identity-2", "create"),
        ),
    )  # fmt: skip
    text = page("cloud", predicted(diff), lambda line: line.replace("sha256:1", "[hidden]"))
    assert text.startswith("# Rollout of cloud: 1 of 2 releases change\n")
    assert cells(text, "placement") == [
        "placement", "2026.1.0", "r/openstack:1 → r/openstack:2", "Secret/placement-etc (change)",
        "Job/placement-db-sync-2", "Deployment/placement-api",
    ]  # fmt: skip
    assert "Nothing stands against it." in text
    assert "Deployment 2 change, Job 2 create/1 remove, Secret 1 change" in text
    assert "data.placement.conf: '[hidden]' -> 'sha256:2'" in text
    assert "glance" not in text


def test_a_chart_of_another_version_is_named_with_the_hooks_that_helm_runs_and_what_stands_against_it() -> None:
    """OpenStack-Helm's migrations are hooks: Helm runs them at every upgrade, changed or not."""
    hooks = (Ref("Job", "openstack", "placement-db-sync"), Ref("Job", "openstack", "placement-ks-user"))
    diff = ReleaseDiff(release="placement", chart=("2026.1.0", "2026.1.1"), hooks=hooks, changes=())
    text = page("cloud", predicted(diff, reasons=(SHRINKS,)), str)
    assert cells(text, "placement")[1:] == ["2026.1.0 → 2026.1.1", "stay", "stay", "Job/placement-db-sync", "none"]
    assert "volume-shrink" in text
    assert "no object differs, its record does" in text
    new = ReleaseDiff(release="heat", chart=("", "1"), changes=(change("StatefulSet/heat", "create"),))
    text = page("cloud", predicted(new), str)
    assert cells(text, "heat")[1:] == ["new → 1", "stay", "stay", "none", "StatefulSet/heat"]


def test_a_preview_knows_the_chart_and_the_hooks_that_would_run() -> None:
    hook = """
apiVersion: batch/v1
kind: Job
metadata: {name: %s, annotations: {helm.sh/hook: %s}}
---
"""
    text = hook % ("heat-db-sync", "post-install") + hook % ("heat-later", "post-upgrade")
    release = ReleasePlan(
        name="heat", chart="heat", version="7", namespace="openstack", needs=(), verify="heat", values={}
    )
    helm = SimpleNamespace(template=lambda *_, **__: text)
    found = preview([release], version="1.36.3", api=None, helm=cast("Any", helm), resolve=dict)
    assert found.diffs["heat"].chart == ("", "7")
    assert [str(ref) for ref in found.diffs["heat"].hooks] == ["Job/heat-db-sync"]


def test_a_check_writes_the_page_also_where_the_gate_refuses(tmp_path: Path) -> None:
    result = predicted(ReleaseDiff(release="placement", changes=()), reasons=(SHRINKS,))
    place = tmp_path / "page.md"
    rollout = SimpleNamespace(check=lambda: result, apply=print, verify=print)
    opened = SimpleNamespace(
        claim=lambda **_: (), certify=lambda _: None, rollout=rollout, store=None, redactor=SimpleNamespace(text=str),
        plan=SimpleNamespace(site="cloud", edge=SimpleNamespace(endpoints=())),
    )  # fmt: skip
    assert act("check", opened, place=str(place))["failed"]
    assert "volume-shrink" in place.read_text()

"""The rollout against a real API server, with real helm: D3, D4, U3, U8."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.diff import diff_text
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply import progress
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import GateRefusedError, RolloutResult
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import Redactor

from .conftest import SECRET, Site, Store
from .puppet import Object, fails, runs


def states(result: RolloutResult) -> dict[str, str]:
    return {report.name: report.state for report in result.releases}


def get(site: Site, path: str) -> dict[str, Any]:
    return site.api.get(path.replace("NS", site.namespace))


CONFIG = "/api/v1/namespaces/NS/configmaps/probe-etc"
DEPLOYMENT = "/apis/apps/v1/namespaces/NS/deployments/probe-api"


def test_a_release_comes_up_and_a_second_run_changes_nothing(site: Site) -> None:
    first = site.rollout(site.release("probe")).apply()
    assert states(first) == {"probe": "ready"}
    assert first.changed
    generation = get(site, DEPLOYMENT)["metadata"]["generation"]
    second = site.rollout(site.release("probe")).apply()
    assert states(second) == {"probe": "unchanged"}
    assert not second.changed
    assert get(site, DEPLOYMENT)["metadata"]["generation"] == generation


def test_the_check_predicts_and_changes_nothing(site: Site) -> None:
    fresh = site.rollout(site.release("probe")).check()
    assert fresh.changed
    assert fresh.diffs[0].counts["Deployment"] == {"create": 1}
    assert fresh.diffs[0].counts["Job"] == {"create": 1}  # a hook
    assert site.api.find(DEPLOYMENT.replace("NS", site.namespace)) is None
    site.rollout(site.release("probe")).apply()
    assert not site.rollout(site.release("probe")).check().changed


def test_a_change_is_shown_by_field_and_then_made(site: Site) -> None:
    site.rollout(site.release("probe")).apply()
    rollout = site.rollout(site.release("probe", greeting="good day", password="other-word"))
    predicted = rollout.check()
    text = diff_text(predicted.diffs, Redactor(Store().items()).text)
    assert "~ probe: ConfigMap/probe-etc\n    data.greeting: 'hello' -> 'good day'" in text
    assert "spec.template.metadata.annotations.greeting" in text
    assert "Secret/probe-secret" in text
    assert "other-word" not in text
    assert "resources" not in text  # 1000m is stored as 1: that is no change
    assert states(rollout.apply()) == {"probe": "ready"}
    assert get(site, CONFIG)["data"] == {"greeting": "good day"}


def test_what_somebody_changed_by_hand_is_seen_and_put_back(site: Site) -> None:
    site.rollout(site.release("probe")).apply()
    site.puppet.patch(CONFIG.replace("NS", site.namespace), {"data": {"greeting": "by hand"}})
    result = site.rollout(site.release("probe")).apply()
    assert result.changed
    assert get(site, CONFIG)["data"] == {"greeting": "hello"}


def test_pods_that_wait_for_a_hook_job_do_not_deadlock_with_helm(site: Site) -> None:
    """`helm --wait` would wait for the pods before it starts the job they wait for."""
    jobs = f"/apis/batch/v1/namespaces/{site.namespace}/jobs"

    def after_the_job(pod: dict[str, Any]) -> dict[str, Any] | None:
        done = any((job.get("status") or {}).get("succeeded") for job in site.api.get(jobs).get("items") or ())
        return runs(pod) if done else None

    site.puppet.rules["api"] = after_the_job
    assert states(site.rollout(site.release("probe")).apply()) == {"probe": "ready"}


def test_releases_start_when_their_needs_verify_and_independent_ones_survive_a_failure(site: Site) -> None:
    site.puppet.rules["sync"] = lambda pod: (fails() if "bad" in pod["metadata"]["name"] else runs)(pod)
    site.puppet.logs["sync"] = "Traceback (most recent call last):\nRuntimeError: no\n"
    result = site.rollout(
        site.release("base"),
        site.release("bad", "base"),
        site.release("after-bad", "bad"),
        site.release("good", "base"),
        site.release("after-good", "good"),
    ).apply()
    assert states(result) == {
        "base": "ready", "bad": "failed", "after-bad": "not started", "good": "ready", "after-good": "ready",
    }  # fmt: skip
    assert result.failed
    assert result.cards[0].affected == ("after-bad",)
    started = [line.split()[0] for line in site.lines if " applying " in line]
    assert started.index("base") < started.index("good") < started.index("after-good")


def test_a_changed_claim_template_is_refused_before_anything_is_changed(site: Site) -> None:
    site.rollout(site.release("probe", stateful=True)).apply()
    rollout = site.rollout(site.release("probe", stateful=True, storage="2Gi", greeting="never seen"))
    with pytest.raises(GateRefusedError, match="immutable"):
        rollout.apply()
    assert get(site, CONFIG)["data"] == {"greeting": "hello"}


def test_a_shrinking_volume_is_refused_by_its_name(site: Site) -> None:
    site.rollout(site.release("probe", stateful=True, storage="2Gi")).apply()
    with pytest.raises(GateRefusedError, match="volume-shrink"):
        site.rollout(site.release("probe", stateful=True, storage="1Gi")).apply()


def test_an_image_called_latest_is_refused_unless_it_is_accepted(site: Site) -> None:
    image = "registry.test:5000/probe:latest"
    with pytest.raises(GateRefusedError, match="image-latest"):
        site.rollout(site.release("probe", image=image)).apply()
    accepted = site.rollout(site.release("probe", image=image), force=("image-latest:probe",)).apply()
    assert states(accepted) == {"probe": "ready"}


def test_objects_of_somebody_else_are_not_taken_over(site: Site) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe-etc"}, "data": {"mine": "yes"}}
    site.api.request("POST", f"/api/v1/namespaces/{site.namespace}/configmaps", body=body)
    with pytest.raises(GateRefusedError, match="belongs to nobody helm knows"):
        site.rollout(site.release("probe")).apply()
    assert get(site, CONFIG)["data"] == {"mine": "yes"}


def test_a_node_port_that_another_namespace_holds_is_refused_before_anything_is_made(site: Site) -> None:
    """As after another `openstack.namespace`: all is new there, so nothing that exists is compared."""
    elsewhere = f"{site.namespace}-before"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": elsewhere}}
    site.api.request("POST", "/api/v1/namespaces", body=space)
    ports = [{"port": 80, "nodePort": 30511}]
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "probe"},
        "spec": {"type": "NodePort", "ports": ports},
    }
    services = f"/api/v1/namespaces/{elsewhere}/services"
    site.api.request("POST", services, body=body)
    release = site.release("probe", node_port=30511)
    with pytest.raises(GateRefusedError, match=f"node port 30511, which Service/probe of namespace {elsewhere} has"):
        site.rollout(release).apply()
    assert site.api.find(CONFIG.replace("NS", site.namespace)) is None
    site.api.request("DELETE", f"{services}/probe")
    assert states(site.rollout(release).apply()) == {"probe": "ready"}
    assert states(site.rollout(release).apply()) == {"probe": "unchanged"}


def test_a_chart_that_does_not_render_stops_everything_with_a_card(site: Site) -> None:
    result = site.rollout(site.release("fine"), site.release("broken", fail="endpoints.identity is missing")).apply()
    assert states(result) == {"fine": "not started", "broken": "failed"}
    assert (result.cards[0].layer, result.cards[0].rule) == ("chart", "chart-render")
    assert "endpoints.identity is missing" in result.cards[0].what
    assert site.api.find(f"/api/v1/namespaces/{site.namespace}/configmaps/fine-etc") is None


def test_an_object_that_is_no_longer_rendered_is_announced_and_removed(site: Site) -> None:
    site.rollout(site.release("probe", stateful=True)).apply()
    with pytest.raises(GateRefusedError, match="removes-data"):
        site.rollout(site.release("probe")).apply()


def test_the_screen_goes_on_while_nothing_happens_and_shows_no_secret(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SILENCE", 0.1)
    repeated: list[str] = []

    def comes_up_when_the_screen_said_so_thrice(pod: Object) -> Object | None:
        repeated[:] = [line for line in site.lines if line.startswith("probe  ")]
        return runs(pod) if len(repeated) > 3 else None

    site.puppet.rules["api"] = comes_up_when_the_screen_said_so_thrice
    site.rollout(site.release("probe", greeting=SECRET)).apply()
    assert len(repeated) > 3
    assert not any("healing" in line for line in site.lines), "there was nothing to heal"
    assert SECRET not in "\n".join(site.lines)

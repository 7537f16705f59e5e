"""A step of OpenStack's release against a real API server: two images of a chart, one service after the other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import data, facts, restart
from ansible_collections.groundup.cloud.plugins.plugin_utils.release.order import left
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import GateRefusedError

from .conftest import Site
from .puppet import Object, container, fails, runs, waits

FROM, TO = "2026.1", "2026.2"
BEGUN = "2026-11-29T10:00:00+00:00"
NAMES = ("keystone", "nova", "heat")  # none needs another: together they would go at once


def releases(site: Site, release: str, **values: Any) -> list[ReleasePlan]:
    """Return releases of one OpenStack release; each of its own migration, whose name has the release."""
    made: dict[str, Any] = {
        "image": f"registry.test:5000/openstack:{release}", "plain_job": True, "job": f"db-sync-{release}", **values,
    }  # fmt: skip
    return [site.release(name, **made) for name in NAMES]


def seen(site: Site, release: str = TO) -> facts.ReleaseFacts:
    """Return what runs."""
    return facts.look(plan(site, release), site.api, "")


def plan(site: Site, release: str = TO) -> Any:
    cloud = SimpleNamespace(
        namespace=site.namespace, releases=releases(site, release), services=(), charts="builtin", release=release
    )
    return SimpleNamespace(openstack=cloud, hosts={}, max_unavailable={})


def migration_of_nova_fails(pod: Object) -> Object | None:
    new, nova = container(pod)["image"].endswith(TO), pod["metadata"]["labels"]["application"] == "nova"
    if pod["metadata"]["labels"]["component"] == "sync":
        return (fails() if new and nova else runs)(pod)
    return (waits("PodInitializing", "") if new and nova else runs)(pod)


def serving(site: Site, name: str) -> set[str]:
    """Return the releases of a service's pods that are Ready."""
    pods = site.api.get(
        resource_path("v1", "pods", namespace=site.namespace), labelSelector=f"application={name},component=api"
    )["items"]
    ready = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Running"]
    return {container(pod)["image"].rpartition(":")[2] for pod in ready}


def test_a_migration_that_fails_leaves_former_pods_serving_and_later_services_as_they_are(site: Site) -> None:
    assert not site.rollout(*releases(site, FROM)).apply().failed
    assert left(plan(site), seen(site)).services == NAMES
    new = releases(site, TO)
    with pytest.raises(GateRefusedError, match="openstack_upgrade"):
        site.rollout(*new).apply()
    site.puppet.rules = {"api": migration_of_nova_fails, "sync": migration_of_nova_fails}
    site.puppet.logs["sync"] = "Traceback (most recent call last):\nsqlalchemy.exc.OperationalError: (1060, 'twice')\n"
    options: dict[str, Any] = {"one_by_one": True, "force": ("release-step",), "start_timeout": 150.0}
    result = site.rollout(*new, **options).apply()
    assert {one.name: one.state for one in result.releases} == {
        "keystone": "ready", "nova": "failed", "heat": "not started",
    }  # fmt: skip
    (card,) = result.cards
    assert (card.rule, card.release, card.object) == ("migration-failed", "nova", f"Job/nova-db-sync-{TO}")
    assert "pods of the former version still serve" in card.what
    assert card.next.endswith(f"job nova-db-sync-{TO}")
    assert card.affected == ("heat",)
    assert (serving(site, "nova"), serving(site, "heat")) == ({FROM}, {FROM})
    todo = left(plan(site), seen(site))
    assert (todo.services, todo.unfinished) == (("heat",), ()), "by its images, nova is new: the rollout says the rest"
    site.puppet.rules.clear()
    assert not site.rollout(*new, **options).apply().failed
    assert (serving(site, "nova"), serving(site, "heat")) == ({TO}, {TO})
    assert left(plan(site), seen(site)).services == ()
    assert not site.rollout(*new, **options).apply().changed


def test_pinned_services_restart_once_and_a_rollout_after_it_changes_nothing(site: Site) -> None:
    new = releases(site, TO)
    assert not site.rollout(*new).apply().failed
    pinned = left(plan(site), seen(site)).pinned
    assert pinned == ("Deployment/nova-api",), "neither keystone nor heat speaks such messages"
    path = resource_path("apps/v1", "deployments", namespace=site.namespace, name="nova-api")
    before = site.api.get(path)["metadata"]["generation"]
    restart.restart(site.api, site.namespace, pinned, BEGUN, say=site.lines.append)
    after = site.api.get(path)
    assert after["metadata"]["generation"] == before + 1
    assert after["status"]["updatedReplicas"] == after["status"]["readyReplicas"] == 1
    assert left(plan(site), seen(site), begun=BEGUN).pinned == ()
    assert left(plan(site), seen(site), begun="2026-12-24T10:00:00+00:00").pinned == pinned, "of another step"
    assert not site.rollout(*new).apply().changed
    assert site.api.get(path)["metadata"]["generation"] == before + 1


def test_novas_data_are_migrated_by_a_job_of_their_chart_that_a_killed_run_does_not_make_twice(site: Site) -> None:
    jobs = resource_path("batch/v1", "jobs", namespace=site.namespace)
    template = {
        "metadata": {"labels": {"application": "nova", "component": "sync"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "sync", "image": f"registry.test/openstack:{TO}"}]},
    }
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"backoffLimit": 0, "template": template}}}
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": data.CRON}, "spec": spec}
    site.api.request("POST", resource_path("batch/v1", "cronjobs", namespace=site.namespace), body=body)

    def migrate() -> str:
        data.migrate(site.api, site.namespace, TO, say=site.lines.append)
        (job,) = site.api.get(jobs)["items"]
        assert job["metadata"]["name"] == data.job(TO)
        assert job["metadata"]["ownerReferences"][0]["name"] == data.CRON
        return str(job["metadata"]["uid"])

    site.puppet.rules["sync"] = fails()
    with pytest.raises(GroundupError, match=f"Job/{data.job(TO)} failed") as caught:
        migrate()
    assert f"logs job/{data.job(TO)}" in caught.value.remedy
    site.puppet.rules.clear()
    first = migrate()
    assert migrate() != first, "one that has ended said what was true then"
    for _ in range(2):  # the second time, there is none
        data.forget(site.api, site.namespace, TO)
        assert site.api.get(jobs)["items"] == []

"""Jobs that pods wait for, and that Helm does not: the wait ends with them, and the next run makes them again."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import Card

from .conftest import Site
from .puppet import Object, crashes, fails, runs, waits

TIMEOUT = 150.0
CAUSE = "Traceback (most recent call last):\nsqlalchemy.exc.OperationalError: (1060, 'twice')\n"


def fall(site: Site, **values: Any) -> Card:
    """Roll out a probe whose pod waits for a job that fails; return the card, which comes before the deadline."""
    site.puppet.rules["api"] = waits("PodInitializing", "")
    site.puppet.logs["sync"] = CAUSE
    began = time.monotonic()
    result = site.rollout(site.release("probe", plain_job=True, **values), start_timeout=TIMEOUT).apply()
    assert result.failed
    assert time.monotonic() - began < TIMEOUT / 2
    (made,) = result.cards
    return made


def converges(site: Site, **values: Any) -> None:
    release = site.release("probe", plain_job=True, **values)
    result = site.rollout(release, start_timeout=TIMEOUT).apply()
    assert not result.failed, result.cards
    assert not site.rollout(release).apply().changed


def test_a_failed_migration_ends_the_wait_and_runs_again_with_the_next_run(site: Site) -> None:
    site.puppet.rules["sync"] = fails()
    made = fall(site, job="db-sync")
    assert (made.rule, made.object) == ("migration-failed", "Job/probe-db-sync")
    assert "(1060, 'twice')" in made.what
    assert made.log[-1] == CAUSE.splitlines()[-1]
    site.puppet.rules.clear()
    converges(site, job="db-sync")


def test_a_migration_that_fails_time_and_again_ends_the_wait_and_goes_on_at_once_with_the_next_run(site: Site) -> None:
    """Its Job has tries for days. The kubelet would let it wait for up to five minutes."""
    site.puppet.rules["sync"] = crashes(3)
    made = fall(site, job="db-sync", backoff_limit=1000)
    assert (made.rule, made.object) == ("migration-failed", "Job/probe-db-sync")
    assert "(1060, 'twice')" in made.what
    pods = resource_path("v1", "pods", namespace=site.namespace)
    (stuck,) = site.api.get(pods, labelSelector="component=sync")["items"]

    def of_old(pod: Object) -> Object:
        return (crashes(3) if pod["metadata"]["uid"] == stuck["metadata"]["uid"] else runs)(pod)

    site.puppet.rules = {"sync": of_old}
    converges(site, job="db-sync", backoff_limit=1000)
    assert any(f"{stuck['metadata']['name']} waited for its next try: made anew" in line for line in site.lines)


def test_a_job_that_a_restore_removed_is_foreseen_and_made_again(site: Site) -> None:
    release = site.release("probe", plain_job=True, job="db-sync")
    assert not site.rollout(release).apply().failed
    job = resource_path("batch/v1", "jobs", namespace=site.namespace, name="probe-db-sync")
    first = site.api.get(job)["metadata"]["uid"]
    site.api.delete(job, propagationPolicy="Background")
    wait_until(lambda: site.api.find(job), timeout=30.0)
    assert site.rollout(release).check().changed
    converges(site, job="db-sync")
    assert site.api.get(job)["metadata"]["uid"] != first

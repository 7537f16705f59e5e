"""Keystone's keys move on by one, by the cluster's own jobs; a job of a killed run is waited for, not begun again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.base import Asked
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.kinds import keystone_keys
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.kinds.keystone_keys import KeystoneKeys


class Cluster:
    """An API with Keystone's cron jobs and Secrets; its jobs end at the second look."""

    def __init__(self, *, age: float = 3600, ends: str = "Complete") -> None:
        self.changed = (datetime.now(UTC) - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.ends, self.jobs, self.looks = ends, dict[str, Any](), 0

    def find(self, path: str) -> Any:
        assert "/cronjobs/keystone-" in path
        template = {"metadata": {"labels": {"application": "keystone"}}, "spec": {"backoffLimit": 6}}
        return {"spec": {"jobTemplate": template}}

    def get(self, path: str, **query: str) -> Any:
        if "/secrets/" in path:
            return {"metadata": {"creationTimestamp": self.changed}}
        if "labelSelector" in query:
            assert all(query["labelSelector"] in one["metadata"]["labels"] for one in self.jobs.values())
            return {"items": list(self.jobs.values())}
        self.looks += 1
        job = self.jobs[path.rpartition("/")[2]]
        if self.looks % 2 == 0:
            job["status"] = {"conditions": [{"type": self.ends, "status": "True"}]}
        return job

    def apply(self, path: str, item: Any, *, manager: str) -> None:
        assert manager
        self.jobs[path.rpartition("/")[2]] = item


def kind(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, *only: str) -> KeystoneKeys:
    monkeypatch.setattr(keystone_keys, "Api", lambda _: cluster)
    monkeypatch.setattr(keystone_keys, "wait_until", lambda pending, **_: pending() and pending())
    plan: Any = SimpleNamespace(site="test", openstack=SimpleNamespace(namespace="openstack"))
    store: Any = None  # the keys are not in it
    return KeystoneKeys(
        Asked(plan=plan, site_file="site.yml", store=store, changes=Changes(check=False), only=only, timeout=1)
    )


def test_both_kinds_of_keys_are_rotated_by_the_jobs_of_their_cron_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    for step in ("check", "both", "use", "drop", "verify"):
        kind(cluster, monkeypatch).run(step)
    fernet, credential = sorted(cluster.jobs.values(), key=lambda job: str(job["metadata"]["name"]), reverse=True)
    assert str(fernet["metadata"]["name"]).startswith("keystone-fernet-rotate-")
    assert str(credential["metadata"]["name"]).startswith("keystone-credential-rotate-")
    assert fernet["spec"] == {"backoffLimit": 6, "ttlSecondsAfterFinished": 3600}


def test_a_job_of_a_killed_run_is_waited_for_and_no_second_one_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(age=10)
    one = kind(cluster, monkeypatch, "fernet")
    one._begin("fernet", cluster.find("/cronjobs/keystone-fernet-rotate"))
    with pytest.raises(GroundupError, match="rotation-open"):
        one.run("verify")
    one.run("use")
    assert len(cluster.jobs) == 1
    one.run("verify")


def test_keys_that_not_every_pod_can_have_yet_do_not_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(age=60)
    with pytest.raises(GroundupError, match=r"changed 6\d s ago(.|\n)*again in 2[34]\d s"):
        kind(cluster, monkeypatch, "fernet").run("use")
    assert not cluster.jobs


def test_a_job_that_failed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GroundupError, match=r"Job/keystone-fernet-rotate-\d+ failed"):
        kind(Cluster(ends="Failed"), monkeypatch, "fernet").run("use")


def test_keys_that_keystone_has_not_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GroundupError, match=r"tls: no keys of Keystone(.|\n)*fernet, credential"):
        kind(Cluster(), monkeypatch, "tls").run("check")

"""The job of Nova's data: one of a killed run is waited for, one of another image is made anew."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import data

FORMER, CORRECTED = "openstack:2026.2@sha256:1", "openstack:2026.2@sha256:2"
ENDED = {"conditions": [{"type": "Complete", "status": "True"}]}


def spec(image: str) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "data", "image": image}]}}}


class Jobs:
    """Kubernetes with a cron job, and perhaps its job; one that runs ends if its image is the corrected one."""

    def __init__(self, *, left: str = "") -> None:
        self.job: dict[str, Any] | None = {"spec": spec(left)} if left else None
        self.made: list[str] = []

    def find(self, _path: str) -> dict[str, Any] | None:
        return self.job

    def get(self, path: str) -> dict[str, Any]:
        if "/cronjobs/" in path:
            return {"metadata": {"uid": "u"}, "spec": {"jobTemplate": {"spec": spec(CORRECTED)}}}
        assert self.job
        runs = self.job["spec"]["template"]["spec"]["containers"][0]["image"] == CORRECTED
        return {**self.job, "status": ENDED if runs else {}}

    def request(self, method: str, _path: str, *, body: dict[str, Any]) -> None:
        assert (method, self.job) == ("POST", None), "its name is taken"
        self.job = {"spec": body["spec"]}
        self.made.append(body["metadata"]["name"])

    def delete(self, _path: str, *, body: dict[str, Any]) -> None:
        assert body == {"propagationPolicy": "Foreground"}
        self.job = None


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    monkeypatch.setattr("time.sleep", lambda _: None)


@pytest.mark.parametrize(("left", "made"), [("", 1), (CORRECTED, 0), (FORMER, 1)])
def test_a_job_of_an_image_that_was_corrected_is_not_waited_for(left: str, made: int) -> None:
    jobs: Any = Jobs(left=left)
    data.migrate(jobs, "openstack", "2026.2", say=lambda _: None)
    assert jobs.made == ["nova-data-migrations-2026-2"] * made


def test_a_job_that_does_not_go_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: Any = Jobs(left=FORMER)
    monkeypatch.setattr(jobs, "delete", lambda *_, **__: None)
    with pytest.raises(GroundupError, match="of a former run is not gone"):
        data.migrate(jobs, "openstack", "2026.2", say=lambda _: None)

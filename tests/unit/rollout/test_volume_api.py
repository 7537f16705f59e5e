"""What Cinder answers, and what its verifier makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import (
    cinder,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.probing import PROBE

from .fake_cloud import Cloud
from .test_apis import NEW, OLD, service


class Volumes:
    """Cinder with one volume that is made, asked for and deleted."""

    def __init__(self, cloud: Cloud, *, becomes: str, left: list[dict[str, str]] | None = None) -> None:
        self.becomes, self.deleted, self.stays = ["creating", becomes], list[str](), ["deleting"]
        up = [
            service("cinder-scheduler"),
            {**service("cinder-volume"), "host": "worker@rbd1"},
            service("cinder-backup"),
        ]
        cloud.on("GET volume.test/v3/os-services", lambda **_: (200, {"services": up}))
        cloud.on("GET volume.test/v3/volumes/detail", lambda **_: (200, {"volumes": (left or []) + self.listed()}))
        cloud.on("POST volume.test/v3/volumes", lambda **_: (202, {"volume": {"id": "mine"}}))
        cloud.on("GET volume.test/v3/volumes/mine", lambda **_: (200, {"volume": {"status": self.status()}}))
        cloud.on(r"POST volume.test/v3/volumes/(?P<name>\w+)/action", self.act)

    def status(self) -> str:
        return self.becomes.pop(0) if len(self.becomes) > 1 else self.becomes[0]

    def listed(self) -> list[dict[str, str]]:
        """Return what is left of the volume after its deletion, one time after the other."""
        there = self.stays.pop(0) if self.stays and "mine" in self.deleted else ""
        return [{"id": "mine", "name": "new", "status": there}] if there else []

    def act(self, *, name: str, body: Any) -> tuple[int, Any]:
        assert body == {"os-force_delete": {}}, "one that hangs in its making cannot be deleted otherwise"
        self.deleted.append(name)
        return 202, None


def test_a_volume_is_made_and_deleted_and_a_killed_runs_too(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    left = [{"id": "old", "name": PROBE, "created_at": OLD}, {"id": "busy", "name": PROBE, "created_at": NEW}]
    volumes = Volumes(cloud, becomes="available", left=left)
    services, volume = cloud.verify("cinder").checks
    assert (services.ok, volume.ok, volume.detail) == (True, True, "1 GiB made and deleted")
    assert volumes.deleted == ["old", "mine"]


def test_a_volume_in_error_fails_and_is_deleted_all_the_same(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    volumes = Volumes(cloud, becomes="error")
    _, volume = cloud.verify("cinder").checks
    assert (volume.ok, volume.layer, volume.detail) == (False, "volume", "a volume of 1 GiB is error")
    assert volumes.deleted == ["mine"]


def test_a_volume_that_is_not_deleted_fails(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    Volumes(cloud, becomes="available").stays = ["deleting", "error_deleting"]
    _, volume = cloud.verify("cinder").checks
    assert (volume.ok, volume.detail) == (False, "a volume that was deleted is error_deleting")


def test_no_volume_is_asked_for_while_nobody_would_make_it(cloud: Cloud) -> None:
    cloud.on("GET volume.test/v3/os-services", lambda **_: (200, {"services": [service("cinder-scheduler")]}))
    cloud.on("GET volume.test/v3/volumes/detail", lambda **_: (200, {"volumes": []}))
    (check,) = cloud.verify("cinder").checks
    assert (check.ok, check.object, check.detail) == (
        False,
        "Deployment/cinder-volume",
        "cinder-volume is up nowhere; cinder-backup is up nowhere",
    )


def test_a_back_end_that_is_down_is_named_and_a_scheduler_whose_pod_is_gone_is_not() -> None:
    found = [
        service("cinder-scheduler"),
        {**service("cinder-scheduler", "down"), "host": "gone"},
        service("cinder-backup"),
    ]
    found += [{**service("cinder-volume"), "host": "w@rbd1"}, {**service("cinder-volume", "down"), "host": "w@rbd2"}]
    check = cinder.judge_services(found)
    assert (check.ok, check.detail) == (False, "w@rbd2 is down")
    assert cinder.judge_services(found[:4]).ok

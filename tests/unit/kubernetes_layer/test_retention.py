"""A volume of the site's services keeps its data when its claim is deleted."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.retention import retain


class Cluster:
    """An API with volumes."""

    def __init__(self) -> None:
        self.volumes: list[dict[str, Any]] = [
            {"metadata": {"name": name}, "spec": {"persistentVolumeReclaimPolicy": policy, "claimRef": of}}
            for name, policy, of in (
                ("ours", "Delete", {"namespace": "openstack"}),
                ("kept", "Retain", {"namespace": "openstack"}),
                ("theirs", "Delete", {"namespace": "default"}),
                ("free", "Delete", None),
            )
        ]

    def get(self, path: str) -> dict[str, Any]:
        assert path == "/api/v1/persistentvolumes"
        return {"items": self.volumes}

    def request(self, method: str, path: str, *, body: dict[str, Any], content_type: str) -> None:
        assert (method, content_type) == ("PATCH", "application/merge-patch+json")
        (one,) = (one for one in self.volumes if one["metadata"]["name"] == path.rpartition("/")[2])
        one["spec"] |= body["spec"]


def test_volumes_of_the_namespace_are_retained_once() -> None:
    api: Any = Cluster()
    assert retain(api, "openstack") == ["ours"]
    assert [one["spec"]["persistentVolumeReclaimPolicy"] for one in api.volumes] == [
        "Retain",
        "Retain",
        "Delete",
        "Delete",
    ]
    assert retain(api, "openstack") == []

"""What reality cannot say of a step of OpenStack's release under way: from where, to where, since when.

How far it came is read from the cluster and from hypervisors, never from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import GroundupError
from ..kube.client import Api
from ..kube.types import resource_path

NAME, _MANAGER = "groundup-openstack-upgrade", "groundup-upgrade"


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A step that has begun, and has not ended."""

    before: str
    target: str
    begun: str  # time, ISO 8601

    def continues(self, target: str) -> bool:
        """Return whether a run to ``target`` goes on with it. Raises GroundupError for a step to another release."""
        if target == self.target:
            return True
        raise GroundupError(
            f"the step from {self.before} to {self.target}, begun {self.begun}, has not ended",
            where=f"ConfigMap {NAME}",
            why="a cloud of three releases was never tested, and its services may refuse each other",
            remedy=f"set openstack.release to {self.target}, and run the playbook groundup.cloud.openstack_upgrade",
        )


def read(api: Api, namespace: str) -> Journal | None:
    """Return the step under way, None when there is none. Raises ApiError."""
    found = api.find(_path(namespace))
    data = (found or {}).get("data") or {}
    return Journal(before=data["from"], target=data["to"], begun=data["begun"]) if found else None


def write(api: Api, namespace: str, journal: Journal) -> None:
    """Note that a step has begun. Raises ApiError."""
    item = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": namespace},
        "data": {"from": journal.before, "to": journal.target, "begun": journal.begun},
    }  # fmt: skip
    api.apply(_path(namespace), item, manager=_MANAGER)


def close(api: Api, namespace: str) -> None:
    """Note that the step has ended. Raises ApiError."""
    api.delete(_path(namespace))


def _path(namespace: str) -> str:
    return resource_path("v1", "configmaps", namespace=namespace, name=NAME)

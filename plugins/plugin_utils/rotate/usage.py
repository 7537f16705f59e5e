"""Who uses a value: Secrets that hold it, and pods that started with what a Secret held before."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..kube.client import Api
from ..kube.types import Object, resource_path
from ..kube.workloads import owner_of
from ..vault.redact import forms

_HELM = "helm.sh/release.v1"  # Helm's history; nobody reads it
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Usage:
    """Secrets and pods of one namespace, as they are now."""

    secrets: list[Object]
    pods: list[Object]

    @classmethod
    def now(cls, api: Api, namespace: str) -> Usage:
        """Return them. Raises ApiError."""
        secrets = api.get(resource_path("v1", "secrets", namespace=namespace), fieldSelector=f"type!={_HELM}")
        return cls(secrets["items"], api.get(resource_path("v1", "pods", namespace=namespace))["items"])

    def holding(self, *values: str) -> dict[str, str]:
        """Return the Secrets that hold one of ``values``: name to time of the last change."""
        wanted = [form for value in values for form in forms(value)]
        return {
            str(one["metadata"]["name"]): changed(one)
            for one in self.secrets
            if any(form in text for text in _texts(one) for form in wanted)
        }

    def owners(self, *values: str) -> list[str]:
        """Return the workloads whose pods have a Secret with one of ``values``."""
        names = set(self.holding(*values))
        return sorted({_owner(pod) for pod in self._running() if names & set(_named(pod))})

    def left(self, *, old: str, new: str) -> list[str]:
        """Return who may still use ``old`` in place of ``new``, one text each."""
        changed = self.holding(new)
        found = [f"Secret/{name} holds it" for name in sorted(self.holding(old))]
        for pod in self._running():
            begun = str(pod["metadata"]["creationTimestamp"])
            if since := [name for name in _named(pod) if begun < changed.get(name, "")]:
                found.append(f"Pod/{pod['metadata']['name']} started before Secret/{since[0]} had the new one")
        return found

    def _running(self) -> Iterator[Object]:
        return (pod for pod in self.pods if (pod.get("status") or {}).get("phase") not in _ENDED)


def _texts(secret: Object) -> Iterator[str]:
    for value in (secret.get("data") or {}).values():
        yield base64.b64decode(value).decode(errors="replace")


def changed(secret: Object) -> str:
    """Return the time of its last change, in the form that creation times have: they compare as text."""
    fields = secret["metadata"].get("managedFields") or ()
    return max((str(one["time"]) for one in fields if "time" in one), default=secret["metadata"]["creationTimestamp"])


def _owner(pod: Object) -> str:
    owner = owner_of(pod)
    return f"{owner.kind}/{owner.name}" if owner else f"Pod/{pod['metadata']['name']}"


def _named(pod: Object) -> Iterator[str]:
    """Yield the names of the Secrets that a pod has as files or variables."""
    spec = pod["spec"]
    for volume in spec.get("volumes") or ():
        yield from _of(volume.get("secret"), "secretName")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from _of(source.get("secret"), "name")
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        sources: Iterable[Mapping[str, Any]] = container.get("envFrom") or ()
        for source in sources:
            yield from _of(source.get("secretRef"), "name")
        for variable in container.get("env") or ():
            yield from _of((variable.get("valueFrom") or {}).get("secretKeyRef"), "name")


def _of(found: Mapping[str, Any] | None, key: str) -> Iterator[str]:
    if found and found.get(key):
        yield str(found[key])

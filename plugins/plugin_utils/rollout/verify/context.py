"""What a verifier works with, and what they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...kube.client import Api
from ...kube.types import Object, resource_path
from ...kube.workloads import condition
from ...plan.types import Plan, ReleasePlan
from ..types import Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One release, and the ways to reach it."""

    api: Api
    plan: Plan
    release: ReleasePlan
    values: dict[str, Any]  # with secrets resolved: never to be printed
    authority: Path  # certificate of the site's own CA


Verifier = Callable[[Context], Verification]


def members(context: Context, application: str, component: str = "server") -> list[Object]:
    """Return the pods of a component, by name. The labels are the charts' own."""
    path = resource_path("v1", "pods", namespace=context.release.namespace)
    selector = f"application={application},component={component}"
    pods = context.api.get(path, labelSelector=selector).get("items") or ()
    return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))


def replicas(context: Context, application: str, component: str = "server") -> tuple[str, int]:
    """Return the StatefulSet or Deployment of a component and how many pods it should have; ("", 0) without one."""
    selector = f"application={application},component={component}"
    for plural, kind in (("statefulsets", "StatefulSet"), ("deployments", "Deployment")):
        path = resource_path("apps/v1", plural, namespace=context.release.namespace)
        for item in context.api.get(path, labelSelector=selector).get("items") or ():
            return f"{kind}/{item['metadata']['name']}", int(item["spec"].get("replicas", 1))
    return "", 0


def running(pods: list[Object]) -> list[Object]:
    """Return the pods that take requests."""
    return [pod for pod in pods if condition(pod, "Ready") == "True"]


def name_of(pod: Object) -> str:
    """Return a pod's name."""
    return str(pod["metadata"]["name"])

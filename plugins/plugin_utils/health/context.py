"""Context of a verifier: one release, and access to it from outside the cluster and inside its pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

from .. import https
from ..https import Answer, UnansweredError
from ..kube.client import Api
from ..kube.types import Object, resource_path
from ..kube.workloads import is_ready
from .dotted import at
from .verification import Verification

if TYPE_CHECKING:
    from ..plan.types import Plan, ReleasePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierContext:
    """One release, and access to it."""

    api: Api
    plan: Plan
    release: ReleasePlan
    values: dict[str, Any]  # with secrets resolved: never to be printed
    authority: Path  # certificate of the site's own CA

    is_ready = staticmethod(is_ready)

    def value(self, path: str) -> Any:
        """Return the value at a dotted path, None when there is none."""
        return at(self.values, path)

    def request(self, method: str, url: str, *, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Send a request to a public name, as a client outside does. Raises UnansweredError."""
        return https.request(method, url, plan=self.plan, authority=self.authority, body=body, headers=headers)

    def pods(self, component: str = "server") -> dict[str, Object]:
        """Return the pods of a component, by name. The labels are the charts' own."""
        return {str(pod["metadata"]["name"]): pod for pod in self._labelled("v1", "pods", component)}

    def running(self, component: str = "server") -> list[str]:
        """Return the names of the Ready pods."""
        return sorted(name for name, pod in self.pods(component).items() if is_ready(pod))

    def workload(self, component: str = "server") -> tuple[str, int]:
        """Return a component's StatefulSet or Deployment and how many pods it should have; ("", 0) without one."""
        for plural, kind in (("statefulsets", "StatefulSet"), ("deployments", "Deployment")):
            for item in self._labelled("apps/v1", plural, component):
                return f"{kind}/{item['metadata']['name']}", int(item["spec"].get("replicas", 1))
        return "", 0

    def node_is_ready(self, name: str) -> bool:
        node = self.api.find(resource_path("v1", "nodes", name=name))
        return node is not None and is_ready(node)

    def execute(self, pod: str, argv: Sequence[str], *, container: str, timeout: float = 30.0) -> str:
        """Run a command in a container; return its output. Never pass a password as an argument.

        Raises ApiError when it cannot be started, UnansweredError when it fails.
        """
        done = self.api.execute(self.release.namespace, pod, argv, container=container, timeout=timeout)
        if done.code:
            said = (done.stderr or done.stdout).strip()[-200:]
            raise UnansweredError(said or f"{argv[0]} ended with code {done.code}", where=f"pod {pod}")
        return done.stdout

    def connect(self, pod: str, port: int) -> AbstractContextManager[socket]:
        """Return a TCP connection to a pod. Raises ApiError."""
        return self.api.connect(self.release.namespace, pod, port)

    def _labelled(self, group_version: str, plural: str, component: str) -> list[Object]:
        path = resource_path(group_version, plural, namespace=self.release.namespace)
        selector = f"application={self.release.name},component={component}"
        return list(self.api.get(path, labelSelector=selector).get("items") or ())


Verifier = Callable[[VerifierContext], Verification]

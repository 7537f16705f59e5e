"""What a person does to a site by hand, and how it is put back: on hosts by a shell, on objects by the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api, ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Object
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.workloads import is_ready
from ansible_collections.groundup.cloud.tests.e2e.cluster import PODS, play
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, root
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

HAND = "drift-by-hand"  # who writes, and the name of what is made
_KINDS = {dict: "application/merge-patch+json", list: "application/json-patch+json"}  # of a patch
_ANEW = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields")  # what a new object may not say
_BACK = 300.0  # seconds until an API server that was restarted serves


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """Something that is changed by hand while the context ``change`` is open, and the rows that must tell it."""

    layer: str
    host: str = ""  # of its rows; "": whichever is asked about the whole cluster
    rows: tuple[str, ...]  # a part of each
    change: AbstractContextManager[None]
    by: bool = False  # who did it is told


@dataclass(frozen=True, slots=True)
class Hands:
    """Hands on hosts and on the cluster of one site."""

    connect: Connect
    api: Api

    @contextmanager
    def shell(self, host: str, does: str, undoes: str) -> Iterator[None]:
        """Run a command as root, and another one afterwards: also after one that failed half way."""
        try:
            root(self.connect(host), does)
            yield
        finally:
            root(self.connect(host), undoes)

    @contextmanager
    def mended(self, host: str, does: str, *, by: str) -> Iterator[None]:
        """Run a command as root; a playbook puts it back."""
        try:
            root(self.connect(host), does)
            yield
        finally:
            play(by)

    def file(self, host: str, path: object, script: str) -> AbstractContextManager[None]:
        """Edit a file by a ``script`` of sed, in place, as it may be a mount. Its copy has its time, too."""
        copy = f"/run/{HAND}{str(path).replace('/', '-')}"
        does = f"cp -p {path} {copy}; sed '{script}' {copy} > {path}; ! cmp -s {path} {copy}"
        return self.shell(host, does, f"cat {copy} > {path}; touch -r {copy} {path}; rm {copy}")

    @contextmanager
    def patched(self, path: str, patch: dict[str, Any] | list[dict[str, Any]]) -> Iterator[None]:
        """Patch an object."""
        before = self.api.get(path)
        try:
            self._write("PATCH", path, patch, kind=_KINDS[type(patch)])
            yield
        finally:
            until(lambda: self._back(path, before), seconds=60)

    @contextmanager
    def deleted(self, path: str) -> Iterator[None]:
        """Delete an object."""
        before = self.api.get(path)
        try:
            self.api.delete(path)
            yield
        finally:
            until(lambda: self._back(path, before), seconds=60)

    @contextmanager
    def made(self, path: str, body: Object) -> Iterator[None]:
        """Make an object."""
        try:
            self._write("POST", path, body)
            yield
        finally:
            self.api.delete(f"{path}/{body['metadata']['name']}")

    @contextmanager
    def flag(self, control: str, manifest: object, *, old: str, new: str) -> Iterator[None]:
        """Change a flag of a control host's API server, which starts anew for it."""
        try:
            with self.file(control, manifest, f"s|{old}|{new}|"):
                until(lambda: self._serves(control, new), seconds=_BACK)
                yield
        finally:
            until(lambda: self._serves(control, old), seconds=_BACK)

    def _serves(self, control: str, flag: str) -> bool:
        try:
            pod = self.api.get(f"{PODS}/kube-apiserver-{control}")
        except ApiError:
            return False
        return is_ready(pod) and flag in pod["spec"]["containers"][0]["command"]

    def _back(self, path: str, before: Object) -> bool:
        """Write an object as it was; return False when another one wrote to it meanwhile."""
        now = self.api.find(path)
        meta = {key: value for key, value in before["metadata"].items() if key not in _ANEW}
        try:
            if now is None:
                self._write("POST", path.rpartition("/")[0], {**before, "metadata": meta})
            else:
                meta["resourceVersion"] = now["metadata"]["resourceVersion"]
                self._write("PUT", path, {**before, "metadata": meta})
        except ApiError as error:
            if error.status != 409:
                raise
            return False
        return True

    def _write(self, method: str, path: str, body: object, *, kind: str = "application/json") -> None:
        self.api.request(method, path, query={"fieldManager": HAND}, body=body, content_type=kind)

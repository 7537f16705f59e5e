"""Watch the cluster: one stream per kind keeps a snapshot current, nothing is polled."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from ...kube.client import Api, ApiError
from ...kube.types import Object, Ref, ref_of, resource_path
from ..types import EventLine
from .snapshot import ReleaseSnapshot

KINDS: tuple[tuple[str, str, str], ...] = (
    ("v1", "Node", "nodes"),
    ("v1", "Pod", "pods"),
    ("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    ("batch/v1", "Job", "jobs"),
    ("apps/v1", "StatefulSet", "statefulsets"),
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "DaemonSet", "daemonsets"),
    ("v1", "Event", "events"),
)
_GONE = 410  # the resource version is too old: list again
_RETRY = 1.0  # seconds before a broken stream is opened again
_EVENTS_KEPT = 10  # per object


class ClusterView:
    """The current state of the kinds above, in every namespace."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._objects: dict[Ref, Object] = {}
        self._events: dict[Ref, deque[tuple[str, EventLine]]] = {}
        self._changed = threading.Condition()
        self._version = 0
        self._stopping = threading.Event()
        self._troubles: dict[str, str] = {}  # by kind

    @property
    def trouble(self) -> str:
        """Why the API cannot be watched at the moment, "" when it can."""
        return next(iter(self._troubles.copy().values()), "")

    @contextmanager
    def running(self) -> Iterator[ClusterView]:
        """Watch while the block runs. List everything once before it. Raises ApiError."""
        threads = []
        for group_version, kind, plural in KINDS:
            path = resource_path(group_version, plural)
            version = self._list(path, group_version, kind)
            # Daemons: a stream may block in a read for a while, and nothing is lost when it is cut off.
            threads.append(
                threading.Thread(
                    target=self._follow, args=(path, group_version, kind, version), name=f"watch-{plural}", daemon=True
                )
            )
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._stopping.set()

    def snapshot(self) -> ReleaseSnapshot:
        """Return the present state."""
        with self._changed:
            events = {ref: tuple(line for _, line in lines) for ref, lines in self._events.items()}
            return ReleaseSnapshot(dict(self._objects), events)

    def wait(self, seen: int, *, timeout: float) -> int:
        """Wait for a newer version than ``seen``, at most ``timeout`` seconds; return the current version."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != seen, timeout=timeout)
            return self._version

    def wake(self) -> None:
        """Wake all waiting threads."""
        with self._changed:
            self._version += 1
            self._changed.notify_all()

    def refresh(self, namespace: str) -> None:
        """List the workloads of a namespace again, so that a new release is not judged by an older state."""
        for group_version, kind, plural in KINDS:
            if kind in ("Job", "StatefulSet", "Deployment", "DaemonSet"):
                items = self._api.get(resource_path(group_version, plural, namespace=namespace)).get("items") or ()
                with self._changed:
                    for item in items:
                        self._put({**item, "kind": kind, "apiVersion": group_version})

    def _list(self, path: str, group_version: str, kind: str) -> str:
        answer = self._api.get(path)
        items = [{**item, "kind": kind, "apiVersion": group_version} for item in answer.get("items") or ()]
        with self._changed:
            if kind != "Event":
                present = {ref_of(item) for item in items}
                for ref in [ref for ref in self._objects if ref.kind == kind and ref not in present]:
                    del self._objects[ref]
            for item in items:
                self._put(item)
            self._version += 1
            self._changed.notify_all()
        return str(answer["metadata"]["resourceVersion"])

    def _follow(self, path: str, group_version: str, kind: str, version: str) -> None:
        while not self._stopping.is_set():
            try:
                if not version:
                    version = self._list(path, group_version, kind)
                with self._api.watch(path, resource_version=version) as stream:
                    self._troubles.pop(kind, None)
                    for event in stream:
                        if self._stopping.is_set():
                            return
                        version = self._take(event, group_version, kind)
                        if not version:
                            break
            except ApiError as error:
                version = ""
                if error.status != _GONE:
                    self._pause(kind, error.message)
            except Exception as error:  # noqa: BLE001  # a thread that ended unseen would leave a stale snapshot
                version = ""
                self._pause(kind, f"{type(error).__name__}: {error}")

    def _pause(self, kind: str, trouble: str) -> None:
        self._troubles[kind] = trouble
        self._stopping.wait(_RETRY)

    def _take(self, event: Object, group_version: str, kind: str) -> str:
        item = event.get("object") or {}
        if event.get("type") == "ERROR":
            return ""
        version = str((item.get("metadata") or {}).get("resourceVersion", ""))
        if event.get("type") == "BOOKMARK":
            return version
        item = {**item, "kind": kind, "apiVersion": group_version}
        with self._changed:
            if event.get("type") == "DELETED":
                self._objects.pop(ref_of(item), None)
            else:
                self._put(item)
            self._version += 1
            self._changed.notify_all()
        return version

    def _put(self, item: Object) -> None:
        if item["kind"] == "Event":
            self._put_event(item)
            return
        ref = ref_of(item)
        known = self._objects.get(ref)
        if known is None or _version(item) >= _version(known):
            self._objects[ref] = item

    def _put_event(self, item: Object) -> None:
        about = item.get("involvedObject") or {}
        ref = Ref(str(about.get("kind", "")), str(about.get("namespace") or ""), str(about.get("name", "")))
        uid = str(item["metadata"].get("uid"))
        line = EventLine(
            reason=str(item.get("reason", "")),
            object=str(ref),
            message=" ".join(str(item.get("message", "")).split()),
            count=int(item.get("count") or (item.get("series") or {}).get("count") or 1),
        )
        kept = [pair for pair in self._events.get(ref, ()) if pair[0] != uid]
        self._events[ref] = deque([*kept, (uid, line)], maxlen=_EVENTS_KEPT)


def _version(item: Object) -> int:
    version = str(item["metadata"].get("resourceVersion", "0"))
    return int(version) if version.isdigit() else int(time.monotonic_ns())

"""A watch of the Kubernetes API that must go on while API servers restart."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from ansible_collections.groundup.cloud.tests.e2e.probing import EVERY, Line, RefusedError


class Watch:
    """Watches objects that somebody makes all the time; where the server ends a watch, the next goes on from there."""

    def __init__(self, line: Callable[[], Line], *, path: str, selector: str, headers: Mapping[str, str]) -> None:
        """Watch the objects at ``path`` with the label ``selector``, each time by another ``line``."""
        self._line, self._path, self._selector, self._headers = line, path, selector, dict(headers)
        self.events, self.ended, self.gap = 0, 0, 0.0
        self.failed: list[str] = []

    @contextmanager
    def kept(self) -> Iterator[Watch]:
        """Watch while the block runs."""
        over = threading.Event()
        thread = threading.Thread(target=self._keep, args=(over,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            over.set()
            thread.join()

    def told(self) -> dict[str, Any]:
        """Return events, watches that ended, the longest time between two events, and what went wrong."""
        return {"events": self.events, "ended": self.ended, "gap": round(self.gap, 1), "failed": self.failed}

    def _keep(self, over: threading.Event) -> None:
        version, before = "", 0.0
        while not over.is_set():
            try:
                for event in self._events(version):
                    now = time.monotonic()
                    self.gap = max(self.gap, now - before) if before else 0.0
                    self.events, before = self.events + 1, now
                    version = event["object"]["metadata"]["resourceVersion"]
                    if over.is_set():
                        return
                self.ended += 1
            except RefusedError as error:  # too old a version among them: events were missed
                self.failed.append(str(error))
                version = ""
                over.wait(EVERY)
            except (OSError, http.client.HTTPException, ValueError) as error:
                if over.is_set():
                    return
                self.failed.append(type(error).__name__)
                over.wait(EVERY)

    def _events(self, version: str) -> Iterator[dict[str, Any]]:
        wanted = {"watch": "true", "labelSelector": self._selector}
        wanted |= {"resourceVersion": version} if version else {}
        for text in self._line().stream(f"{self._path}?{urlencode(wanted)}", headers=self._headers):
            event: dict[str, Any] = json.loads(text)
            if event["type"] == "ERROR":
                raise RefusedError(f"watch: {event['object'].get('reason')}")
            yield event

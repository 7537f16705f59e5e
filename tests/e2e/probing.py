"""Asks APIs all the time without a retry, and notes what came of it (`judging` counts); it watches itself, too."""

from __future__ import annotations

import http.client
import json
import select
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from ansible_collections.groundup.cloud.tests.e2e.judging import LATE, Lane, Request, Step, judge

EVERY = 0.5  # seconds between two requests of a lane
PATIENCE = 30.0  # seconds for an answer
_TICK = 0.1
LONGEST = 400  # characters of an answer that are shown
# Headers that nobody should read in a log.
_NOT_OURS = {"authorization", "set-cookie", "x-auth-token", "x-subject-token"}


class RefusedError(Exception):
    """The server answered with an error, or with something else than was asked for."""

    def __init__(self, cause: str, *, said: str = "", headers: Mapping[str, str] | None = None) -> None:
        """Keep what the server said, and the headers of its answer."""
        super().__init__(f"{cause}: {said}" if said else cause)
        self.cause, self.said = cause, said
        self.headers = {name: value for name, value in (headers or {}).items() if name.lower() not in _NOT_OURS}


def refused(answer: http.client.HTTPResponse, content: bytes) -> RefusedError:
    """Return the error that an answer is: its status, and a Kubernetes Status' message or the beginning of the body."""
    said = content.decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError):
        said = str(json.loads(content)["message"])
    return RefusedError(f"HTTP {answer.status}", said=said[:LONGEST], headers=dict(answer.headers))


class Line:
    """Connections to one server: a new one for each request, or one that is kept."""

    def __init__(
        self, server: str, *, context: ssl.SSLContext | None = None, kept: bool, patience: float = PATIENCE
    ) -> None:
        """Connect to ``server`` (URL) when there is a request. ``patience``: seconds for an answer."""
        url = urlsplit(server)
        self.kept, self.reopened, self._served = kept, 0, 0
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        more: dict[str, Any] = {"context": context} if url.scheme == "https" else {}
        self._connection = kind(url.hostname or "", url.port, timeout=patience, **more)
        self._base = url.path.rstrip("/")

    def ask(
        self, method: str, path: str, *, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPMessage, bytes]:
        """Send a request once; return headers and body. Raises RefusedError, OSError, HTTPException."""
        if not self.kept or self._left():
            self.close()
        try:
            self._connection.request(method, self._base + path, body, headers or {})
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        self._served += 1
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise refused(answer, content)
        return answer.headers, content

    def stream(self, path: str, *, headers: dict[str, str]) -> Iterator[bytes]:
        """Yield the lines of an answer as they come. Raises RefusedError, OSError, HTTPException."""
        try:
            self._connection.request("GET", self._base + path, headers=headers)
            answer = self._connection.getresponse()
            if answer.status >= http.HTTPStatus.BAD_REQUEST:
                raise refused(answer, answer.read())
            yield from answer
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
        self._served = 0

    def _left(self) -> bool:
        """Return whether the server closed the idle connection: any client sees that before it sends."""
        # Before the first answer, what can be read are TLS session tickets.
        if self._connection.sock is None or not self._served:
            return False
        look = select.poll()  # select() takes no descriptor beyond 1023
        look.register(self._connection.sock, select.POLLIN)
        left = bool(look.poll(0))
        self.reopened += left
        return left


class Ask(Protocol):
    """Sends one request and notes what came of it."""

    def __call__(
        self, method: str, path: str, *, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPMessage, Any]:
        """Return headers and the JSON of the answer, or its text. Raises FaultyError when it is noted as a fault."""


class FaultyError(Exception):
    """The request failed; what follows it cannot be asked."""


@dataclass(kw_only=True)
class Asked:
    """A lane while it is asked. ``work``: sends the requests of one round; ``every``: its own seconds between two."""

    line: Line
    work: Callable[[Ask], None]
    requests: list[Request] = field(default_factory=list)
    due: float = 0.0
    every: float | None = None

    def once(self, due: float) -> None:
        """Do one round, which should begin at ``due``."""
        self.due = due
        with suppress(FaultyError):
            self.work(self.ask)

    def ask(
        self, method: str, path: str, *, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPMessage, Any]:
        """Send a request and note it. Raises FaultyError."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"} if data is not None and data is not body else {}
        began, found = time.monotonic(), None
        fault: dict[str, Any] = {}
        try:
            found = self.line.ask(method, path, body=data, headers=kind | (headers or {}))
        except RefusedError as error:
            fault = {"cause": error.cause, "said": error.said, "headers": error.headers}
        except (OSError, http.client.HTTPException) as error:
            fault = {"cause": type(error).__name__, "said": str(error), "answered": False}
        asked = f"{method} {path}"
        self.requests.append(Request(due=self.due, began=began, ended=time.monotonic(), asked=asked, **fault))
        self.due = time.monotonic()  # the next of this round
        if found is None:
            raise FaultyError
        told, content = found
        try:
            return told, json.loads(content) if content else None
        except ValueError:
            return told, content.decode(errors="replace")


class Prober:
    """Asks lanes, each in a thread of its own, and watches itself."""

    def __init__(self, lanes: Mapping[str, Asked], *, every: float = EVERY) -> None:
        """Take the ``lanes`` by name."""
        self._lanes, self._every, self._ended = lanes, every, threading.Event()
        self._delays: list[tuple[float, float]] = []
        self._steps: list[Step] = []
        self._threads = [threading.Thread(target=self._keep, args=(one,), daemon=True) for one in lanes.values()]
        self._threads.append(threading.Thread(target=self._watch, daemon=True))

    def start(self) -> None:
        """Ask each lane once, then all of them all the time. Raises AssertionError when one fails even at rest."""
        for name, one in self._lanes.items():
            one.once(time.monotonic())
            assert not any(request.cause for request in one.requests), f"{name}, at rest: {one.requests}"
            one.requests.clear()
        for thread in self._threads:
            thread.start()

    def stop(self) -> dict[str, Lane]:
        """End, and return the figures of each lane."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
        return {
            name: judge(
                one.requests,
                every=one.every or self._every,
                delays=self._delays,
                reopened=one.line.reopened,
                steps=self._steps,
            )
            for name, one in self._lanes.items()
        }

    def step(self, name: str) -> None:
        """Note what is done to the servers from now on: a request that fails is shown with it."""
        self._steps.append(Step(began=time.monotonic(), name=name))

    def asked(self) -> int:
        """Return how many requests were sent so far."""
        return sum(len(one.requests) for one in self._lanes.values())

    def _keep(self, one: Asked) -> None:
        due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            one.once(due)
            # A round that took longer than its time is the server's doing: the next is due when it ends.
            due = max(due + (one.every or self._every), time.monotonic())
        one.line.close()

    def _watch(self) -> None:
        before = time.monotonic()
        while not self._ended.wait(_TICK):
            now = time.monotonic()
            if now - before - _TICK >= LATE:
                self._delays.append((before, now))
            before = now


@contextmanager
def served(lanes: Mapping[str, Asked], *, every: float = EVERY) -> Iterator[tuple[Prober, dict[str, Lane]]]:
    """Ask while the block runs; yield the prober, and what has the figures by lane afterwards."""
    prober, found = Prober(lanes, every=every), dict[str, Lane]()
    prober.start()
    try:
        yield prober, found
    finally:
        found |= prober.stop()


def both(
    server: str, work: Callable[[Ask], None], *, context: ssl.SSLContext | None = None
) -> Iterator[tuple[str, Asked]]:
    """Yield a lane with a new connection for each request, and one with a kept connection."""
    for name, kept in (("new", False), ("kept", True)):
        yield name, Asked(line=Line(server, context=context, kept=kept), work=work)

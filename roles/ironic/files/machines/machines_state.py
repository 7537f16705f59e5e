"""State of the page of machines: the control node's last overview, and sessions."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEXT = 2000  # maximum length of a value; longer ones are cut
SESSIONS, LASTS = 100, 12 * 3600.0  # maximum number, and lifetime in seconds
TRIES, WITHIN = 5, 60.0  # allowed wrong passwords of one address, in as many seconds
FIELDS = (
    "machine", "rack", "group", "provisioner", "state", "doing", "since", "expected", "moving", "card", "may", "asks",
)  # fmt: skip


class Overview:
    """The control node's last overview, stored on disk to survive restarts. Watchers wait for the next one."""

    def __init__(self, path: Path) -> None:
        """Take the file, which the first overview creates."""
        self._path, self._changed, self._number = path, threading.Condition(), 0
        try:
            self._said = json.loads(path.read_text())
        except (OSError, ValueError):
            self._said = {"site": "", "time": None, "heard": None, "machines": []}

    def take(self, given: Any) -> None:
        """Store an overview. Raises ValueError when it is invalid."""
        if not isinstance(given, dict) or not isinstance(given.get("machines"), list):
            raise ValueError("machines is no list")  # noqa: TRY004  # of a request
        found = [one for one in given["machines"] if isinstance(one, dict)]
        said = {
            "site": plain(given.get("site")),
            "time": plain(given.get("time")),
            "heard": time.time(),
            "machines": [{name: plain(one.get(name)) for name in FIELDS} for one in found],
        }
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(said))
        new.replace(self._path)
        with self._changed:
            self._said, self._number = said, self._number + 1
            self._changed.notify_all()

    def may(self, machine: str, verb: str, *, shown: str) -> tuple[str, str]:
        """Return why ``verb`` is not possible, "" when it is; and the node and disks that the decision is about.

        The overview decides. ``shown``: node and disks that the browser showed, which may have changed since.
        """
        with self._changed:
            found = next((one for one in self._said["machines"] if one["machine"] == machine), None)
        if found is None:
            return "the control node has said nothing of such a machine", ""
        why = str((found.get("may") or {}).get(verb, "the control node does not say that it is"))
        asks = str(found.get("asks") or "")
        return why or ("" if shown == asks else "it is another than this page showed: look at it again"), asks

    def touch(self) -> None:
        """Wake the watchers."""
        with self._changed:
            self._number += 1
            self._changed.notify_all()

    def after(self, number: int, *, wait: float) -> tuple[int, dict[str, Any] | None]:
        """Wait up to ``wait`` seconds for a newer overview than ``number``; return its number and it, or None."""
        with self._changed:
            if self._number == number:
                self._changed.wait(wait)
            if self._number == number:
                return number, None
            heard = self._said["heard"]
            return self._number, {**self._said, "age": None if heard is None else round(time.time() - heard, 1)}


def plain(value: Any) -> Any:
    """Sanitize a value of the overview: cut long texts, turn deeper values of a dictionary into text, drop lists."""
    if isinstance(value, str):
        return value[:TEXT]
    if isinstance(value, dict):
        return {str(key)[:40]: str(one)[:TEXT] for key, one in list(value.items())[:10]}
    return value if isinstance(value, bool | int | float) else None


class Sessions:
    """Login sessions, in memory: a restart ends all."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Start without sessions."""
        self._now, self._lock = now, threading.Lock()
        self._open: dict[str, tuple[str, float]] = {}
        self._wrong: dict[str, list[float]] = {}

    def allowed(self, address: str) -> bool:
        """Return whether ``address`` may try a password."""
        with self._lock:
            recent = [at for at in self._wrong.get(address, []) if self._now() - at < WITHIN]
            return len(recent) < TRIES

    def wrong(self, address: str) -> None:
        """Count a wrong password of ``address``."""
        with self._lock:
            since = self._now() - WITHIN
            recent = {who: [at for at in times if at > since] for who, times in self._wrong.items()}
            self._wrong = {who: times for who, times in recent.items() if times}
            self._wrong.setdefault(address, []).append(self._now())

    def begin(self) -> str:
        """Start a session; return its name."""
        name = secrets.token_urlsafe(32)
        with self._lock:
            self._open = {one: kept for one, kept in self._open.items() if kept[1] > self._now()}
            while len(self._open) >= SESSIONS:
                del self._open[next(iter(self._open))]
            self._open[name] = (secrets.token_urlsafe(32), self._now() + LASTS)
        return name

    def token(self, name: str) -> str:
        """Return a session's CSRF token, "" when there is no such session."""
        with self._lock:
            token, ends = self._open.get(name, ("", 0.0))
            return token if ends > self._now() else ""

    def end(self, name: str) -> None:
        """End a session."""
        with self._lock:
            self._open.pop(name, None)

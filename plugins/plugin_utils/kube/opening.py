"""Streams into pods that are opened in bounded time."""

from __future__ import annotations

from typing import Any

from websocket import WebSocket

_OPENING = 30.0  # seconds for each answer; a restarted API server can keep one of its requests for ever


class BoundedWebSocket(WebSocket):
    """A WebSocket for which no answer is awaited without end."""

    def connect(self, url: str, **options: Any) -> None:
        """Connect, and wait for ever from then on. Raises WebSocketTimeoutException, OSError."""
        super().connect(url, **{"timeout": _OPENING, **options})  # type: ignore[no-untyped-call]
        self.settimeout(None)  # a program may be silent for longer

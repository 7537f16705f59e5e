"""Programs in containers whose input or output is too large for memory: streamed through the Kubernetes API."""

from __future__ import annotations

import json
import select
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .client import ERROR_CHANNEL, Api, ApiError, Executed, exit_code

Sink = Callable[[bytes], object]
SILENCE = 1800.0  # seconds without a byte: a program that prepares a large database says nothing meanwhile
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_CHUNK = 1 << 16
_TAIL = 1 << 14  # bytes that are kept of what a program says beside its output: the end


class Container(Protocol):
    """A place where programs run."""

    @property
    def name(self) -> str:
        """Return what an error calls it."""

    def run(self, argv: Sequence[str], *, source: Iterable[bytes] = (), sink: Sink | None = None) -> Executed:
        """Run ``argv`` with ``source`` as its input; give its output to ``sink``, or return it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodContainer:
    """A container of a pod. Its input has no end (the protocol has none): a program must know how much to read."""

    api: Api
    namespace: str
    pod: str
    container: str

    @property
    def name(self) -> str:
        return f"pod {self.pod}, container {self.container}"

    def run(self, argv: Sequence[str], *, source: Iterable[bytes] = (), sink: Sink | None = None) -> Executed:
        """Run ``argv``. Raises ApiError when it cannot be started, or the connection is lost."""
        from kubernetes import stream  # late, see Api.streams

        program = argv[0]
        with self.api.streams(self.pod, cannot=f"cannot run {program}", lost=f"lost {program} while it ran") as pods:
            running = stream.stream(
                pods.connect_get_namespaced_pod_exec, self.pod, self.namespace, command=list(argv),
                container=self.container, stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False,
                binary=True,
            )  # fmt: skip
            try:
                pipe = _Pipe(running.sock, sink)
                pipe.feed(source)
                pipe.finish()
            finally:
                running.close()
            ended = json.loads(pipe.said[ERROR_CHANNEL] or b"null")
            if ended is None:
                raise ApiError(f"lost {program} while it ran: the stream broke off", where=self.name, status=0)
            code = exit_code(ended, program=program, pod=self.pod)
            return Executed(code=code, stdout=pipe.text(_STDOUT), stderr=pipe.text(_STDERR))


@dataclass(slots=True)
class _Pipe:
    """The frames of an exec, one at a time: the kubernetes library collects all that come."""

    socket: Any  # a WebSocket
    sink: Sink | None
    said: dict[int, bytes] = field(default_factory=lambda: {_STDOUT: b"", _STDERR: b"", ERROR_CHANNEL: b""})
    open: bool = True

    def feed(self, source: Iterable[bytes]) -> None:
        """Send all of ``source``; stop when the program ends before."""
        from websocket import ABNF, WebSocketConnectionClosedException

        self.socket.settimeout(SILENCE)
        for data in source:
            for start in range(0, len(data), _CHUNK):
                while self.open and self._readable():
                    self._receive()
                if not self.open:
                    return
                try:
                    self.socket.send(bytes((_STDIN,)) + data[start : start + _CHUNK], opcode=ABNF.OPCODE_BINARY)
                except (BrokenPipeError, ConnectionResetError, WebSocketConnectionClosedException):
                    return  # the program has ended: what it said may still be there

    def finish(self) -> None:
        """Receive until the program ends."""
        while self.open:
            self._receive()

    def text(self, channel: int) -> str:
        """Return what came on ``channel``."""
        return self.said[channel].decode(errors="replace")

    def _receive(self) -> None:
        from websocket import ABNF, WebSocketConnectionClosedException

        try:
            code, frame = self.socket.recv_data_frame(True)
        except (
            ConnectionResetError,
            WebSocketConnectionClosedException,
        ):  # without a word: `ended` is missing, which is told
            self.open = False
            return
        if code == ABNF.OPCODE_CLOSE:
            self.open = False
        elif code in (ABNF.OPCODE_BINARY, ABNF.OPCODE_TEXT) and frame.data:
            channel, data = frame.data[0], bytes(frame.data[1:])
            if channel == _STDOUT and self.sink:
                self.sink(data)
            elif channel in self.said:
                kept = self.said[channel] + data
                self.said[channel] = kept[-_TAIL:] if channel == _STDERR else kept

    def _readable(self) -> bool:
        own = self.socket.sock
        if isinstance(own, ssl.SSLSocket) and own.pending():
            return True
        return bool(select.select((own,), (), (), 0)[0])

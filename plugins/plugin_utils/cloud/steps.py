"""Steps of a smoke test, each timed and printed, with errors that name the layer."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Literal

from ..errors import GroundupError
from ..lifetime import linger
from ..progress import Progress, reminder
from .connection import ERRORS, said

Layer = Literal["identity", "image", "compute", "network", "metadata", "guest", "controller"]
_LINGER = 180.0  # seconds for cleanup after the run is ended


class SmokeError(GroundupError):
    """A failed step: the cloud's error and the layer at fault."""

    def __init__(self, what: str, *, layer: Layer, where: str, remedy: str, details: tuple[str, ...] = ()) -> None:
        """Take the fault, its object, and more lines of evidence."""
        self.layer = layer
        more = "".join(f"\n    {line}" for line in details)
        super().__init__(what + more, where=where, why=f"layer {layer}: no tenant gets beyond this step", remedy=remedy)


@dataclass(slots=True, kw_only=True)
class SmokeStep:
    """One step, running or ended."""

    name: str
    seconds: float = 0.0
    detail: str = ""
    ok: bool = False


@dataclass(slots=True)
class Steps:
    """The steps so far."""

    say: Progress
    done: list[SmokeStep] = field(default_factory=list)
    clock: Callable[[], float] = time.monotonic

    @contextmanager
    def step(self, name: str, *, layer: Layer, remedy: str = "") -> Iterator[SmokeStep]:
        """Time a step, print it when it ends, and name it in an error of the cloud."""
        step, start = SmokeStep(name=name), self.clock()
        self.done.append(step)
        try:
            with reminder(self.say, f"[smoke] {name}"):
                yield step
            step.ok = True
        except ERRORS as error:
            remedy = remedy or f"see the log of the service of layer {layer}, then run this again"
            raise SmokeError(said(error), layer=layer, where=f"step {name}", remedy=remedy) from error
        finally:
            step.seconds = round(self.clock() - start, 1)
            word = step.detail if step.ok else "failed"
            self.say(f"[smoke] {name:<14} {step.seconds:6.1f} s  {word}".rstrip())

    def result(self) -> list[dict[str, object]]:
        """Return the steps as plain data."""
        return [{"name": one.name, "seconds": one.seconds, "detail": one.detail, "ok": one.ok} for one in self.done]


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Turn SIGTERM and SIGINT into KeyboardInterrupt in the block; let this process outlive its run for cleanup.

    Yields a function that ignores further signals, to be called before cleanup.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def deaf() -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)

    def handle(number: int, _frame: FrameType | None) -> None:
        deaf()  # Ansible, and the watch over this worker, send more than one
        raise KeyboardInterrupt(signal.Signals(number).name)

    for number in before:
        signal.signal(number, handle)
    try:
        with linger(_LINGER):
            yield deaf
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

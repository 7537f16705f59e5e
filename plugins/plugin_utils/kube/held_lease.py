"""Hold a Lease in the cluster while a run may change something: one run of a kind at a time, from any control node.

The holder renews it; a run that cannot renew it stops before another may take it over. A lease is abandoned when a
waiting run saw it unchanged for its whole duration (no two clocks are compared), or when its holder is a dead process
of this same machine.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..errors import GroundupError
from ..lifetime import identity
from ..process import InterruptedRunError
from .client import Api, ApiError
from .run_lease import CONFLICT, MISSING, Lease, abandoned, holder
from .types import Object

RESOURCES = "groundup-resources"
# Fractions of a lease's duration: between two renewals, per request, and until a run that cannot renew it gives up.
# The rest is for its child processes to end.
_RENEWED, _REQUEST, _GIVEN_UP = 1 / 6, 1 / 12, 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one run at a time may do."""

    lease: str  # its name
    called: str
    refused: type[GroundupError]  # raised when another run is at it
    lost: type[GroundupError]  # raised when another run holds the lease, or may


@contextmanager
def held(
    api: Api, work: Work, *, namespace: str, seconds: float, say: Callable[[str], None], lost: Callable[[], object]
) -> Iterator[None]:
    """Hold the lease of ``work`` in ``namespace`` while the block runs; without renewal it lasts ``seconds``.

    ``say`` prints a line while it is unknown whether the present holder still runs. ``lost`` is called when the lease
    is lost; it ends the block with InterruptedRunError. Raises the errors of ``work``, ApiError.
    """
    lease = _Lease(api, work, namespace, seconds, lost)
    lease.acquire(say)
    thread = threading.Thread(target=lease.renew, name="lease", daemon=True)
    thread.start()
    try:
        yield
    except InterruptedRunError as error:
        if lease.trouble:
            raise work.lost(
                f"the lease of this {work.called} was lost: {lease.trouble}",
                where=lease.where,
                why="another control node may be at work now, and two at once would undo each other's work",
                remedy="see who holds it (kubectl get lease); run again when nobody does",
            ) from error
        raise
    finally:
        lease.ended.set()
        thread.join()
        lease.release()


class _Lease(Lease):
    def __init__(self, api: Api, work: Work, namespace: str, seconds: float, lost: Callable[[], object]) -> None:
        me, patience = f"{identity(os.getpid())}:{secrets.token_hex(4)}", max(1.0, seconds * _REQUEST)
        super().__init__(api, namespace=namespace, name=work.lease, me=me, seconds=seconds, patience=patience)
        self._work, self._namespace, self._lost = work, namespace, lost
        self.where = f"Lease/{work.lease} in {namespace}"
        self.ended = threading.Event()
        self.trouble = ""  # why it was lost

    def acquire(self, say: Callable[[str], None]) -> None:
        """Take the lease when it is free or abandoned. Raises its work's error when its holder is alive."""
        seen: Object = {}
        since = 0.0
        while True:
            found = self.find()
            if found is None or abandoned(found) or (found == seen and time.monotonic() - since > _lasts(found)):
                if self._take(found):
                    return
                seen = {}
            elif not seen:
                say(f"{holder(found)} holds {self.where}: waiting up to {_lasts(found):g} s whether it runs")
                seen, since = found, time.monotonic()
            elif found != seen:
                spec = found["spec"]
                raise self._work.refused(
                    f"another {self._work.called} is under way: {holder(found)}, since {spec.get('acquireTime')}",
                    where=self.where,
                    why="two at once would undo each other's work",
                    remedy="wait for it, or end that process; its lease is free "
                    f"{spec.get('leaseDurationSeconds')} s later at the latest",
                )
            time.sleep(min(1.0, self.seconds * _REQUEST))

    def renew(self) -> None:
        """Renew the lease until the run ends; end the run when the lease is lost."""
        renewed, pause = time.monotonic(), _RENEWED
        while not self.trouble and not self.ended.wait(self.seconds * pause):
            begun = time.monotonic()
            try:
                # Read anew each time: a renewal may have been stored although its answer was lost.
                if self.is_ours(found := self.read()):
                    self.write(found)
                    renewed, pause = begun, _RENEWED
                else:
                    self.trouble = f"{holder(found)} has taken it"
            except ApiError as error:
                pause = _REQUEST / 2
                if error.status == MISSING or time.monotonic() - renewed > self.seconds * _GIVEN_UP:
                    self.trouble = error.message
            except Exception as error:  # noqa: BLE001  # a thread that ended unseen would let a second run in
                self.trouble = f"{type(error).__name__}: {error}"
        if self.trouble:
            self._lost()

    def _take(self, found: Object | None) -> bool:
        """Become the holder of the lease as ``found``; return False when another run was faster."""
        try:
            self.write(found)
        except ApiError as error:
            if error.status == CONFLICT or (found is not None and error.status == MISSING):
                return False
            if error.status == MISSING:
                raise self._work.refused(
                    f"there is no namespace {self._namespace}",
                    where=self.where,
                    why="the lease and what runs the cloud are in it",
                    remedy="run the playbook groundup.cloud.kubernetes: it makes the namespace",
                ) from error
            raise
        return True


def _lasts(lease: Object) -> float:
    return float((lease.get("spec") or {}).get("leaseDurationSeconds") or 0)

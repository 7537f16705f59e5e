"""Why a machine is not ready: it refuses the control node's login, or its boot has not ended well."""

from __future__ import annotations

from ..errors import GroundupError

_TIMED_OUT = 124  # exit code of timeout(1)


def login_fault(host: str, said: object, *, login: str, remedy: str) -> GroundupError:
    """Return the fault of a machine that is unreachable as ``login``, from the error of its connection."""
    return GroundupError(
        f"{host} does not let the control node in as {login}",
        where=" ".join(str(said).split()),
        why="every layer reaches it by ssh",
        remedy=remedy,
    )


def boot_command(within: int) -> str:
    """Return the command that waits for the end of a boot, whose result `boot_fault` judges."""
    # With a timeout: a unit that never finishes starting would block the run for ever.
    return f"timeout {within} systemctl is-system-running --wait"


def boot_fault(host: str, status: int, said: str, *, within: int) -> GroundupError | None:
    """Return the fault of a boot, from the output of ``systemctl is-system-running --wait``; None if it is fine."""
    if said == "running":
        return None
    endless = status == _TIMED_OUT
    return GroundupError(
        f"the boot of {host} has not ended within {within} s" if endless else f"{host} is {said}, not running",
        where=host,
        why="what the next layers need may not have started",
        remedy=f"see systemctl {'list-jobs' if endless else '--failed'} there, and the journal of the units it lists",
    )

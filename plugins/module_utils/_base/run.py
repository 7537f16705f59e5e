"""Run a program without a shell, in the C locale, with its last words in the error."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence

from .errors import GroundupError

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PLAIN = {"LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "SYSTEMD_PAGER": ""}


def run(
    argv: Sequence[str],
    *,
    why: str = "what comes after needs it",
    remedy: str = "run the command by hand on the host",
    stdin: str | None = None,
    timeout: float = 120.0,
    environment: Mapping[str, str] | None = None,
    inherits: Sequence[int] = (),
    detached: bool = True,
) -> str:
    """Return what ``argv`` printed on standard output. Raises GroundupError when it fails, is missing or hangs.

    ``argv`` and ``stdin`` hold no secret: the error shows them, with ``why`` and ``remedy``. The ``environment`` takes
    the place of this process's own; the program ``inherits`` open files, such as a lock. ``timeout`` is in seconds.
    ``detached``: a run that is ended does not leave the program's work half done; else the program ends with the run.
    """
    done = attempt(argv, stdin=stdin, timeout=timeout, environment=environment, inherits=inherits, detached=detached)
    if done.returncode:
        # Most programs name the fault last, on standard error.
        lines = [line for line in _COLOUR.sub("", done.stdout + done.stderr).splitlines() if line.strip()]
        said = "\n    ".join(lines[-8:]) or "no output"
        raise GroundupError(
            f"{' '.join(argv[:3])} failed with exit code {done.returncode}: {said}",
            where=" ".join(argv) + (f", given {stdin!r}" if stdin else ""),
            why=why,
            remedy=remedy,
        )
    return done.stdout


def attempt(
    argv: Sequence[str],
    *,
    stdin: str | None = None,
    timeout: float = 120.0,
    environment: Mapping[str, str] | None = None,
    inherits: Sequence[int] = (),
    detached: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Return how ``argv`` ended, whatever its exit code. Raises GroundupError when it is missing or hangs."""
    try:
        return subprocess.run(
            argv,
            check=False,
            encoding="utf-8",
            errors="replace",
            env={**(os.environ if environment is None else environment), **_PLAIN},
            timeout=timeout,
            pass_fds=tuple(inherits),
            capture_output=True,
            start_new_session=detached,
            input=stdin or "",
        )
    except FileNotFoundError:
        why, remedy = "no such program", f"install the package that holds {argv[0]}"
    except subprocess.TimeoutExpired:
        why, remedy = f"it did not end within {timeout:g} s", "run it by hand and see what it waits for"
    raise GroundupError(
        f"{argv[0]} cannot be run: {why}", where=" ".join(argv), why="its work is not done", remedy=remedy
    )

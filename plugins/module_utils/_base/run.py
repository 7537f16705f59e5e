"""Run a program without a shell, in the C locale; errors show the end of its output."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence

from .errors import GroundupError

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PLAIN = {"LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "SYSTEMD_PAGER": ""}


def direct(environment: Mapping[str, str]) -> dict[str, str]:
    """Return ``environment`` without proxies: kubeadm would even write them into its pods."""
    return {name: value for name, value in environment.items() if not name.lower().endswith("_proxy")}


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
    """Run ``argv`` and return its standard output. Raises GroundupError when it fails, is missing or times out.

    ``argv`` and ``stdin`` must hold no secret: the error shows them, with ``why`` and ``remedy``. ``environment``
    replaces that of this process, without its proxies: no part of a site is behind one. ``inherits``: open files that
    the program inherits, such as a lock. ``timeout``: in seconds. ``detached``: the program continues when this run is
    killed; else it ends with this run.
    """
    done = attempt(argv, stdin=stdin, timeout=timeout, environment=environment, inherits=inherits, detached=detached)
    if done.returncode:
        # Most programs print the fault last, on standard error.
        lines = [line for line in COLOUR.sub("", done.stdout + done.stderr).splitlines() if line.strip()]
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
    """Run ``argv`` and return its result, whatever the exit code. Raises GroundupError when missing or hanging."""
    try:
        return subprocess.run(
            argv,
            check=False,
            encoding="utf-8",
            errors="replace",
            env={**(direct(os.environ) if environment is None else environment), **_PLAIN},
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

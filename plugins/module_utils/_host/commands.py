"""Calling a command-line tool: without a shell, in the C locale, with its complaint in the error."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from .changes import HostError

TIMEOUT = 600.0  # seconds; nothing called here takes longer unless it hangs


def run(argv: Sequence[str], *, remedy: str = "run the command by hand on the host") -> str:
    """Return what ``argv`` printed. Raises HostError when it fails, is missing or hangs."""
    complaint = attempt(argv)
    if complaint.returncode:
        raise HostError(
            f"{argv[0]} failed with status {complaint.returncode}",
            where=" ".join(argv),
            why=(complaint.stderr or complaint.stdout).strip()[-2000:] or "it said nothing",
            remedy=remedy,
        )
    return complaint.stdout


def attempt(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Return how ``argv`` ended, whatever its status. Raises HostError when it is missing or hangs."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "SYSTEMD_PAGER": ""}
    try:
        return subprocess.run(
            list(argv),
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            timeout=TIMEOUT,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        why, remedy = "the host has no such command", f"install the package that holds {argv[0]}"
    except subprocess.TimeoutExpired:
        why, remedy = f"it did not end within {TIMEOUT:.0f} s", "run it by hand on the host and see what it waits for"
    raise HostError(f"{argv[0]} cannot be run", where=" ".join(argv), why=why, remedy=remedy)

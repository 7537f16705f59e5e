"""Command-line tools, called without a shell: the edge that unit tests replace."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from .errors import LabError


def run(*command: str, stdin: str | None = None, timeout: float = 60) -> str:
    """Run ``command`` with ``stdin`` and return its standard output. Raises LabError with its standard error."""
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=timeout, check=False, start_new_session=True
        )
    except FileNotFoundError as error:
        raise LabError(f"{command[0]} is not installed on this machine: run ci/bootstrap, or install it") from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{' '.join(command)} did not end within {timeout:g} s") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise LabError(f"{' '.join(command)} failed with {done.returncode}: {said}" + (f"\n{stdin}" if stdin else ""))
    return done.stdout


def run_json(*command: str) -> Any:
    """Run ``command`` and return what its JSON output says; no output is an empty list."""
    return json.loads(run(*command) or "[]")

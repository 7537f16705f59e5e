"""Run one of Ansible's commands as an operator of this clone does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(
    program: str, *arguments: str | Path, cwd: Path | None = None, **environment: str | Path | None
) -> subprocess.CompletedProcess[str]:
    """Return the finished ``program``; a variable of ``environment`` that is None is unset."""
    variables: dict[str, str | Path | None] = {
        **os.environ,
        "ANSIBLE_CONFIG": ROOT / "ansible.cfg",
        "ANSIBLE_COLLECTIONS_PATH": ROOT / ".run",
        **environment,
    }
    return subprocess.run(
        [Path(sys.executable).with_name(program), *arguments],
        cwd=cwd,
        env={name: str(value) for name, value in variables.items() if value is not None},
        check=False,
        capture_output=True,
        text=True,
        timeout=900,
    )

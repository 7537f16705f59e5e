"""Which packages of the OS ci/bootstrap asks the machine for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

BOOTSTRAP = Path(__file__).resolve().parents[3] / "ci/bootstrap"


def asked_for(tmp_path: Path, *arguments: str) -> list[str]:
    """Run it on a machine that has every package, and return those it looked for."""
    query = tmp_path / "dpkg-query"
    query.write_text(f'#!/bin/sh\nfor name; do :; done\necho "$name" >> {tmp_path}/asked\nprintf installed\n')
    query.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run([BOOTSTRAP, *arguments], env=environment, check=True, capture_output=True)
    return (tmp_path / "asked").read_text().split()


def test_what_some_tiers_alone_need_is_asked_for_by_name(tmp_path: Path) -> None:
    always = asked_for(tmp_path)
    assert "skopeo" in always
    assert "openssh-clients" not in always  # of another distribution
    for profile, more in {
        "machine": {"ovmf", "qemu-system-x86", "qemu-utils"},
        "browser": {"chromium", "libnss3-tools"},
    }.items():
        (tmp_path / "asked").unlink()
        assert set(asked_for(tmp_path, profile)) - set(always) == more

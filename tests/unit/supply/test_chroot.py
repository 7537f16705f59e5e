"""Commands in a build root: what they write stays in the build."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make import chroot
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.process import Commands


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root file system that has a shell, and what the shell needs."""
    needed = re.findall(
        r"(/\S+) \(0x", subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    )
    for name in ("/bin/sh", *needed):
        place = tmp_path / "root" / name.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, place)
    for name in ("dev", "proc", "etc"):
        (tmp_path / "root" / name).mkdir(exist_ok=True)
    return tmp_path / "root"


@pytest.mark.root
def test_a_package_that_renews_the_trust_store_leaves_the_machines_alone(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust = tmp_path / "certs"
    trust.mkdir()
    (trust / "bundle").write_text("of this machine")
    monkeypatch.setattr(chroot, "TRUST", trust)
    build = chroot.Chroot(lower=root, scratch=tmp_path / "scratch", commands=Commands(log=tmp_path / "log"))
    script = (
        "read -r there < /etc/ssl/certs/bundle || :; echo $there > /seen; echo of the build > /etc/ssl/certs/bundle"
    )
    build.run(["/bin/sh", "-euc", script], network=False)
    assert (build.upper / "seen").read_text() == "of this machine\n"
    assert (trust / "bundle").read_text() == "of this machine"

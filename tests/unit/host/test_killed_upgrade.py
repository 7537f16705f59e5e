"""What a killed upgrade leaves, packages without what they need, is foretold and ended by the next one: real apt."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import apt, foresight, patching, sources

pytestmark = pytest.mark.skipif(not shutil.which("apt-get"), reason="apt is what is tested")
STANZA = "Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: x\nDescription: x\n{more}\n"


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the apt.conf of a host whose upgrade was killed when one of two packages was unpacked."""
    for name in ("lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d", "repository"):
        (tmp_path / name).mkdir(parents=True)
    needs, file = "Depends: libb (>= 2)\n", "Filename: x.deb\nSize: 1\nSHA256: " + "0" * 64 + "\n"
    offered = STANZA.format(name="liba", version=2, more=needs + file) + STANZA.format(
        name="libb", version=2, more=file
    )
    (tmp_path / "repository/Packages").write_text(offered)
    unpacked, installed = (f"Status: install ok {one}\n" for one in ("unpacked", "installed"))
    there = STANZA.format(name="liba", version=2, more=needs + unpacked)
    (tmp_path / "status").write_text(there + STANZA.format(name="libb", version=1, more=installed))
    (tmp_path / "sources.list").write_text(f"deb [trusted=yes] file:{tmp_path}/repository ./\n")
    options = {
        "APT::Architecture": "amd64", "APT::Sandbox::User": "root", "Debug::NoLocking": "true",
        "Dir::State": tmp_path, "Dir::State::status": tmp_path / "status", "Dir::State::Lists": tmp_path / "lists",
        "Dir::Cache": tmp_path / "cache", "Dir::Etc": tmp_path / "etc",
        "Dir::Etc::SourceList": tmp_path / "sources.list",
    }  # fmt: skip
    path = tmp_path / "apt.conf"
    path.write_text("".join(f'{name} "{value}";\n' for name, value in options.items()))
    monkeypatch.setattr(apt, "OURS", path)
    monkeypatch.setattr(sources, "apart", lambda *_: path)
    apt.ask(path, "update")
    return path


def test_the_next_run_foretells_what_is_missing(configuration: Path) -> None:
    assert configuration.exists()
    found = foresight.foretell(Changes(check=True), {"packages_seed": None, "ca_certificate": "", "virtual": {}})
    assert [(one["package"], one["before"], one["after"]) for one in found["changes"]] == [("libb", "1", "2")]


def test_and_upgrades_it(configuration: Path) -> None:
    assert configuration.exists()
    changes = Changes(check=True)
    given = {"packages_seed": None, "ca_certificate": "", "packages": ["libb"], "reboot": True, "restart": []}
    patching.upgrade(changes, given)
    assert "upgrade libb: 1 -> 2" in changes.done

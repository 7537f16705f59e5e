"""The machine's own mirrors and registry settings: found in every form apt knows, handed on, written nowhere."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make import machine

ONE_LINE = """# deb http://ignored.test/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/a.gpg] http://mirror.test/debian bookworm main contrib
deb-src http://mirror.test/debian bookworm main
deb http://mirror.test/debian bookworm-updates main
deb http://security.test/debian bookworm-security main
"""
DEB822 = """Types: deb
# a comment
URIs: https://mirror.test/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/a.gpg

Types: deb
URIs: https://security.test/debian
Suites: bookworm-security
Components: main

Types: deb
URIs: https://off.test/debian
Suites: bookworm
Components: main
Enabled: no
"""


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An /etc of a Debian 12 without sources."""
    (tmp_path / "apt/sources.list.d").mkdir(parents=True)
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "bookworm"})
    (tmp_path / "apt/sources.list.d/other.list").write_text("deb https://vendor.test/apt stable main\n")
    return tmp_path


def test_sources_of_one_line_become_those_of_another_suite_with_updates_security_and_key_ring(etc: Path) -> None:
    (etc / "apt/sources.list").write_text(ONE_LINE)
    assert machine.apt_lines("trixie", etc=etc) == (
        "deb [signed-by=/usr/share/keyrings/a.gpg] http://mirror.test/debian trixie main",
        "deb [signed-by=/usr/share/keyrings/a.gpg] http://mirror.test/debian trixie-updates main",
        "deb http://security.test/debian trixie-security main",
    )


def test_sources_in_paragraphs_are_read_and_disabled_ones_are_not(etc: Path) -> None:
    (etc / "apt/sources.list.d/debian.sources").write_text(DEB822)
    assert machine.apt_lines("trixie", etc=etc) == (
        "deb [signed-by=/usr/share/keyrings/a.gpg] https://mirror.test/debian trixie main",
        "deb [signed-by=/usr/share/keyrings/a.gpg] https://mirror.test/debian trixie-updates main",
        "deb https://security.test/debian trixie-security main",
    )


def test_firmware_of_debian_has_a_component_of_its_own(etc: Path) -> None:
    (etc / "apt/sources.list").write_text("deb http://mirror.test/debian bookworm main\n")
    lines = machine.apt_lines("trixie", components=("main", "non-free-firmware"), etc=etc)
    assert lines == ("deb http://mirror.test/debian trixie main non-free-firmware",)


def test_a_key_written_into_the_source_itself_is_left_to_apt(etc: Path) -> None:
    text = "Types: deb\nURIs: http://mirror.test/debian\nSuites: bookworm\nComponents: main\nSigned-By:\n -----BEGIN\n"
    (etc / "apt/sources.list.d/debian.sources").write_text(text)
    assert machine.apt_lines("trixie", etc=etc) == ("deb http://mirror.test/debian trixie main",)


def test_a_machine_without_a_source_of_its_release_is_told_so(etc: Path) -> None:
    with pytest.raises(GroundupError, match="no apt source of bookworm") as caught:
        machine.apt_lines("trixie", etc=etc)
    assert caught.value.where == str(etc / "apt")


def test_registry_settings_are_handed_on_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    goenv = tmp_path / "env"
    goenv.write_text("GOPROXY=https://from-file.test\nGONOSUMDB=example.test\nGOFLAGS=-v\n")
    monkeypatch.setenv("GOENV", str(goenv))
    monkeypatch.setenv("GOPROXY", "https://from-environment.test")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.test")
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("SOME_TOKEN", "not for builds")
    found = machine.environment()
    assert found["GOPROXY"] == "https://from-environment.test"
    assert found["GONOSUMDB"] == "example.test"
    assert found["PIP_INDEX_URL"] == "https://index.test"
    assert found["https_proxy"] == "http://proxy.test:3128"
    assert not {"GOFLAGS", "SOME_TOKEN", "HOME"} & set(found)


def test_a_control_node_of_another_architecture_is_refused_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(GroundupError, match="this control node is aarch64"):
        supply.ensure("kubernetes")

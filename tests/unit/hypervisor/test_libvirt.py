"""libvirt of a hypervisor: what consoles demand, and what running guests are told when a certificate is renewed."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import libvirt, pki
from ansible_collections.groundup.cloud.tests.unit.tls import pair

HOST: dict[str, Any] = {"hypervisors": ("hypervisor-1", "hypervisor-2"), "uuid": "u", "datapath": "netdev"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Have a host with two guests, the second started without TLS; return what virsh is asked."""
    words: list[str] = []

    def attempt(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        words.append(" ".join(argv[3:]))
        return subprocess.CompletedProcess(argv, int("guest-2" in argv), "guest-1\nguest-2\n", "")

    class Unit:
        """A unit that runs."""

        def __init__(self, changes: Changes, _name: str) -> None:
            self.changes = changes

        def place(self, path: Path, _text: str, **_: object) -> None:
            self.changes.written.add(path)

        def running(self) -> None:
            return

        replaced = mark = running

    monkeypatch.setattr(libvirt, "attempt", attempt)
    monkeypatch.setattr(libvirt, "Unit", Unit)
    monkeypatch.setattr(libvirt, "properties", lambda *_: {"ActiveState": "active"})
    monkeypatch.setattr(libvirt, "group_id", lambda _: None)
    for name in ("LIBVIRT", "QEMU", "AUTHORITY", "OURS"):
        monkeypatch.setattr(pki, name, tmp_path / name)
    return words


@pytest.mark.usefixtures("asked")
def test_units_are_marked_before_their_certificate_is_replaced() -> None:
    said: list[str] = []

    class Agent:
        def mark(self) -> None:
            said.append("marked" if not (pki.OURS / "key.pem").exists() else "too late")

        def replaced(self) -> None:
            said.append("replaced")

    agent: Any = Agent()
    pki.own(Changes(check=False), shown(), readers=None, units=(agent,))
    assert said == ["marked"] * 4 + ["replaced"], "a run that is killed in between leaves the mark"
    pki.own(Changes(check=True), shown(), readers=None, units=())


def shown(*, days: int = 300) -> pki.Pair:
    made = pair(days=days)
    return pki.Pair(
        user="hypervisor-1",
        certificate=made.certificate,
        key=made.key,
        authority=made.certificate,
        consoles="",
        ovn="",
        queue="",
    )


def test_consoles_of_running_guests_show_a_renewed_certificate(asked: list[str]) -> None:
    first, changes = shown(), Changes(check=False)
    libvirt.configure(changes, first, **HOST)
    reloads = [f"domdisplay-reload guest-{number} --type vnc" for number in (1, 2)]
    assert asked == ["list --uuid", *reloads]
    (warning,) = changes.warnings
    assert "guest-2" in warning
    assert "guest-1" not in warning
    asked.clear()
    libvirt.configure(Changes(check=False), first, **HOST)
    assert asked == [], "the same certificate is shown already"
    libvirt.configure(Changes(check=True), shown(), **HOST)
    assert asked == []


def test_libvirt_lets_in_hypervisors_of_the_site_file_by_name_and_nobody_else() -> None:
    text = libvirt._libvirtd(("hypervisor-2", "hypervisor-1"), uuid="u")
    assert 'tls_allowed_dn_list = ["CN=hypervisor-1", "CN=hypervisor-2"]' in text
    assert 'host_uuid = "u"' in text, "boards repeat theirs, and libvirt refuses to migrate between two of one id"


def test_consoles_demand_a_certificate() -> None:
    options = dict(line.split(" = ") for line in libvirt._QEMU.splitlines() if " = " in line)
    assert (options["vnc_tls"], options["vnc_tls_x509_verify"]) == ("1", "1")
    assert options["vnc_tls_x509_cert_dir"] == f'"{pki.QEMU}"'


@pytest.mark.parametrize(("days", "warned"), [(20, True), (40, False)])
def test_a_certificate_that_ends_soon_is_warned_of(
    days: int, warned: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pki, "OURS", tmp_path)
    (tmp_path / "certificate.pem").write_text(shown(days=days).certificate)
    changes = Changes(check=False)
    pki.soon(changes, "hypervisor-1")
    assert ["hypervisor-1" in line for line in changes.warnings] == ([True] if warned else [])

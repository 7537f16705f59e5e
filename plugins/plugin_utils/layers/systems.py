"""Operating systems that hosts may have, and the versions of each that matter here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRecord:
    """One supported system. Versions are those of its own packages; the kernel is the oldest that is expected."""

    name: str
    id: str  # ID and VERSION_ID of its os-release
    version: str
    codename: str
    architecture: str
    kernel: str
    systemd: str
    python: str
    containerd: str
    cgroup: str  # version it boots with


SYSTEMS: dict[str, SystemRecord] = {
    "12": SystemRecord(
        name="Debian 12",
        id="debian",
        version="12",
        codename="bookworm",
        architecture="amd64",
        kernel="6.1",
        systemd="252",
        python="3.11",
        containerd="1.6",
        cgroup="2",
    ),
    "13": SystemRecord(
        name="Debian 13",
        id="debian",
        version="13",
        codename="trixie",
        architecture="amd64",
        kernel="6.12",
        systemd="257",
        python="3.13",
        containerd="1.7",
        cgroup="2",
    ),
}

"""Supported operating systems of hosts, and their relevant versions."""

from __future__ import annotations

from dataclasses import dataclass

ENVIRONMENT = "environment.tar.gz"  # file of an artifact that is a Python environment for one of them


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRecord:
    """One supported system. Versions are those of its packages; ``kernel`` is the oldest accepted."""

    name: str
    id: str  # ID in os-release; `version` is its VERSION_ID
    version: str
    codename: str
    architecture: str
    kernel: str
    systemd: str
    python: str
    containerd: str
    cgroup: str  # cgroup version at boot


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

"""The root file system of a lab host in namespaces: its programs without systemd, and a network of loopback."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply

ROOTFS = "rootfs-host"
_ENTER = """
lower=$1 work=$2; shift 2
mkdir -p "$work/upper" "$work/work" "$work/root"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$work/upper,workdir=$work/work" "$work/root"
cd "$work/root"
mount --rbind /dev dev; mount -t proc proc proc; mount -t sysfs sysfs sys
mount -t tmpfs tmpfs run; mount -t tmpfs tmpfs tmp
ip link set lo up
for address; do ip address add "$address" dev lo; done
exec chroot . sh -c 'echo entered; exec sleep infinity'
"""


class HostRoot:
    """A host's programs and files, and a network that ends at them."""

    def __init__(self, pid: int) -> None:
        """Take the process whose namespaces they are."""
        self._pid = pid
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def pid(self) -> int:
        """Return the process whose namespaces they are."""
        return self._pid

    def at(self, path: str | Path) -> Path:
        """Return a path of the host as this process sees it."""
        return Path(f"/proc/{self._pid}/root") / str(path).lstrip("/")

    def argv(self, *argv: str, outside: bool = False) -> list[str]:
        """Return the command line that runs ``argv`` on the host; ``outside``: a program of this machine, beside it."""
        spaces = ["--net"] if outside else ["--net", "--mount", "--pid", "--root", "--wd"]
        return ["nsenter", "--target", str(self._pid), *spaces, "--", *argv]

    def run(
        self, *argv: str, outside: bool = False, limit: float = 300, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run ``argv`` to its end; what it says on either stream is ``stdout``."""
        return subprocess.run(
            self.argv(*argv, outside=outside), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=limit, check=False, **more,
        )  # fmt: skip

    def start(self, *argv: str) -> None:
        """Have ``argv`` run until the host ends."""
        log = self.at(f"tmp/{Path(argv[0]).name}.log").open("wb")
        self._started.append(subprocess.Popen(self.argv(*argv), stdout=log, stderr=log))

    def end(self) -> None:
        """Wait for what was started; the host's end is theirs."""
        for process in self._started:
            process.wait()


@contextmanager
def host_root(directory: Path, *addresses: str) -> Iterator[HostRoot]:
    """Give a host with ``addresses`` whose files lie below ``directory``; skip where there can be none."""
    if os.geteuid() != 0:
        pytest.skip("a host's programs run as root")
    if supply.missing([ROOTFS]):
        pytest.skip(f"{ROOTFS} is not built on this machine")
    spaces = ["--mount", "--pid", "--net", "--fork", "--kill-child=KILL", "--propagation=private"]
    enter = ["sh", "-euc", _ENTER, "sh", str(supply.unpacked(ROOTFS)), str(directory), *addresses]
    with subprocess.Popen(["unshare", *spaces, "--", *enter], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"entered\n"
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        host = HostRoot(int(child))
        try:
            yield host
        finally:
            process.kill()
            host.end()

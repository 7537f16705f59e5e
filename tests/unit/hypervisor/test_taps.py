"""The hook by which libvirt switches on the taps of a guest that started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import taps

GUEST = """<domain type='qemu'><name>instance-00000003</name><devices>
<interface type='ethernet'><mac address='fa:16:3e:31:3e:7b'/><target dev='tap328e2346-72'/></interface>
<interface type='ethernet'><target dev='tap05'/></interface>
<interface type='direct'><target dev='macvtap0'/></interface>
</devices></domain>"""


def ran(tmp_path: Path, operation: str, *, code: int = 0) -> list[str]:
    """Run the hook as libvirt does, with programs that end with ``code``; return what it ran."""
    hook, log = tmp_path / "hook", tmp_path / "log"
    hook.write_text(taps.HOOK)
    log.touch()
    for name in ("ovs-vsctl", "ip"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\nexit {code}\n')
        program.chmod(0o755)
    argv = [sys.executable, str(hook), "instance-00000003", operation, "begin", "-"]
    subprocess.run(argv, input=GUEST, text=True, check=True, env={"PATH": str(tmp_path)})
    return log.read_text().splitlines()


@pytest.mark.parametrize("code", [0, 1])
def test_taps_are_switched_on_after_the_switch_has_them_and_a_guest_goes_on_without(tmp_path: Path, code: int) -> None:
    assert ran(tmp_path, "started", code=code) == [
        line
        for tap in ("tap328e2346-72", "tap05")
        for line in (f"ovs-vsctl --timeout=10 wait-until Interface {tap} ofport>0", f"ip link set dev {tap} up")
    ]


def test_nothing_is_done_at_any_other_time(tmp_path: Path) -> None:
    assert [ran(tmp_path, operation) for operation in ("prepare", "start", "stopped", "release")] == [[]] * 4


def test_a_switch_in_the_kernel_needs_no_hook() -> None:
    placed: list[tuple[Path, int]] = []

    class Daemon:
        def place(self, path: Path, _: str, *, mode: int) -> None:
            placed.append((path, mode))

    for datapath in ("system", "netdev"):
        taps.switched_on(Daemon(), datapath=datapath)  # type: ignore[arg-type]  # a unit as far as it is asked
    assert placed == [(taps.PLACE, 0o755)]

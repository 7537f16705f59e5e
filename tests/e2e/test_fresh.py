"""`make lab` on a fresh Debian: systemd is its init, it has control groups of version 2 alone and modules to load."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator

import pytest
from ansible_collections.groundup.cloud.tests.e2e.fresh import MACHINES, FreshDebian

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="writing a disk needs root"),
    pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="no QEMU: ci/bootstrap machine installs it"),
]

HOURS = 3600.0
GROUPS = "/sys/fs/cgroup"


@pytest.fixture(scope="module", params=MACHINES)
def fresh(request: pytest.FixtureRequest) -> Iterator[FreshDebian]:
    """A machine, started from a new disk."""
    machine = MACHINES[request.param]
    machine.install()
    machine.power_on()
    yield machine
    machine.destroy()


def timed(fresh: FreshDebian, command: str, *, hours: float) -> None:
    """Run a command of the clone and print how long it took."""
    began = time.monotonic()
    fresh.follow(command, seconds=hours * HOURS)
    print(json.dumps({"debian": fresh.release, "command": command, "seconds": round(time.monotonic() - began)}))


def test_it_is_a_machine_as_the_installer_leaves_it(fresh: FreshDebian) -> None:
    assert fresh.run("cat /proc/1/comm").strip() == "systemd"
    assert fresh.run(f"stat -fc %T {GROUPS}").strip() == "cgroup2fs"
    assert "br_netfilter" not in fresh.run("cat /proc/modules")


def test_make_lab_goes_from_the_site_file_to_a_token(fresh: FreshDebian) -> None:
    timed(fresh, "make lab", hours=4)


def test_hosts_have_control_groups_and_their_machine_goes_on(fresh: FreshDebian) -> None:
    controllers = fresh.run(f"cat {GROUPS}/groundup/lab/control-1/cgroup.controllers").split()
    assert {"cpu", "cpuset", "io", "memory", "pids"} <= set(controllers)
    fresh.run("systemctl daemon-reload")  # the machine's systemd leaves alone what it did not make
    assert fresh.run(f"cat {GROUPS}/groundup/lab/control-1/cgroup.controllers").split() == controllers
    assert fresh.run("cat /proc/sys/net/bridge/bridge-nf-call-iptables").strip() == "0"
    assert fresh.run("systemctl list-units --failed --plain --no-legend") == ""


def test_a_second_run_changes_nothing(fresh: FreshDebian) -> None:
    timed(fresh, "ci/lab unchanged", hours=2)


def test_make_lab_destroy_leaves_the_machine_as_it_was(fresh: FreshDebian) -> None:
    timed(fresh, "ci/run pytest -q -s tests/e2e/test_lab_gone.py", hours=1)
    assert "br_netfilter" not in fresh.run("cat /proc/modules")
    assert fresh.run(f"find {GROUPS} -name 'groundup*'") == ""

"""An upgrade changes what was told and nothing more; a reboot is known by more than an ssh that answers."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._host import foresight, patching
from ansible_collections.groundup.cloud.plugins.module_utils._host.simulation import PackageChange


def change(package: str, before: str = "1") -> PackageChange:
    return PackageChange(package=package, before=before, after="2", security=False)


def test_packages_that_are_not_chosen_keep_their_versions_and_new_ones_stay_away() -> None:
    found = patching.pins([change("bash"), change("ovn-common", "25.03"), change("libnew", "")], ["bash"])
    assert found == (
        "Package: ovn-common\nPin: version 25.03\nPin-Priority: 1001\n\n"
        "Package: libnew\nPin: version *\nPin-Priority: -1\n\n"
    )


def test_logins_and_guests_are_not_restarted_nor_units_that_may_not_be() -> None:
    waiting = ["machine-qemu-1.scope", "sessions", "ssh.service", "ovs-vswitchd.service"]
    assert patching.restartable(waiting, None) == ["ssh.service", "ovs-vswitchd.service"]
    assert patching.restartable(waiting, ["ssh.service", "cron.service"]) == ["ssh.service"]


def proc(home: Path, *, boot: str, started: int) -> str:
    (home / "sys/kernel/random").mkdir(parents=True, exist_ok=True)
    (home / "1").mkdir(exist_ok=True)
    (home / "sys/kernel/random/boot_id").write_text(f"{boot}\n")
    fields = ["S", *map(str, range(4, 22)), str(started), "23"]
    (home / "1/stat").write_text(f"1 (a (b) c) {' '.join(fields)}\n")
    return foresight.boot(home)


def test_a_boot_of_a_machine_and_a_start_of_a_container_are_another_one(tmp_path: Path) -> None:
    first = proc(tmp_path, boot="aaaa", started=7)
    assert first == "aaaa:7"
    assert proc(tmp_path, boot="aaaa", started=7) == first, "a host that only answers again is the same"
    assert proc(tmp_path, boot="bbbb", started=7) != first
    assert proc(tmp_path, boot="aaaa", started=900) != first

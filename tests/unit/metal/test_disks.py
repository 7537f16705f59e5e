"""Which disk a machine's system is written to: what the site file says, what Ironic is told, what a ramdisk found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.disks import Disk, lacks_system_disk, root_device
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.match import judge
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import seen
from ansible_collections.groundup.cloud.tests.unit.metal.test_way import Seed, go, states, wanted

TOLD: list[dict[str, Any]] = [
    {"name": "/dev/sda", "size": 480 * 2**30, "serial": ["S1AA", None], "wwn": "0x5000C5000A", "model": "QEMU HARDDISK",
     "rotational": False, "by_path": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1"},
    {"name": "/dev/sdb", "size": 16 * 2**30, "serial": "S2", "rotational": True},
]  # fmt: skip


def disks() -> tuple[Disk, ...]:
    return seen(1, inventory={"disks": TOLD}).disks


@pytest.mark.parametrize(
    "said",
    [
        {"serial": "S1aa"}, {"wwn": "0x5000c5000a"}, {"model": "QEMU HARDDISK"}, {"rotational": False},
        {"path": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1"}, {"min_gb": 480}, {"serial": "S1AA", "min_gb": 100},
    ],
)  # fmt: skip
def test_a_disk_is_found_by_what_the_site_file_says_of_it(said: dict[str, Any]) -> None:
    assert [disk.name for disk in disks() if disk.is_what(said)] == ["sda"]
    assert lacks_system_disk(disks(), said) == ""


@pytest.mark.parametrize("said", [{"serial": "S3"}, {"serial": "S1AA", "rotational": True}, {"min_gb": 481}])
def test_a_machine_without_the_disk_is_not_installed_and_its_card_lists_those_it_has(site: Any, said: Any) -> None:
    plan = site()
    host = replace(plan.hosts["found-1"], system_disk=said)
    one = seen(1, inventory={"disks": TOLD})
    card = judge(plan, host, replace(one, disks=tuple(replace(disk, used="") for disk in one.disks)))
    assert card
    assert card.what.startswith("it is not what the plan says: no system disk (")
    assert card.what.endswith(
        "among sda 480 GiB serial s1aa wwn 0x5000c5000a model qemu harddisk; sdb 16 GiB serial s2"
    )


def test_of_several_that_match_none_is_written_to() -> None:
    assert lacks_system_disk(disks(), {"min_gb": 16}) == (
        "2 disks that may be the system disk (min_gb 16): "
        "sda 480 GiB serial s1aa wwn 0x5000c5000a model qemu harddisk; sdb 16 GiB serial s2"
    )


def test_without_a_word_of_it_any_disk_that_is_large_enough_does() -> None:
    assert lacks_system_disk(disks(), None) == ""
    assert lacks_system_disk((), None) == "no disk of 4 GiB"
    assert lacks_system_disk((), {"serial": "S1"}) == "no disk of 4 GiB"


def test_ironic_is_told_in_its_own_words_with_each_deployment(tmp_path: Path) -> None:
    assert root_device({}) == {}
    assert root_device({"model": "X"}) == {"model": "X", "size": ">= 4"}, "no SD card of that model"
    said = {"serial": "S1", "path": "/dev/disk/by-path/x", "rotational": False, "min_gb": 100}
    hints = {"serial": "S1", "by_path": "/dev/disk/by-path/x", "rotational": False, "size": ">= 100"}
    assert root_device(said) == hints
    for own in ({}, hints):
        seed = Seed(*states("available", "deploying", "active"))
        go(seed, tmp_path / f"journal-{len(own)}", work=replace(wanted(), root_device=own))
        (image,) = [fields["/instance_info"] for fields in seed.changed if "/instance_info" in fields]
        assert image.get("root_device", {}) == own, "what an earlier run said is written over"

"""Which device paths are surely one disk by their names alone."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.device_names import overlap

ID, SLOT = "/dev/disk/by-id", "/dev/disk/by-path"


ONE_DISK = [
    ("/dev/sdb", "/dev/sdb1"),
    ("/dev/nvme0n1", "/dev/nvme0n1p2"),
    ("/dev/sdb", "/dev//sdb"),
    ("/dev/sdb", "/dev/disk/../sdb"),
    (f"{SLOT}/pci-0000:00:1f.2-ata-1", f"{SLOT}/pci-0000:00:1f.2-ata-1.0"),
    (f"{SLOT}/pci-0000:3b:00.0-sas-phy4-lun-0", f"{SLOT}/pci-0000:3b:00.0-sas-phy4-lun-0-part3"),
    (f"{ID}/wwn-0x5000c500a1b2c3d4", f"{ID}/scsi-35000c500a1b2c3d4"),
    (f"{ID}/wwn-0x5000c500a1b2c3d4-part1", f"{ID}/scsi-35000c500a1b2c3d4"),
    (f"{ID}/dm-uuid-mpath-35000c500a1b2c3d4", "/dev/mapper/35000C500A1B2C3D4"),
    (f"{ID}/ata-ST4000NM0033-9ZM170_Z1Z2ABCD", f"{ID}/scsi-0ATA_ST4000NM0033-9ZM_Z1Z2ABCD"),
    (f"{ID}/ata-ST4000NM0033-9ZM170_Z1Z2ABCD", f"{ID}/scsi-SATA_ST4000NM0033-9ZM170_Z1Z2ABCD"),
    (f"{ID}/nvme-SAMSUNG_MZ_S4NX1", f"{ID}/nvme-SAMSUNG_MZ_S4NX1_1"),
]
TWO_DISKS = [
    ("/dev/sdb", "/dev/sdc"),
    ("/dev/sdb", "/dev/sdba"),
    ("/dev/sdb1", "/dev/sdb2"),
    ("/dev/nvme0n1", "/dev/nvme0n2"),
    ("/dev/nvme0n1", "/dev/nvme1n1"),
    (f"{SLOT}/pci-0000:3b:00.0-sas-phy4-lun-0", f"{SLOT}/pci-0000:3b:00.0-sas-phy5-lun-0"),
    (f"{SLOT}/pci-0000:00:1f.2-ata-1", f"{SLOT}/pci-0000:00:1f.2-ata-10"),
    (f"{ID}/wwn-0x5000c500a1b2c3d4", f"{ID}/wwn-0x5000c500a1b2c3d5"),
    (f"{ID}/ata-ST4000_Z1", f"{ID}/ata-WD4000_Z1"),
    (f"{ID}/ata-ST4000_Z1", f"{ID}/ata-ST4000_Z2"),
]


@pytest.mark.parametrize(
    ("one", "other", "same"), [*((*pair, True) for pair in ONE_DISK), *((*pair, False) for pair in TWO_DISKS)]
)
def test_names_alone_tell_one_disk_from_two(one: str, other: str, same: bool) -> None:
    assert overlap(one, other) is same
    assert overlap(other, one) is same

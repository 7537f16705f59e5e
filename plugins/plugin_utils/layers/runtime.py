"""Programs and files that services of hypervisors look for only when an instance asks for what needs them."""

from __future__ import annotations

# Path -> package, and what fails without it. Nova then tries another hypervisor, until none is left.
HYPERVISOR: dict[str, tuple[str, str]] = {
    "/usr/bin/genisoimage": ("genisoimage", "instances with a config drive"),
    "/usr/sbin/mkfs.vfat": ("dosfstools", "ephemeral disks of flavors, unless the image names another system"),
    "/usr/sbin/mkfs.ext4": ("e2fsprogs", "ephemeral disks of images with os_type linux; larger raw disks"),
    "/usr/sbin/mkfs.ntfs": ("ntfs-3g", "ephemeral disks of images with os_type windows"),
    "/usr/share/OVMF/OVMF_CODE_4M.fd": ("ovmf", "images with hw_firmware_type uefi"),
    "/usr/bin/qemu-img": ("qemu-utils", "disks and snapshots"),
    "/usr/sbin/haproxy": ("haproxy", "metadata of instances, one process a network"),
}

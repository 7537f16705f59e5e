"""Programs and files that OpenStack's services look for only when somebody asks for what needs them."""

from __future__ import annotations

# Path on a hypervisor -> package that brings it, itself or by one that it needs, and what fails without it. Nova then
# tries another hypervisor, until none is left.
HYPERVISOR: dict[str, tuple[str, str]] = {
    "/usr/bin/genisoimage": ("genisoimage", "instances with a config drive"),
    "/usr/sbin/mkfs.vfat": ("dosfstools", "ephemeral disks of flavors, unless the image names another system"),
    "/usr/sbin/mkfs.ext4": ("e2fsprogs", "ephemeral disks of images with os_type linux; larger raw disks"),
    "/usr/sbin/mkfs.ntfs": ("ntfs-3g", "ephemeral disks of images with os_type windows"),
    "/usr/share/OVMF/OVMF_CODE_4M.fd": ("ovmf", "images with hw_firmware_type uefi"),
    "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd": ("ovmf", "images with os_secure_boot"),
    # Without its description libvirt takes no firmware for it.
    "/usr/share/qemu/firmware/40-edk2-x86_64-secure-enrolled.json": ("ovmf", "images with os_secure_boot"),
    "/usr/bin/qemu-img": ("qemu-utils", "disks and snapshots"),
    "/usr/sbin/haproxy": ("haproxy", "metadata of instances, one process a network"),
    "/usr/sbin/iptables-save": ("iptables", "metadata of instances where Open vSwitch runs without the kernel"),
    "/usr/bin/uptime": ("openvswitch-switch", "openstack hypervisor show"),
    "/usr/bin/kill": ("openvswitch-switch", "the end of a network's metadata proxy"),
}

# The same, of sites with Barbican: Nova keeps there what unlocks a TPM.
TPM: dict[str, tuple[str, str]] = {
    f"/usr/bin/{name}": ("swtpm-tools", "instances with a TPM")
    for name in ("swtpm", "swtpm_ioctl", "swtpm_localca", "swtpm_setup")
}

# Extra spec of a flavor (property of an image: "_" for ":") -> what it asks a hypervisor for, and none offers.
NOT_OFFERED: dict[str, str] = {
    "hw:tpm_secret_security=deployment": "TPM whose secret Nova's own account keeps",
    "pci_passthrough:alias": "devices for an instance alone, such as graphics",
    "resources:VGPU": "virtual graphics",
}

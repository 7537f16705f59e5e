"""Machines in the site file: groups by count, by name or by rack, and settings of single machines."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ....module_utils._plan.ceph import DeviceClass
from ...layers.provisioners import PROVISIONERS, Approve, Provisioner
from ...layers.roles import Role
from ..layout.names import expand_names
from .base import Address, InterfaceName, Mac, Model, Name
from .identifiers import ChassisSerial, ControllerAddress, Serial, System
from .wiring import VirtualFunctions, Wiring


def _name_or_range(value: str) -> str:
    expand_names(value)
    return value


NameOrRange = Annotated[
    str,
    AfterValidator(_name_or_range),
    Field(min_length=1, max_length=80, json_schema_extra={"examples": ["hv-01", "hv-[01:40]"]}),
]
# The API server's own rules: it would refuse other values only after the nodes exist.
_WORD = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_KEY = rf"([a-z0-9]([a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_WORD}"
LabelKey = Annotated[str, Field(pattern=rf"^{_KEY}$")]
LabelValue = Annotated[str, Field(pattern=rf"^({_WORD})?$")]
Taint = Annotated[str, Field(pattern=rf"^{_KEY}(=({_WORD})?)?:(NoSchedule|PreferNoSchedule|NoExecute)$")]
Share = Annotated[str, Field(pattern=r"^(100|[1-9]?[0-9])%$", json_schema_extra={"examples": ["10%"]})]


class Compute(Model):
    """Settings of a machine as a hypervisor."""

    datapath: Literal["system", "netdev"] = Field(
        "system",
        description="What forwards packets: system, the kernel's module openvswitch; netdev, Open vSwitch itself.",
    )
    virt_type: Literal["kvm", "qemu"] = Field("kvm", description="qemu: emulation without KVM, for tests.")
    cpu_mode: Literal["host-model", "host-passthrough", "custom"] = Field(
        "host-model", description="CPU that guests see. With several kinds of machines: custom, and a cpu_model."
    )
    cpu_model: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")] | None = Field(
        None, description="custom: a CPU model of libvirt that every machine of the site supports."
    )
    machine_type: Literal["q35", "pc"] = Field("q35", description="Machine type that guests see.")
    disks: Literal["host", "ceph"] = Field(
        "host",
        description="Disks of instances without a volume: host, files on the hypervisor; ceph, images in the site's "
        "Ceph, where a live migration copies none.",
    )
    reserved_cores: Annotated[int, Field(ge=0, le=4096)] = Field(2, description="Cores reserved for the host.")
    reserved_memory_gb: Annotated[int, Field(ge=0, le=65536)] = Field(8, description="Memory for the host, GiB.")
    reserved_disk_gb: Annotated[int, Field(ge=0, le=1048576)] = Field(20, description="Disk for the host, GiB.")
    cpu_allocation_ratio: Annotated[float, Field(gt=0, le=64)] = Field(4.0, description="Virtual cores per core.")
    ram_allocation_ratio: Annotated[float, Field(gt=0, le=4)] = Field(
        1.0, description="Guests' memory relative to the host's."
    )
    stop_seconds: Annotated[int, Field(ge=0, le=600)] = Field(
        160, description="Seconds nova-compute has to finish its work when it is stopped: Nova always waits all of it."
    )

    @model_validator(mode="after")
    def _model_goes_with_custom(self) -> Compute:
        if (self.cpu_mode == "custom") != (self.cpu_model is not None):
            raise ValueError("cpu_mode: custom and a cpu_model go together: write both or neither")
        return self


class Osd(Model):
    """One OSD of a storage host. Exactly one of device and file."""

    device: Annotated[str, Field(pattern=r"^/dev/[A-Za-z0-9._/:+-]{1,200}$")] | None = Field(
        None,
        description="Path of a whole block device that stays the same over reboots, such as /dev/disk/by-path/... or "
        "/dev/disk/by-id/.... A device that holds data is refused.",
    )
    file: Name | None = Field(None, description="Name of an OSD that is a file in the OSD's own directory, for tests.")
    size_gb: Annotated[int, Field(ge=1, le=65536)] | None = Field(None, description="Size of the file, GiB.")
    device_class: DeviceClass = Field("ssd", description="Kind of device; each pool uses one kind.")

    @model_validator(mode="after")
    def _device_or_file(self) -> Osd:
        if (self.device is None) == (self.file is None) or (self.file is None) != (self.size_gb is None):
            raise ValueError("write either device, or file and size_gb")
        return self


class SystemDisk(Model):
    """The disk for the operating system. Exactly one disk must match every key written here."""

    serial: Serial | None = Field(None, description="Serial number of the disk.")
    wwn: Annotated[str, Field(pattern=r"^[0-9a-z][0-9a-z.:-]{7,127}$")] | None = Field(
        None, description="World wide name of the disk, as lsblk shows it."
    )
    model: Annotated[str, Field(max_length=64, pattern=r"^[!-~]+( [!-~]+)*$")] | None = Field(
        None, description="Model of the disk, as lsblk shows it."
    )
    path: Annotated[str, Field(pattern=r"^/dev/disk/by-path/[A-Za-z0-9._:+-]{1,200}$")] | None = Field(
        None, description="Path of the disk by its slot: /dev/disk/by-path/..."
    )
    rotational: bool | None = Field(None, description="Whether it is a spinning disk.")
    min_gb: Annotated[int, Field(ge=4, le=1048576)] | None = Field(None, description="Minimum size, GiB.")

    @model_validator(mode="after")
    def _says_something(self) -> SystemDisk:
        if not self.model_dump(exclude_none=True):
            raise ValueError("says nothing: write serial, wwn, model, path, rotational or min_gb")
        return self


class Hardware(Model):
    """A hardware profile: what a machine must have. Inspection compares it with the real machine."""

    cores: Annotated[int, Field(ge=1, le=4096)] = Field(description="Processor cores.")
    memory_gb: Annotated[int, Field(ge=1, le=65536)] = Field(description="Memory, GiB.")
    nic_gbps: Annotated[int, Field(ge=1, le=1600)] = Field(
        description="Speed of the slowest network port in use, Gbit/s."
    )
    nvme: bool = Field(description="Whether the system disk is NVMe.")
    compute: Compute = Field(default_factory=Compute, description="Settings as a hypervisor.")
    wiring: Wiring | None = Field(None, description="Cabling. Default: each network has a port of its own, or a VLAN.")
    system_disk: SystemDisk | None = Field(
        None,
        description="ironic: the disk for the operating system. Default: the smallest of at least 4 GiB.",
    )
    osds: Annotated[list[Osd], Field(max_length=200)] = Field(
        default_factory=list,
        description="native: OSDs of a storage host. Disks that are not named here are not touched.",
    )
    sriov: dict[InterfaceName, VirtualFunctions] = Field(
        default_factory=dict,
        description="Hypervisors: network cards for ports of `--vnic-type direct`, by the name of their port there.",
    )


class Bmc(Model):
    """A machine's BMC (management controller). A machine with one is provisioned as a bare-metal machine."""

    address: ControllerAddress | None = Field(
        None, description="Address of the BMC. Default: allotted from the oob network."
    )
    system: System | None = Field(
        None,
        description="Id or path of the machine in Redfish, where its BMC has several systems. Default: the one "
        "with the serial number, else the one with network ports, BIOS and power.",
    )
    mac: Mac | None = Field(None, description="MAC address of the BMC's own port. Default: unknown.")
    protocol: Literal["redfish", "redfish-virtual-media", "ipmi"] = Field("redfish", description="Its protocol.")
    user: Annotated[str, Field(pattern=r"^[!-~]{1,64}$")] = Field("admin", description="User name on the BMC.")
    credentials: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9/_-]{0,62}$")] = Field(
        "bmc/default", description="Name of the password in the secrets store. Never the password itself."
    )


class Port(Model):
    """One network port of one machine."""

    address: Address | None = Field(None, description="Address on that network. Default: allotted.")
    mac: Mac | None = Field(None, description="MAC address of the port. Default: unknown, found by inspection.")
    interface: InterfaceName | None = Field(None, description="Name of the interface. Default: the network's.")


class Machine(Model):
    """Settings of one machine; everything else comes from its group."""

    number: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        None, description="Place in the role's address range. Default: the number at the end of its name."
    )
    address: Address | None = Field(None, description="Address on the management network. Default: allotted.")
    rack: Name | None = Field(None, description="Rack of the machine. Default: its group's.")
    hardware: Name | None = Field(None, description="Hardware profile. Default: its group's.")
    mac: Mac | None = Field(None, description="MAC address of the port it boots from. Default: unknown.")
    serial: ChassisSerial | None = Field(None, description="Serial number of the chassis. Default: unknown.")
    bmc: Bmc | None = Field(None, description="Its BMC. Default: its group's.")
    ports: dict[Name, Port] = Field(default_factory=dict, description="Its ports, by network, where they differ.")
    system_disk: SystemDisk | None = Field(
        None, description="The disk for its operating system. Default: its hardware profile's."
    )
    wiring: Wiring | None = Field(None, description="Cabling. Default: its group's.")
    nics: dict[InterfaceName, Mac] = Field(
        default_factory=dict,
        description="MAC addresses of the ports that `wiring` names. A port that is missing here is found by its name.",
    )


class Enough(Model):
    """How many machines of a group must serve before a run goes on. Write at least one of the three."""

    minimum: Annotated[int, Field(ge=0, le=20000)] | Share | None = Field(
        None, description="Machines of the group: a number or a share, rounded up. Default: 0."
    )
    minimum_per_rack: Annotated[int, Field(ge=0, le=1024)] | Share | None = Field(
        None,
        description="Machines of the group in each rack; in a rack with fewer, all of them. Default: 0.",
    )
    critical: Annotated[list[Name], Field(max_length=1000)] = Field(
        default_factory=list,
        description="Machines of the group that must serve in any case. Their installation begins first.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> Enough:
        if self.minimum is None and self.minimum_per_rack is None and not self.critical:
            raise ValueError("says nothing: write minimum, minimum_per_rack or critical")
        return self


class MachineGroup(Model):
    """A group of equal machines. Write exactly one of count, names and per_rack."""

    roles: list[Role] | None = Field(
        None, min_length=1, description="Roles of the machines. Default: the group's name, when that is a role."
    )
    count: Annotated[int, Field(ge=0, le=20000)] | None = Field(
        None, description="Number of machines, named <group>-1, <group>-2, ..."
    )
    names: Annotated[list[NameOrRange], Field(max_length=20000)] | None = Field(
        None,
        description="Names; hv-[01:40] stands for forty. The number at the end of a name decides its address.",
    )
    per_rack: Annotated[int, Field(ge=0, le=1024)] | None = Field(
        None,
        description="Machines in each of `racks`, named <group>-<rack>-1, ... Each rack has a block of addresses.",
    )
    rack: Name | None = Field(None, description="Rack of all of them.")
    racks: list[Name] | None = Field(
        None, min_length=1, description="Racks they are spread over, in turn. Default: per_rack, all racks."
    )
    offset: Annotated[int, Field(ge=0, le=65535)] = Field(
        0, description="Added to each machine's place in the role's address range: keeps two groups of one role apart."
    )
    slots_per_rack: Annotated[int, Field(ge=1, le=1024)] = Field(
        64,
        description="per_rack: size of a rack's block of addresses in the role's range. A change moves addresses.",
    )
    hardware: Name | None = Field(None, description="Hardware profile. Default: the profile's for the role.")
    provisioner: Provisioner | None = Field(
        None,
        description=f"{'; '.join(f'{name}: {record.what}' for name, record in PROVISIONERS.items())}. "
        "Default: ironic when there is a bmc, else the profile's.",
    )
    bmc: Bmc | None = Field(None, description="Common settings of their BMCs. Default: none.")
    wiring: Wiring | None = Field(None, description="Cabling. Default: their hardware profile's.")
    manage_network: bool = Field(
        False,
        description="existing: whether the host layer writes bonds, VLANs, addresses and routes for "
        "systemd-networkd. It always does on machines that Ironic installs.",
    )
    approve: Approve = Field(
        "ask",
        description="Whether a discovered machine is approved without a question. Used disks always need approval; so "
        "does a control host or seed whose BMC does not confirm it. Where the site file has the boot "
        "port, ask does so only if its BMC does not confirm the machine, or as control host or seed.",
    )
    max_unavailable: Annotated[int, Field(ge=0, le=20000)] | Share | None = Field(
        None,
        description="How many may be down or failing while a run goes on with the others: a number or a share, rounded "
        "down. Default: what `enough` leaves, else 10% and at least one, never all; storage: 0. "
        "Always 0 for seed and control.",
    )
    enough: Enough | None = Field(
        None,
        description="How many must serve before a run goes on: those still being installed are left to the next run. "
        "Default: all are waited for.",
    )
    labels: dict[LabelKey, LabelValue] = Field(
        default_factory=dict,
        description="Further Kubernetes node labels. On hypervisors they are also aggregates and traits, and "
        "`groundup.cloud/zone` is the availability zone.",
    )
    taints: list[Taint] = Field(default_factory=list, description="Further Kubernetes node taints, key=value:Effect.")
    machines: dict[str, Machine] = Field(default_factory=dict, description="Settings of single machines, by name.")

    @model_validator(mode="after")
    def _one_way_of_counting(self) -> MachineGroup:
        written = [name for name in ("count", "names", "per_rack") if getattr(self, name) is not None]
        if len(written) != 1:
            said = f"has {' and '.join(written)}" if written else "says neither count, names nor per_rack"
            raise ValueError(f"{said}: write exactly one of count, names and per_rack")
        if self.rack is not None and (self.racks is not None or self.per_rack is not None):
            raise ValueError("has rack beside racks or per_rack: write `racks` for several racks, `rack` for one")
        if self.per_rack is not None and self.racks and len(set(self.racks)) < len(self.racks):
            raise ValueError("names a rack twice beside per_rack: write each once, and a larger per_rack")
        return self

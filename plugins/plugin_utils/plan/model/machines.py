"""Machines, as the site file writes them: groups by count, by name or by rack, and what differs on one of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from ...layers.provisioners import PROVISIONERS, Approve, Provisioner
from ...layers.roles import Role
from ...layers.storage import DeviceClass
from ..layout.names import expand_names
from .base import Address, InterfaceName, Mac, Model, Name
from .wiring import Wiring


def _name_or_range(value: str) -> str:
    expand_names(value)
    return value


NameOrRange = Annotated[
    str,
    AfterValidator(_name_or_range),
    Field(min_length=1, max_length=80, json_schema_extra={"examples": ["hv-01", "hv-[01:40]"]}),
]
# What the API server takes; it refuses others when the nodes are there already.
_WORD = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_KEY = rf"([a-z0-9]([a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_WORD}"
LabelKey = Annotated[str, Field(pattern=rf"^{_KEY}$")]
LabelValue = Annotated[str, Field(pattern=rf"^({_WORD})?$")]
Taint = Annotated[str, Field(pattern=rf"^{_KEY}(=({_WORD})?)?:(NoSchedule|PreferNoSchedule|NoExecute)$")]
Serial = Annotated[str, Field(max_length=64, pattern=r"^[!-~]+( [!-~]+)*$")]


Share = Annotated[str, Field(pattern=r"^(100|[1-9]?[0-9])%$", json_schema_extra={"examples": ["10%"]})]


class Compute(Model):
    """What a machine is as a hypervisor."""

    datapath: Literal["system", "netdev"] = Field(
        "system",
        description="Who carries packets: the kernel's openvswitch module, or Open vSwitch itself.",
    )
    virt_type: Literal["kvm", "qemu"] = Field("kvm", description="qemu: without the processor's help, for tests.")
    cpu_mode: Literal["host-model", "host-passthrough", "custom"] = Field(
        "host-model", description="Processor that guests see. With several kinds of machines: custom, and a cpu_model."
    )
    cpu_model: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")] | None = Field(
        None, description="custom: a model of libvirt that every machine of the site has."
    )
    machine_type: Literal["q35", "pc"] = Field("q35", description="Machine that guests see.")
    disks: Literal["host", "ceph"] = Field(
        "host",
        description="Where disks of instances are that have no volume: files of the hypervisor, or images in the "
        "site's own Ceph, where a live migration copies none.",
    )
    reserved_cores: Annotated[int, Field(ge=0, le=4096)] = Field(2, description="Cores no guest is counted on.")
    reserved_memory_gb: Annotated[int, Field(ge=0, le=65536)] = Field(8, description="Memory for the host, GiB.")
    reserved_disk_gb: Annotated[int, Field(ge=0, le=1048576)] = Field(20, description="Disk for the host, GiB.")
    cpu_allocation_ratio: Annotated[float, Field(gt=0, le=64)] = Field(4.0, description="Virtual cores a core.")
    ram_allocation_ratio: Annotated[float, Field(gt=0, le=4)] = Field(
        1.0, description="Memory of guests to the host's."
    )
    stop_seconds: Annotated[int, Field(ge=0, le=600)] = Field(
        160, description="For what nova-compute has begun, when it is stopped: Nova always waits all of it."
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
        description="Path of a whole block device that stays the same over restarts, such as "
        "/dev/disk/by-path/... or /dev/disk/by-id/.... One that holds data is refused.",
    )
    file: Name | None = Field(None, description="Name of an OSD that is a file in the OSD's own directory, for tests.")
    size_gb: Annotated[int, Field(ge=1, le=65536)] | None = Field(None, description="Size of the file, GiB.")
    device_class: DeviceClass = Field("ssd", description="Kind of device: pools are put on one kind.")

    @model_validator(mode="after")
    def _device_or_file(self) -> Osd:
        if (self.device is None) == (self.file is None) or (self.file is None) != (self.size_gb is None):
            raise ValueError("write either device, or file and size_gb")
        return self


class SystemDisk(Model):
    """The disk that the operating system is written to: all that is written here. Of several, the smallest is taken."""

    serial: Serial | None = Field(None, description="Serial number of the disk.")
    wwn: Annotated[str, Field(pattern=r"^[0-9a-z][0-9a-z.:-]{7,127}$")] | None = Field(
        None, description="World wide name of the disk, as lsblk shows it."
    )
    model: Annotated[str, Field(max_length=64, pattern=r"^[!-~]+( [!-~]+)*$")] | None = Field(
        None, description="Model of the disk, as lsblk shows it."
    )
    path: Annotated[str, Field(pattern=r"^/dev/disk/by-path/[A-Za-z0-9._:+-]{1,200}$")] | None = Field(
        None, description="Where it is plugged in: /dev/disk/by-path/..."
    )
    rotational: bool | None = Field(None, description="Whether it turns.")
    min_gb: Annotated[int, Field(ge=4, le=1048576)] | None = Field(None, description="Least size, GiB.")

    @model_validator(mode="after")
    def _says_something(self) -> SystemDisk:
        if not self.model_dump(exclude_none=True):
            raise ValueError("says nothing: write serial, wwn, model, path, rotational or min_gb")
        return self


class Hardware(Model):
    """What a machine must have; inspection compares it with what the machine has."""

    cores: Annotated[int, Field(ge=1, le=4096)] = Field(description="Processor cores.")
    memory_gb: Annotated[int, Field(ge=1, le=65536)] = Field(description="Memory, GiB.")
    nic_gbps: Annotated[int, Field(ge=1, le=1600)] = Field(
        description="Speed of the slowest network port in use, Gbit/s."
    )
    nvme: bool = Field(description="Whether the system disk is NVMe.")
    compute: Compute = Field(default_factory=Compute, description="What it is as a hypervisor.")
    wiring: Wiring | None = Field(
        None, description="How it is cabled. Default: each network has a port of its own, or a VLAN."
    )
    system_disk: SystemDisk | None = Field(
        None,
        description="ironic: the disk that the operating system is written to. Default: the smallest of 4 GiB at "
        "least.",
    )
    osds: Annotated[list[Osd], Field(max_length=200)] = Field(
        default_factory=list,
        description="native: OSDs of a storage host. A disk that is not named here is not touched.",
    )


class Bmc(Model):
    """A machine's management controller. A machine that has one is provisioned from power-off."""

    address: Address | None = Field(
        None, description="Address of the controller. Default: allotted from the oob network."
    )
    mac: Mac | None = Field(None, description="MAC address of the controller's own port. Default: unknown.")
    protocol: Literal["redfish", "redfish-virtual-media", "ipmi"] = Field("redfish", description="How it is spoken to.")
    user: Annotated[str, Field(pattern=r"^[!-~]{1,64}$")] = Field("admin", description="User that it knows.")
    credentials: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9/_-]{0,62}$")] = Field(
        "bmc/default", description="Name of the password in the secrets store. Never the password itself."
    )


class Port(Model):
    """One network port of one machine."""

    address: Address | None = Field(None, description="Address on that network. Default: allotted.")
    mac: Mac | None = Field(None, description="MAC address of the port. Default: unknown, learnt by inspection.")
    interface: InterfaceName | None = Field(None, description="Name of the interface. Default: the network's.")


class Machine(Model):
    """What one machine has of its own; everything else follows from its group."""

    number: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        None, description="Place in the role's address range. Default: the digits its name ends in."
    )
    address: Address | None = Field(None, description="Address on the management network. Default: allotted.")
    rack: Name | None = Field(None, description="Rack it stands in. Default: its group's.")
    hardware: Name | None = Field(None, description="Hardware profile. Default: its group's.")
    mac: Mac | None = Field(None, description="MAC address of the port it boots from. Default: unknown.")
    serial: Serial | None = Field(None, description="Serial number of the chassis. Default: unknown.")
    bmc: Bmc | None = Field(None, description="Its management controller. Default: its group's.")
    ports: dict[Name, Port] = Field(default_factory=dict, description="Its ports by network, where they differ.")
    system_disk: SystemDisk | None = Field(
        None, description="The disk its operating system is written to. Default: as its hardware profile says."
    )
    wiring: Wiring | None = Field(None, description="How it is cabled. Default: its group's.")
    nics: dict[InterfaceName, Mac] = Field(
        default_factory=dict,
        description="MAC addresses of the ports that `wiring` names. One that is not here is found by its name.",
    )


class Enough(Model):
    """What of a group must serve before a run goes on without the others. At least one of the three."""

    minimum: Annotated[int, Field(ge=0, le=20000)] | Share | None = Field(
        None, description="How many of the group: a number or a share, rounded up. Default: 0."
    )
    minimum_per_rack: Annotated[int, Field(ge=0, le=1024)] | Share | None = Field(
        None,
        description="The same of its machines in each rack; of a rack with fewer, all of them. Default: 0.",
    )
    critical: Annotated[list[Name], Field(max_length=1000)] = Field(
        default_factory=list, description="Machines of the group that must serve in any case. They begin first."
    )

    @model_validator(mode="after")
    def _says_something(self) -> Enough:
        if self.minimum is None and self.minimum_per_rack is None and not self.critical:
            raise ValueError("says nothing: write minimum, minimum_per_rack or critical")
        return self


class MachineGroup(Model):
    """Machines that are alike. Exactly one of count, names and per_rack."""

    roles: list[Role] | None = Field(
        None, min_length=1, description="What the machines do. Default: the group's name, when that is a role."
    )
    count: Annotated[int, Field(ge=0, le=20000)] | None = Field(
        None, description="How many; named <group>-1, <group>-2, ..."
    )
    names: Annotated[list[NameOrRange], Field(max_length=20000)] | None = Field(
        None,
        description="Their names; hv-[01:40] stands for forty. The digits a name ends in number its address.",
    )
    per_rack: Annotated[int, Field(ge=0, le=1024)] | None = Field(
        None,
        description="How many in each of `racks`; named <group>-<rack>-1, ... Each rack has a block of addresses.",
    )
    rack: Name | None = Field(None, description="Rack they all stand in.")
    racks: list[Name] | None = Field(
        None, min_length=1, description="Racks they are spread over, in turn. Default: per_rack, all racks."
    )
    offset: Annotated[int, Field(ge=0, le=65535)] = Field(
        0, description="Added to each machine's place in the role's address range: keeps two groups of one role apart."
    )
    slots_per_rack: Annotated[int, Field(ge=1, le=1024)] = Field(
        64,
        description="per_rack: size of a rack's block of addresses in the role's range. Changing it moves addresses.",
    )
    hardware: Name | None = Field(None, description="Hardware profile. Default: the profile's for the role.")
    provisioner: Provisioner | None = Field(
        None,
        description=f"{'; '.join(f'{name}: {record.what}' for name, record in PROVISIONERS.items())}. "
        "Default: ironic when there is a bmc, else the profile's.",
    )
    bmc: Bmc | None = Field(None, description="What their management controllers have in common. Default: none.")
    wiring: Wiring | None = Field(None, description="How they are cabled. Default: as their hardware profile says.")
    manage_network: bool = Field(
        False,
        description="existing: whether the host layer writes bonds, VLANs, addresses and routes, for systemd-networkd. "
        "It always does where Ironic installs machines.",
    )
    approve: Approve = Field(
        "ask",
        description="Whether a discovered machine that fits becomes one of them without a question. One that the site "
        "file names by serial number, MAC address or controller needs none; used disks always do.",
    )
    max_unavailable: Annotated[int, Field(ge=0, le=20000)] | Share | None = Field(
        None,
        description="How many of them may be down or failing while a run goes on with the others: a number or a share, "
        "rounded down. Default: what `enough` leaves, else 10% and at least one, never all; storage: 0. "
        "Always 0 for seed and control.",
    )
    enough: Enough | None = Field(
        None,
        description="What of them must serve before a run goes on: those that are still being installed are left to "
        "the next run. Default: every one is waited for.",
    )
    labels: dict[LabelKey, LabelValue] = Field(
        default_factory=dict,
        description="Further Kubernetes node labels; of hypervisors also "
        "aggregates and traits, and `groundup.cloud/zone` their availability zone.",
    )
    taints: list[Taint] = Field(default_factory=list, description="Further Kubernetes node taints, key=value:Effect.")
    machines: dict[str, Machine] = Field(
        default_factory=dict, description="What single machines have of their own, by name."
    )

    @model_validator(mode="after")
    def _one_way_of_counting(self) -> MachineGroup:
        written = [name for name in ("count", "names", "per_rack") if getattr(self, name) is not None]
        if len(written) != 1:
            said = f"has {' and '.join(written)}" if written else "says neither count, names nor per_rack"
            raise ValueError(f"{said}: write exactly one of count, names and per_rack")
        if self.rack is not None and (self.racks is not None or self.per_rack is not None):
            raise ValueError("has rack beside racks or per_rack: write `racks` for several racks, `rack` for one")
        return self

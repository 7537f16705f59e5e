"""Check lab requirements of this machine before anything is built or changed.

All faults are reported at once. Resources used by the site's own running hosts count as available.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_interface, ip_network
from pathlib import Path
from typing import Any

from ...module_utils._container import cgroups, forwarding, network, runtime
from ...module_utils._container.names import Lab, link_prefix
from ...module_utils._preflight import system
from ...module_utils._preflight.model import MachineFacts
from ..errors import GroundupError
from ..paths import state_dir
from ..plan import load_site, make_plan
from ..plan.layout.profiles import HARDWARE

# Program -> Debian package
TOOLS = {
    "runc": "runc",
    "ip": "iproute2",
    "ss": "iproute2",
    "ethtool": "ethtool",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "mount": "mount",
    "umount": "mount",
    "chroot": "coreutils",
    "cp": "coreutils",
}
GIB = 1 << 30
# Share of the memory that the site file assigns to hosts. Three labs with a cloud used 0.4 of the 2 GiB of a host; half
# of it leaves room for the page cache, without which everything is very slow.
MEMORY_SHARE = 0.5
# What a host writes until the cloud is up (1.9 to 2.2 GiB were measured), and what kubelet needs free after that.
DISK_PER_HOST, DISK_LEFT = 2 * GIB, 2 * GIB
CORES = 2  # kubeadm's least for a control host
MODULES = (forwarding.MODULE, "bridge", "overlay", "veth")
KVM = Path("/dev/kvm")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabNeeds:
    """Resources that a lab needs on this machine."""

    lab: Lab
    networks: Mapping[str, str]  # name -> CIDR
    memory_gb: Mapping[str, int]  # host -> memory in the site file
    kernel_modules: Sequence[str] = ()
    kvm: Sequence[str] = ()  # hardware profiles whose guests use the processor's virtualisation


@dataclass(frozen=True, slots=True, kw_only=True)
class LabMachine:
    """Resources of this machine. Unit tests replace this class."""

    root: bool
    tools: frozenset[str]
    control_groups: Sequence[tuple[str, str]]  # why they cannot carry a host, and the remedy
    memory_available: int  # bytes
    disk_free: int  # free bytes on the file system of the hosts
    links: Mapping[str, Mapping[str, Any]]
    routes: Sequence[Mapping[str, Any]]
    running: frozenset[str]  # running hosts of the site
    dropping: Sequence[str] = ()  # chains of nftables that drop what crosses the lab's bridges
    lacking: Sequence[str] = ()  # kernel modules
    cores: int = CORES
    kvm: bool = True

    @classmethod
    def now(cls, needs: LabNeeds) -> LabMachine:
        """Read them from the machine. Without `ip`, networks are left empty."""
        tools = frozenset(tool for tool in TOOLS if shutil.which(tool))
        reachable = "ip" in tools
        return cls(
            root=os.geteuid() == 0,
            tools=tools,
            control_groups=list(cgroups.faults(cgroups.hierarchies())),
            memory_available=_memory_available(Path("/proc/meminfo").read_text(encoding="ascii")),
            disk_free=shutil.disk_usage(_existing(needs.lab.root)).free,
            links=network.links() if reachable else {},
            routes=network.routes() if reachable else [],
            dropping=forwarding.foreign(needs.lab.site),
            running=frozenset(name for name in needs.memory_gb if runtime.init_pid(needs.lab, name) is not None),
            lacking=unknown_modules(MachineFacts(), needs.kernel_modules),
            cores=len(os.sched_getaffinity(0)),
            kvm=KVM.exists(),
        )


def check(site_file: str) -> dict[str, Any]:
    """Return the lab's hosts, or everything this machine lacks for them, as the step's result. Raises SiteError."""
    needs = needs_of(site_file)
    found = faults(needs, LabMachine.now(needs))
    result = {"changed": False, "hosts": sorted(needs.memory_gb)}
    return result | ({"failed": True, "msg": "\n".join(map(str, found))} if found else {})


def needs_of(site_file: str) -> LabNeeds:
    """Return what the lab of a site needs. Raises SiteError."""
    site = load_site(site_file)
    plan = make_plan(site)
    hardware = {**HARDWARE, **site.hardware}
    hosts = [host for host in plan.hosts.values() if host.provisioner == "container"]
    roles = dict.fromkeys("+".join(host.roles) for host in hosts)
    guests = dict.fromkeys(host.hardware for host in hosts if "hypervisor" in host.roles)
    return LabNeeds(
        lab=Lab(site=plan.site, root=state_dir(plan.site) / "lab"),
        networks={name: network.cidr for name, network in plan.networks.items()},
        memory_gb={host.name: hardware[host.hardware].memory_gb for host in hosts},
        kernel_modules=sorted(
            {*MODULES, *(name for one in roles for name in plan.preflight.by_roles[one].kernel_modules)}
        ),
        kvm=[name for name in guests if hardware[name].compute.virt_type == "kvm"],
    )


def faults(needs: LabNeeds, machine: LabMachine) -> list[GroundupError]:
    """Return all unmet lab requirements of this machine."""
    each = (
        _root(machine),
        _tools(machine),
        _kernel(needs, machine),
        _memory(needs, machine),
        _disk(needs, machine),
        _networks(needs, machine),
        _filter(needs, machine),
    )
    return [fault for found in each for fault in found]


def _root(machine: LabMachine) -> Iterator[GroundupError]:
    if not machine.root:
        yield GroundupError(
            "a lab needs root",
            where=_here(),
            why="it makes network namespaces, mounts and containers on this machine",
            remedy="run it as root, or write machines.<name>.provisioner for machines that exist already",
        )


def _tools(machine: LabMachine) -> Iterator[GroundupError]:
    if missing := sorted(TOOLS.keys() - machine.tools):
        yield GroundupError(
            f"{', '.join(missing)}: not on this machine",
            where=f"{_here()}, PATH {os.environ.get('PATH', '')}",
            why="a lab's hosts, networks and keys are made with them",
            remedy=f"ci/bootstrap, or apt-get install {' '.join(sorted({TOOLS[tool] for tool in missing}))}",
        )


def _kernel(needs: LabNeeds, machine: LabMachine) -> Iterator[GroundupError]:
    for what, remedy in machine.control_groups:
        yield GroundupError(
            what,
            where=f"{_here()}, /proc/self/mountinfo, {cgroups.BELOW}",
            why="a host's processes are held together, limited, found again and ended by its control group",
            remedy=remedy,
        )
    if machine.lacking:
        yield GroundupError(
            f"the kernel has no {', '.join(machine.lacking)}",
            where=f"{_here()}, {system.modules_home()}",
            why="hosts of a lab share this machine's kernel",
            remedy="restart this machine if its kernel was replaced; else install linux-image-amd64 and boot it",
        )
    if machine.cores < CORES:
        yield GroundupError(
            f"{machine.cores} core, and a lab needs {CORES}",
            where=f"{_here()}, those that this process may use",
            why="kubeadm refuses to make a control host of fewer, after everything is built",
            remedy="give this machine another one, or take the limit (taskset, cpuset) away",
        )
    if needs.kvm and not machine.kvm:
        yield GroundupError(
            f"{KVM} is not there, and guests of hardware {', '.join(needs.kvm)} need it",
            where=f"{_here()}; hardware.{needs.kvm[0]}.compute.virt_type",
            why="their hypervisors are refused once all layers below them are up",
            remedy="turn on virtualisation in the firmware (of a virtual machine: nested virtualisation), or write"
            " virt_type: qemu",
        )


def _memory(needs: LabNeeds, machine: LabMachine) -> Iterator[GroundupError]:
    new = needs.memory_gb.keys() - machine.running
    needed = int(sum(needs.memory_gb[name] for name in new) * GIB * MEMORY_SHARE)
    if machine.memory_available < needed:
        yield GroundupError(
            f"{_gib(machine.memory_available)} of memory are available, and {len(new)} hosts need {_gib(needed)}",
            where=f"{_here()}; machines and hardware in the site file",
            why="a control plane short of memory loses its processes at random, long after it seemed to work",
            remedy="end what uses memory on this machine (other labs: make lab-destroy), or write fewer machines",
        )


def _disk(needs: LabNeeds, machine: LabMachine) -> Iterator[GroundupError]:
    new = [name for name in needs.memory_gb if not (needs.lab.home(name) / "prepared").exists()]
    needed = len(new) * DISK_PER_HOST + DISK_LEFT
    if new and machine.disk_free < needed:
        yield GroundupError(
            f"{_gib(machine.disk_free)} of disk are free, and {len(new)} new hosts need {_gib(needed)}",
            where=f"{_here()}, file system of {needs.lab.root}",
            why="kubelet evicts every pod when the disk that all hosts share is nearly full",
            remedy="free space there, or set GROUNDUP_STATE to a directory on a larger disk",
        )


def _networks(needs: LabNeeds, machine: LabMachine) -> Iterator[GroundupError]:
    taken = dict(_taken(needs.lab.site, machine))
    for name, cidr in needs.networks.items():
        found = [used for used in taken if ip_network(cidr).overlaps(ip_network(used))]
        if found:
            yield GroundupError(
                f"{cidr} overlaps what this machine has: {', '.join(f'{used} ({taken[used]})' for used in found)}",
                where=f"networks.{name}.cidr; {_here()}",
                why="its bridge would take packets that belong elsewhere, or never get its own",
                remedy=f"write another networks.{name}.cidr, or remove what uses it from this machine",
            )


def _filter(needs: LabNeeds, machine: LabMachine) -> Iterator[GroundupError]:
    """Yield chains that no rule of the lab can pass; those of iptables, as Docker's, get one (networks.py)."""
    for chain in machine.dropping:
        yield GroundupError(
            f"the chain {chain} of nftables drops what this machine forwards, also from one host of the lab to another",
            where=f"{_here()}, nft list ruleset; {forwarding.CALLS}",
            why="hosts of the lab would not reach each other, and the first that needs another waits in vain",
            remedy=f"{forwarding.remedy(chain, needs.lab.site)}; after the lab, nft --handle list ruleset names it",
        )


def _taken(site: str, machine: LabMachine) -> Iterator[tuple[str, str]]:
    """Yield each network that this machine has an address in or a route to, with its owner; not the site's own."""
    own, addresses = link_prefix(site), {}
    for name, link in machine.links.items():
        alias = link.get("ifalias", "")
        owner = f"{name}: {alias.removeprefix('groundup/')}, a lab" if alias.startswith("groundup/") else name
        for item in link.get("addr_info", ()):
            if item["family"] == "inet":
                addresses[str(name), ip_interface(f"{item['local']}/{item['prefixlen']}").network] = owner
    yield from ((str(network), owner) for (name, network), owner in addresses.items() if not name.startswith(own))
    for route in machine.routes:
        where, device = str(route["dst"]), str(route.get("dev", ""))
        # A default route, also in two halves as VPNs write it, covers everything: no network would be free.
        everywhere = where == "default" or ip_network(where).prefixlen <= 1
        if not everywhere and not device.startswith(own) and (device, ip_network(where)) not in addresses:
            yield where, f"route via {route['gateway']}" if "gateway" in route else f"route on {device or 'nothing'}"


def unknown_modules(machine: MachineFacts, names: Sequence[str]) -> list[str]:
    """Return those of ``names`` that the machine's kernel lacks."""
    missing = system.unknown_modules(machine, names)
    # What is built into a kernel without a list of it is seen in part only.
    return missing if machine.has(system.modules_home()) else system.shown_modules(missing)


def _memory_available(meminfo: str) -> int:
    line = next(line for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) * 1024


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _here() -> str:
    return f"this machine ({socket.gethostname()})"


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"

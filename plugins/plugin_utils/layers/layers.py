"""The layers of a site, from the plan to the hypervisors, in the order of `playbooks/site.yml`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .packages import CONNTRACK_MAX, PackageSet
from .provisioners import Provisioner
from .roles import ROLES, Role
from .storage import BACKENDS, GATEWAY, Backend

ABSENT = "absent"  # group of hosts that a dry run cannot reach: later layers skip them
MANAGED_NETWORK = "managed_network"  # group of hosts whose links the plan has
CEPH_CLIENTS = "ceph_clients"  # group of hosts that ask a Ceph whose daemons no layer converges
NETWORK_IN_TURN = "network_in_turn"  # those of MANAGED_NETWORK that a quorum is made of: one at a time
REMOTE = tuple(name for name, record in BACKENDS.items() if record.clients)
FIRST_CONTACT = "first_contact"  # group of hosts that this run reaches by the operator's own login
REFUSED = "refused"  # group of all hosts of a plan with errors: no layer starts


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRecord:
    """One layer: the playbook of its name, what it stands on and where it runs."""

    needs: tuple[str, ...]  # layers that verify before it starts
    group: str  # of the inventory; machines of `roles` are in it
    roles: tuple[Role, ...] = ()
    nodes: bool = False  # whether every node of the cluster is in its group
    provisioners: tuple[Provisioner, ...] = ()  # whose machines it is for; none: any
    service: str | None = None  # only in sites that have it among their services
    backend: Backend | None = None  # only in sites with this storage backend
    installs: tuple[PackageSet, ...] = ()
    library: str  # its Python below plugins/
    owns: str


LAYERS: dict[str, LayerRecord] = {
    "plan": LayerRecord(
        needs=(), group="localhost", library="`plugin_utils/plan`", owns="findings, `plan.json`, the picture"
    ),
    "supply": LayerRecord(
        needs=("plan",), group="localhost", library="`plugin_utils/supply`", owns="artifacts in the cache"
    ),
    "metal": LayerRecord(
        needs=("supply",),
        group="all",
        provisioners=("existing", "container"),
        library="`module_utils/_container`",
        owns="machines that the seed does not install: makes lab hosts, checks existing ones",
    ),
    "seed": LayerRecord(
        needs=("metal",),
        group="seed",
        roles=("seed",),
        installs=(
            PackageSet(
                roles=frozenset(("seed",)),
                packages=("docker-registry", "nginx-light"),
                space={"/srv": 3, "/var/lib/docker-registry": 3},
                volumes=("/srv", "/var/lib/docker-registry"),
            ),
        ),
        library="`plugin_utils/supply/publish`",
        owns="registry and file tree of the site, and the record of what is in them",
    ),
    "ironic": LayerRecord(
        needs=("seed",),
        group="provisioner_ironic",
        provisioners=("ironic",),
        library="`plugin_utils/metal`, `module_utils/_ironic`",
        owns="Ironic on the seed; machines from power-off",
    ),
    "host": LayerRecord(
        needs=("metal", "seed", "ironic"),
        group="all",
        installs=(
            PackageSet(
                roles=frozenset(ROLES),
                # dbus: timedatectl and systemd-run speak through it.
                packages=("ca-certificates", "dbus", "iproute2", "kmod", "tzdata"),
                substitutes=("chrony",),  # for a host without any time service
                space={"/": 2, "/var/log": 1},
                volumes=("/opt", "/var/log"),
            ),
            PackageSet(
                nodes=True,
                packages=(
                    "conntrack",
                    "containerd",
                    "containernetworking-plugins",
                    "ethtool",
                    "iptables",
                    "nftables",
                    "openssl",
                    "python3-yaml",
                    "runc",
                    "socat",
                ),
                # kube-proxy leaves the size to the host: its pod may not write it everywhere. A full table drops
                # connections at random; a million entries take 320 MB, as they come.
                sysctl={CONNTRACK_MAX: "1048576"},
                kernel_modules=("nf_conntrack",),
                space={"/var/lib/containerd": 6, "/var/lib/kubelet": 1},
                needed_modules=("nf_tables", "veth"),
                volumes=("/var/lib/containerd", "/var/lib/kubelet"),
            ),
            # Its library: the layer storage asks a Ceph from there whose daemons it does not look after.
            PackageSet(roles=frozenset(("control",)), backend=REMOTE, packages=("ceph-common",)),
        ),
        library="`plugin_utils/{secrets,pki}`, `module_utils/_host`",
        owns="OS of a host: names, users, time, kernel, trust, packages",
    ),
    "kubernetes": LayerRecord(
        needs=("host",),
        group="kubernetes",
        nodes=True,
        installs=(
            PackageSet(
                roles=frozenset(("control",)),
                packages=("haproxy", "keepalived"),
                space={"/var/lib/etcd": 2},
                volumes=("/var/lib/etcd",),
            ),
        ),
        library="`plugin_utils/kube`, `module_utils/{_host,_kubeadm}`",
        owns="virtual IP, 6443 and public names; the cluster, pod network, DNS, storage class `general`",
    ),
    "storage": LayerRecord(
        needs=("kubernetes",),
        group="ceph",
        roles=("storage",),
        backend="native",
        installs=(
            PackageSet(
                roles=frozenset(("storage",)),
                packages=("ceph-common", "ceph-mgr", "ceph-mon", "ceph-osd"),
                space={"/var/lib/ceph": 5},
                volumes=("/var/lib/ceph",),
            ),
            PackageSet(roles=frozenset(("storage",)), service=GATEWAY, packages=("radosgw",)),
        ),
        library="`module_utils/_ceph`",
        owns="Ceph: monitors, OSDs, pools, keys, object gateways",
    ),
    "network": LayerRecord(
        needs=("kubernetes",),
        group="network",
        roles=("control",),
        service="neutron",
        installs=(
            PackageSet(
                roles=frozenset(("control",)),
                packages=("openvswitch-common", "ovn-central", "ovn-common"),
                space={"/var/lib/ovn": 1},
                volumes=("/var/lib/ovn",),
            ),
        ),
        library="`plugin_utils/ovn`, `module_utils/_ovn`",
        owns="OVN's databases and northd, and what Neutron's pods reach them with",
    ),
    "openstack": LayerRecord(
        needs=("kubernetes", "storage", "network"),
        group="localhost",
        library="`plugin_utils/{services,helm,rollout,cloud}`, `charts/`",
        owns="releases",
    ),
    "hypervisor": LayerRecord(
        needs=("openstack",),
        group="compute",  # hypervisors of a site with Nova
        roles=("hypervisor",),
        service="nova",
        installs=(
            PackageSet(
                roles=frozenset(("hypervisor",)),
                # haproxy: the metadata agent starts one for each network of the host's guests.
                packages=(
                    "haproxy",
                    "libvirt-clients",
                    "libvirt-daemon-system",
                    "openvswitch-switch",
                    "ovn-host",
                    "qemu-system-x86",
                    "qemu-utils",
                ),
                space={"/opt": 1, "/var/lib/nova": 10},
            ),
            PackageSet(
                roles=frozenset(("hypervisor",)),
                backend=("native", *REMOTE),
                packages=("ceph-common", "qemu-block-extra"),
            ),
        ),
        library="`plugin_utils/hypervisor`, `module_utils/{_host,_hypervisor}`",
        owns="libvirt, nova-compute, Open vSwitch and ovn-controller of a hypervisor",
    ),
}


def present(layer: LayerRecord, *, services: Collection[str], backend: Backend) -> bool:
    """Say whether a site with ``services`` and ``backend`` has something for ``layer`` to do."""
    return layer.service in (None, *services) and layer.backend in (None, backend)


def sets_of(
    roles: tuple[Role, ...], *, node: bool, services: Collection[str], backend: Backend = "none"
) -> Iterator[tuple[str, PackageSet]]:
    """Yield layer and package set of what a machine with ``roles`` gets in a site with ``services`` and ``backend``."""
    for name, layer in LAYERS.items():
        if present(layer, services=services, backend=backend):
            sets = (one for one in layer.installs if one.fits(roles, node=node, services=services, backend=backend))
            yield from ((name, one) for one in sets)


def groups_of(
    roles: tuple[Role, ...], *, node: bool, services: Collection[str] = (), backend: Backend = "none"
) -> tuple[str, ...]:
    """Return the inventory groups of a machine with ``roles``; ``node``: it is a node of the cluster.

    ``services`` and ``backend`` are the site's: a layer that is for one of them has no machines without it.
    """
    own = (
        one.group
        for one in LAYERS.values()
        if present(one, services=services, backend=backend)
        and ((one.nodes and node) or not set(one.roles).isdisjoint(roles))
    )
    return tuple(dict.fromkeys((*roles, *own)))

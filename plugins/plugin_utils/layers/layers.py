"""Layers of a site, in the order of `playbooks/site.yml`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ...module_utils._plan.ceph import Backend
from ...module_utils._plan.kubernetes import Volumes
from .packages import CONNTRACK_MAX, PackageSet
from .provisioners import Provisioner
from .roles import ROLES, Role
from .runtime import HYPERVISOR, TPM
from .storage import BACKENDS, GATEWAY

ABSENT = "absent"  # hosts set aside, and hosts a dry run cannot reach: later layers skip them
MANAGED_NETWORK = "managed_network"  # hosts whose links the plan manages
CEPH_CLIENTS = "ceph_clients"  # hosts that query a Ceph whose daemons no layer manages
NETWORK_IN_TURN = "network_in_turn"  # hosts of MANAGED_NETWORK that form a quorum: one at a time
REMOTE = tuple(name for name, record in BACKENDS.items() if record.clients)
FIRST_CONTACT = "first_contact"  # hosts that this run reaches by the operator's own login
REFUSED = "refused"  # all hosts of a plan with errors: no layer starts


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRecord:
    """One layer: the playbook of the same name, its dependencies and its hosts."""

    needs: tuple[str, ...]  # layers that must verify before it starts
    group: str  # inventory group; contains machines of `roles`
    roles: tuple[Role, ...] = ()
    nodes: bool = False  # whether its group contains every node of the cluster
    provisioners: tuple[Provisioner, ...] = ()  # only for their machines; empty: for any
    service: str | None = None  # only for sites with this service
    backend: Backend | None = None  # only for sites with this storage backend
    monitoring: bool = False  # only for sites with monitoring
    installs: tuple[PackageSet, ...] = ()
    library: str  # its Python code below plugins/
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
        library="`plugin_utils/lab`, `module_utils/_container`",
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
                # dbus: required by timedatectl and systemd-run.
                packages=("ca-certificates", "dbus", "iproute2", "kmod", "tzdata"),
                substitutes=("chrony",),  # for a host without a time service
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
                # Set here, because kube-proxy's pod may not write it everywhere. A full table drops connections at
                # random; a million entries take 320 MB, allocated on demand.
                sysctl={CONNTRACK_MAX: "1048576"},
                kernel_modules=("nf_conntrack",),
                space={"/var/lib/containerd": 6, "/var/lib/kubelet": 1},
                needed_modules=("nf_tables", "veth"),
                volumes=("/var/lib/containerd", "/var/lib/kubelet"),
            ),
            # Nodes map their pods' volumes.
            PackageSet(nodes=True, general="ceph-rbd", kernel_modules=("rbd",)),
            # With its library: from here the layer `storage` queries a Ceph whose daemons it does not manage.
            PackageSet(roles=frozenset(("control",)), backend=REMOTE, packages=("ceph-common",)),
        ),
        library="`plugin_utils/{vault,pki}`, `module_utils/_host`",
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
        owns="Ceph: monitors, OSDs, pools, keys, object gateways; the driver of storage class `general` (ceph-rbd)",
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
                packages=(
                    *dict.fromkeys(package for package, _ in HYPERVISOR.values()),
                    "libvirt-clients",
                    "libvirt-daemon-system",
                    "ovn-host",
                    "qemu-system-x86",
                ),
                space={"/opt": 1, "/var/lib/nova": 10},
            ),
            PackageSet(
                roles=frozenset(("hypervisor",)),
                backend=("native", *REMOTE),
                packages=("ceph-common", "qemu-block-extra"),
            ),
            PackageSet(
                roles=frozenset(("hypervisor",)),
                service="barbican",
                packages=tuple(dict.fromkeys(package for package, _ in TPM.values())),
            ),
        ),
        library="`plugin_utils/hypervisor`, `module_utils/{_host,_hypervisor}`",
        owns="libvirt, nova-compute, Open vSwitch and ovn-controller of a hypervisor",
    ),
    # Last: its verification asks the other layers' metrics.
    "monitoring": LayerRecord(
        needs=("kubernetes", "storage"),
        group="monitoring",
        roles=tuple(ROLES),
        monitoring=True,
        installs=(
            PackageSet(roles=frozenset(ROLES), packages=("nftables", "prometheus-node-exporter")),
            PackageSet(roles=frozenset(ROLES), own_kernel=True, packages=("smartmontools",)),
        ),
        library="`plugin_utils/monitoring`, `module_utils/_monitoring`",
        owns="node exporters, vlagent; VictoriaMetrics, vmalert, Alertmanager, VictoriaLogs on the monitoring host",
    ),
}
ALERTMANAGER = "prometheus-alertmanager"  # of the monitoring host, which the site file names
LOG_DOOR, JOURNAL_UPLOAD = "haproxy", "systemd-journal-remote"  # of sites that keep logs: of that host, of every one


def present(
    layer: LayerRecord, *, services: Collection[str], backend: Backend, monitoring: bool = False
) -> bool:  # fmt: skip
    """Say whether ``layer`` has work on a site with ``services``, ``backend`` and ``monitoring``."""
    asked = layer.service in (None, *services) and layer.backend in (None, backend)
    return asked and (monitoring or not layer.monitoring)


def sets_of(
    roles: tuple[Role, ...], *, node: bool, services: Collection[str], backend: Backend = "none",
    general: Volumes = "local", monitoring: bool = False, own_kernel: bool = True,
) -> Iterator[tuple[str, PackageSet]]:  # fmt: skip
    """Yield layer name and package set for a machine with ``roles`` on a site with ``services`` and ``backend``.

    ``general``: backend of the site's storage class `general`.
    """
    for name, layer in LAYERS.items():
        if present(layer, services=services, backend=backend, monitoring=monitoring):
            for one in layer.installs:
                if one.fits(
                    roles, node=node, services=services, backend=backend, general=general, own_kernel=own_kernel
                ):  # fmt: skip
                    yield name, one


def groups_of(
    roles: tuple[Role, ...], *, node: bool, services: Collection[str] = (), backend: Backend = "none",
    monitoring: bool = False,
) -> tuple[str, ...]:  # fmt: skip
    """Return the inventory groups of a machine with ``roles``. ``node``: it is a node of the cluster.

    A layer that needs a service or backend has no machines on a site without it.
    """
    own = (
        one.group
        for one in LAYERS.values()
        if present(one, services=services, backend=backend, monitoring=monitoring)
        and ((one.nodes and node) or not set(one.roles).isdisjoint(roles))
    )
    return tuple(dict.fromkeys((*roles, *own)))

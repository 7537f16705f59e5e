"""All ports that this version opens on hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...module_utils._host.watched import (
    CENTRAL_PORTS,
    DOOR_PORT,
    LOG_AGENT_PORT,
    LOG_RULES_PORT,
    LOG_STORE_PORT,
    METRICS_AGENT_PORT,
)
from ...module_utils._plan.ceph import Backend
from ...module_utils._plan.container import Purpose
from .provisioners import Provisioner
from .roles import ROLES, Role
from .storage import GATEWAY

Clients = Literal["anyone", "hosts", "nodes", "control", "monitoring", "itself"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRecord:
    """One port, or a range of ports, on a network or on loopback."""

    port: int
    last: int | None = None  # last port of a range
    protocol: Literal["tcp", "udp", "ip"] = "tcp"
    what: str
    programs: tuple[str, ...] = ()  # listening processes (15 characters at most), or "the kernel"
    clients: Clients
    roles: frozenset[Role] = frozenset()
    nodes: bool = False  # on every node of the cluster
    pod_networks: frozenset[str] = frozenset()  # only with these pod networks, as name or name:backend; empty: with any
    service: str | None = None  # only for sites with this service
    backend: Backend | None = None  # only for sites with this storage backend
    monitoring: bool = False  # only for sites with monitoring
    central: bool = False  # on the monitoring host alone
    remote_write: bool = False  # only for sites that write metrics to another store
    logs: bool = False  # only for sites that keep logs there
    network: Purpose = "management"  # network it listens on
    provisioner: Provisioner | None = None  # only for sites with machines of this provisioner
    written: str | None = None  # key of the site file that changes the number

    def fits(self, roles: tuple[Role, ...], *, node: bool) -> bool:
        """Say whether it is open on a machine with ``roles``. ``node``: it is a node of the cluster."""
        return (self.nodes and node) or not self.roles.isdisjoint(roles)


_SEED, _CONTROL = frozenset[Role](("seed",)), frozenset[Role](("control",))
_HYPERVISOR, _STORAGE = frozenset[Role](("hypervisor",)), frozenset[Role](("storage",))
KERNEL, _OVSDB = "the kernel", ("ovsdb-server",)
_STORE, _RULES, _ALERTS = CENTRAL_PORTS

PORTS: dict[str, PortRecord] = {
    "ssh": PortRecord(
        port=22, what="sshd", programs=("sshd", "systemd"), clients="anyone", roles=frozenset(ROLES),
        written="access.port",
    ),
    "registry": PortRecord(
        port=5000, what="images of the seed", programs=("nginx",), clients="hosts", roles=_SEED,
        written="supply.registry",
    ),
    "files": PortRecord(
        port=8080, what="files and packages of the seed", programs=("nginx",), clients="hosts", roles=_SEED,
        written="supply.files_url",
    ),
    "registry-inside": PortRecord(
        port=5001, what="the seed's registry itself", programs=("docker-registry",), clients="itself", roles=_SEED,
    ),
    "ironic": PortRecord(
        port=6385, what="Ironic and the page of machines, behind the web server's TLS", programs=("nginx",),
        clients="hosts", roles=_SEED, provisioner="ironic",
    ),
    "ironic-media": PortRecord(
        port=6386, what="boot media, for management controllers; the call of installed machines", programs=("nginx",),
        clients="anyone", roles=_SEED, provisioner="ironic",
    ),
    "netboot": PortRecord(
        port=6387, what="iPXE's scripts, kernel and ramdisk, on the network provisioning", programs=("nginx",),
        clients="hosts", roles=_SEED, provisioner="ironic",
    ),
    # No programs: a host's own resolver and time service may listen on loopback.
    "plane-dns": PortRecord(
        port=53, protocol="udp", what="names, on the network provisioning alone (and TCP)", clients="hosts",
        roles=_SEED, provisioner="ironic", network="provisioning",
    ),
    "plane-time": PortRecord(
        port=123, protocol="udp", what="time, on the network provisioning alone", clients="hosts", roles=_SEED,
        provisioner="ironic", network="provisioning",
    ),
    "ironic-inside": PortRecord(
        port=6388, what="Ironic itself", programs=("ironic",), clients="itself", roles=_SEED, provisioner="ironic",
    ),
    "ironic-contact": PortRecord(
        port=6389, what="who hears installed machines", programs=("python", "python3"), clients="itself", roles=_SEED,
        provisioner="ironic",
    ),
    "ironic-machines": PortRecord(
        port=6390, what="the page of machines itself", programs=("python", "python3"), clients="itself", roles=_SEED,
        provisioner="ironic",
    ),
    "api": PortRecord(
        port=6443, what="HAProxy: the Kubernetes API, on the virtual IP", programs=("haproxy",), clients="anyone",
        roles=_CONTROL,
    ),
    "public": PortRecord(
        port=443, what="HAProxy: public names, on the virtual IP", programs=("haproxy",), clients="anyone",
        roles=_CONTROL,
    ),
    "alive": PortRecord(
        port=8404, what="HAProxy: what keepalived asks", programs=("haproxy",), clients="itself", roles=_CONTROL
    ),
    "vrrp": PortRecord(port=112, protocol="ip", what="keepalived (VRRP)", clients="control", roles=_CONTROL),
    "api-server": PortRecord(
        port=6444, what="API server of one host, behind HAProxy", programs=("kube-apiserver",), clients="control",
        roles=_CONTROL,
    ),
    "etcd": PortRecord(port=2379, what="etcd", programs=("etcd",), clients="control", roles=_CONTROL),
    "etcd-peer": PortRecord(
        port=2380, what="etcd, between members", programs=("etcd",), clients="control", roles=_CONTROL
    ),
    "etcd-metrics": PortRecord(
        port=2381, what="etcd: health", programs=("etcd",), clients="itself", roles=_CONTROL
    ),
    "controller-manager": PortRecord(
        port=10257, what="controller manager: health", programs=("kube-controller",), clients="itself", roles=_CONTROL
    ),
    "scheduler": PortRecord(
        port=10259, what="scheduler: health", programs=("kube-scheduler",), clients="itself", roles=_CONTROL
    ),
    "kubelet": PortRecord(port=10250, what="kubelet", programs=("kubelet",), clients="control", nodes=True),
    "kubelet-health": PortRecord(
        port=10248, what="kubelet: health", programs=("kubelet",), clients="itself", nodes=True
    ),
    "proxy-health": PortRecord(
        port=10256, what="kube-proxy: health", programs=("kube-proxy",), clients="control", nodes=True
    ),
    "proxy-metrics": PortRecord(
        port=10249, what="kube-proxy: metrics", programs=("kube-proxy",), clients="itself", nodes=True
    ),
    "node-ports": PortRecord(
        port=30000, last=32767, what="services behind HAProxy (NodePort)", clients="control", nodes=True
    ),
    "queue": PortRecord(
        port=30672, last=30679, what="RabbitMQ with TLS, a port a member (NodePort)", clients="hosts", roles=_CONTROL,
        service="nova",
    ),
    "vxlan": PortRecord(
        port=8472, protocol="udp", what="pods' packets (VXLAN)", programs=(KERNEL,), clients="nodes", nodes=True,
        pod_networks=frozenset(("flannel:vxlan", "cilium:vxlan")),
    ),
    "geneve": PortRecord(
        port=6081, protocol="udp", what="pods' packets (Geneve)", programs=(KERNEL,), clients="nodes", nodes=True,
        pod_networks=frozenset(("cilium:geneve",)),
    ),
    "vxlan-calico": PortRecord(
        port=4789, protocol="udp", what="pods' packets (VXLAN)", programs=(KERNEL,), clients="nodes", nodes=True,
        pod_networks=frozenset(("calico:vxlan",)),
    ),
    "cilium-health": PortRecord(
        port=4240, what="Cilium: health", programs=("cilium-agent", "cilium-health-r"), clients="nodes", nodes=True,
        pod_networks=frozenset(("cilium",)),
    ),
    "typha": PortRecord(
        port=5473, what="Calico: Typha", programs=("calico-typha",), clients="nodes", nodes=True,
        pod_networks=frozenset(("calico",)),
    ),
    "bgp": PortRecord(
        port=179, what="Calico: routes (BGP)", programs=("bird",), clients="nodes", nodes=True,
        pod_networks=frozenset(("calico:host-gw",)),
    ),
    # Neutron's pods connect from their nodes. Listeners without RBAC also check a client's address (`guard`).
    "ovn-nb": PortRecord(
        port=6641, what="OVN: northbound database", programs=_OVSDB, clients="nodes", roles=_CONTROL, service="neutron",
    ),
    "ovn-sb-chassis": PortRecord(
        port=6642, what="OVN: southbound database, for chassis (RBAC)", programs=_OVSDB, clients="hosts",
        roles=_CONTROL, service="neutron",
    ),
    "ovn-sb": PortRecord(
        port=16642, what="OVN: southbound database, for northd and Neutron", programs=_OVSDB, clients="nodes",
        roles=_CONTROL, service="neutron",
    ),
    "ovn-nb-raft": PortRecord(
        port=6643, what="OVN: northbound database, between members", programs=_OVSDB, clients="control",
        roles=_CONTROL, service="neutron",
    ),
    "ovn-sb-raft": PortRecord(
        port=6644, what="OVN: southbound database, between members", programs=_OVSDB, clients="control",
        roles=_CONTROL, service="neutron",
    ),
    "ceph-mon": PortRecord(
        port=3300, what="Ceph: monitor", programs=("ceph-mon",), clients="hosts", roles=_STORAGE, backend="native",
        network="storage",
    ),
    "ceph-mon-old": PortRecord(
        port=6789, what="Ceph: monitor, first version of its protocol", programs=("ceph-mon",), clients="hosts",
        roles=_STORAGE, backend="native", network="storage",
    ),
    "ceph": PortRecord(
        port=6800, last=7568, what="Ceph: OSDs and managers", programs=("ceph-osd", "ceph-mgr"), clients="hosts",
        roles=_STORAGE, backend="native", network="storage",
    ),
    "objects": PortRecord(
        port=8088, what="Ceph: object gateway, behind HAProxy", programs=("radosgw",), clients="control",
        roles=_STORAGE, backend="native", service=GATEWAY,
    ),
    "libvirt-tls": PortRecord(
        port=16514, what="libvirt: live migration", programs=("libvirtd", "systemd"), clients="hosts",
        roles=_HYPERVISOR,
    ),
    "nova-ssh": PortRecord(
        port=8022, what="Nova: disks of stopped instances (sshd of its own)", programs=("sshd",), clients="hosts",
        roles=_HYPERVISOR,
    ),
    "vnc": PortRecord(
        port=5900, last=6923, what="QEMU: consoles", programs=("qemu-system-x86",), clients="nodes", roles=_HYPERVISOR,
    ),
    "migration": PortRecord(
        port=61152, last=61215, what="QEMU: live migration", programs=("qemu-system-x86",), clients="hosts",
        roles=_HYPERVISOR,
    ),
    "node-exporter": PortRecord(
        port=9100, what="node exporter: metrics", programs=("prometheus-node",), clients="monitoring",
        roles=frozenset(ROLES), monitoring=True,
    ),
    "edge-metrics": PortRecord(
        port=9101, what="HAProxy: metrics, its own and etcd's", programs=("haproxy",), clients="monitoring",
        roles=_CONTROL, monitoring=True,
    ),
    "metrics": PortRecord(
        port=_STORE, what="VictoriaMetrics", programs=("victoria-metric",), clients="itself", monitoring=True,
        central=True,
    ),
    "metrics-agent": PortRecord(
        port=METRICS_AGENT_PORT, what="vmagent", programs=("vmagent",), clients="itself", monitoring=True,
        central=True, remote_write=True,
    ),
    "alert-rules": PortRecord(
        port=_RULES, what="vmalert", programs=("vmalert",), clients="itself", monitoring=True, central=True,
    ),
    "alerts": PortRecord(
        port=_ALERTS, what="Alertmanager", programs=("prometheus-aler",), clients="itself", monitoring=True,
        central=True,
    ),
    "log-agent": PortRecord(
        port=LOG_AGENT_PORT, what="vlagent: logs of the host", programs=("vlagent",), clients="itself",
        roles=frozenset(ROLES), monitoring=True, logs=True,
    ),
    "log-store": PortRecord(
        port=LOG_STORE_PORT, what="VictoriaLogs", programs=("victoria-logs",), clients="itself", monitoring=True,
        central=True, logs=True,
    ),
    "log-rules": PortRecord(
        port=LOG_RULES_PORT, what="vmalert, for logs", programs=("vmalert",), clients="itself", monitoring=True,
        central=True, logs=True,
    ),
    "log-door": PortRecord(
        port=DOOR_PORT, what="HAProxy: where hosts write logs", programs=("haproxy",), clients="hosts",
        monitoring=True, central=True, logs=True,
    ),
}  # fmt: skip

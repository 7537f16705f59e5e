"""Configuration of services on a hypervisor: first the cluster's releases', then the host's own.

oslo.config reads files in order, and the last one wins: the cluster's text stays as it was rendered, by built-in or
OpenStack-Helm's charts alike, and the host's file holds the differences. A hypervisor needs no database: the
databases' sections, which hold passwords, never leave the controller.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ...module_utils._hypervisor import disks, sriov
from ...module_utils._hypervisor.openvswitch import SOCKET
from ...module_utils._hypervisor.pki import OURS as PKI
from ...module_utils._hypervisor.services import AGENT, CURRENT, NOVA
from ..errors import GroundupError
from . import ini

NOVA_SECRET, NEUTRON_SECRET = "nova-etc", "neutron-etc"  # names of Secrets
NOVA_ACCOUNTS = "nova-ks-etc"  # OpenStack-Helm's charts keep accounts in a second Secret, read after the first
# Names of files in them; the first present one is used: names differ between charts.
NOVA_FILES = ("nova-compute.conf", "nova.conf")
AGENT_FILES = ("ovn_agent.ini", "neutron_ovn_agent.ini", "ovn_metadata_agent.ini", "neutron_ovn_metadata_agent.ini")
NEUTRON_FILES = ("neutron.conf",)
_OF_THE_CONTROL_PLANE = (
    "database",
    "api_database",
    "cell0_database",
    "placement_database",
    "keystone_authtoken",
    "cache",
)
_CLIENTS = ("placement", "neutron", "glance", "cinder", "service_user")

# oslo.privsep adds the context and a socket to the helper's command.
_NOVA_PRIVSEP = ("nova_sys_admin", "vif_plug_ovs_privileged", "vif_plug_linux_bridge_privileged", "privsep_osbrick")
_NEUTRON_PRIVSEP = ("", "_dhcp_release", "_ovs_vsctl", "_namespace", "_conntrack", "_link")

TRUST = "/etc/ssl/certs/ca-certificates.crt"
_NAMESPACE = uuid.UUID("5d8dfc0a-5f0b-4f5c-8d28-67726f756e64")


class NotYetError(GroundupError):
    """The releases that hypervisors need are missing, or not configured as hypervisors need them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudAccess:
    """The releases' configuration, and how hosts reach the cluster's internal services. Holds passwords."""

    nova: str = field(repr=False)
    agent: str = field(repr=False)
    transport_url: str = field(repr=False)  # with members as hosts reach them
    queue_tls: bool
    auth_url: str
    agents: str = field(default="", repr=False)  # how Neutron speaks to agents of SR-IOV; "": the host has none
    agents_url: str = field(default="", repr=False)  # as `transport_url`, with Neutron's account


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A hypervisor, from its plan."""

    name: str
    address: str  # on the management network
    compute: Mapping[str, Any]  # of its hardware
    southbound: tuple[str, ...]
    cards: Sequence[Mapping[str, Any]] = ()  # with SR-IOV: `SriovPlan`s


def secret_file(secret: Mapping[str, Any] | None, names: tuple[str, ...], *, where: str) -> str:
    """Return the text of the first of ``names`` in a Secret. Raises GroundupError when none is there."""
    data = (secret or {}).get("data") or {}
    for name in names:
        if name in data:
            return base64.b64decode(data[name]).decode("utf-8")
    raise NotYetError(
        f"no {' or '.join(names)} in it" if secret else "there is no such Secret",
        where=where,
        why="a hypervisor runs by what its release was given, and by nothing else",
        remedy="run the playbook groundup.cloud.openstack with nova and neutron among openstack.services",
    )


def every_file(secret: Mapping[str, Any] | None) -> str:
    """Return all files of a Secret joined in order of name, as a service reads a directory; "" without a Secret."""
    data = (secret or {}).get("data") or {}
    return "".join(base64.b64decode(data[name]).decode("utf-8").rstrip() + "\n" for name in sorted(data))


def reachable(url: str, address_of: Callable[[str], tuple[str, int]]) -> str:
    """Return a ``transport_url`` with each member's name and port replaced by ``address_of(name)``.

    The virtual host and the accounts stay. Raises GroundupError for an invalid URL, without showing it.
    """
    parts = urlsplit(url)
    if not parts.scheme or not parts.netloc:
        raise GroundupError(
            "transport_url names no member of the message queue",
            where=f"Secret {NOVA_SECRET}",
            why="nova-compute hears of every request through it",
            remedy="see endpoints.oslo_messaging in the values of release nova",
        )
    members = []
    for member in parts.netloc.split(","):
        account, at, place = member.rpartition("@")
        name = place.rpartition(":")[0] or place
        host, port = address_of(name)
        members.append(f"{account}{at}{host}:{port}")
    return urlunsplit((parts.scheme, ",".join(members), parts.path, parts.query, ""))


def for_hosts(text: str) -> str:
    """Return a release's configuration without the control plane's sections, and what proves a guest's request.

    Neutron's agent adds that proof; nova-compute never asks for it.
    """
    return ini.without_option(ini.without(text, _OF_THE_CONTROL_PLANE), "neutron", "metadata_proxy_shared_secret")


def nova_host(cluster: CloudAccess, host: Host) -> str:
    """Return the host's own part of nova-compute's configuration. Holds a password."""
    compute = host.compute
    q35, in_ceph = compute["machine_type"] == "q35", compute["disks"] == "ceph"
    # After the virtual IP has moved, pooled connections get no answer.
    client = {"auth_url": cluster.auth_url, "valid_interfaces": "public", "cafile": TRUST, "timeout": 60}
    helper = f"sudo {CURRENT}/bin/privsep-helper --config-file {NOVA[0]} --config-file {NOVA[1]}"
    devices = [{"devname": one["card"], "physical_network": one["physical_network"]} for one in host.cards]
    return ini.text_of(
        {
            "DEFAULT": {
                "host": host.name,
                "my_ip": host.address,
                "transport_url": cluster.transport_url,
                "compute_driver": "libvirt.LibvirtDriver",
                "state_path": "/var/lib/nova",
                "instances_path": "/var/lib/nova/instances",
                "log_config_append": "",  # the charts' file is not on hosts: all logs go to the journal
                "reserved_host_cpus": compute["reserved_cores"],
                "reserved_host_memory_mb": compute["reserved_memory_gb"] * 1024,
                # With disks in Ceph, Nova does not count the host's disk.
                "reserved_host_disk_mb": 0 if in_ceph else compute["reserved_disk_gb"] * 1024,
                "cpu_allocation_ratio": compute["cpu_allocation_ratio"],
                "ram_allocation_ratio": compute["ram_allocation_ratio"],
                "manager_shutdown_timeout": compute["stop_seconds"],
                "graceful_shutdown_timeout": compute["stop_seconds"] + 20,
                "resume_guests_state_on_host_boot": False,  # after an evacuation they would run twice
            },
            "libvirt": {
                "connection_uri": "qemu:///system",
                "virt_type": compute["virt_type"],
                "cpu_mode": compute["cpu_mode"],
                "cpu_models": compute["cpu_model"],
                "hw_machine_type": f"x86_64={compute['machine_type']}",
                "num_pcie_ports": 16 if q35 else None,
                "images_type": "rbd" if in_ceph else "qcow2",
                "images_rbd_ceph_conf": disks.CONF if in_ceph else None,  # the release sets pool, user and secret
                "disk_cachemodes": "network=writeback" if in_ceph else None,  # a guest's flush reaches the OSDs
                "hw_disk_discard": "unmap" if in_ceph else None,
                "live_migration_scheme": "tls",  # without it native TLS is silently off
                "live_migration_with_native_tls": True,
                "live_migration_inbound_addr": host.address,
            },
            "vnc": {"server_listen": host.address, "server_proxyclient_address": host.address},
            "oslo_concurrency": {"lock_path": "/run/nova"},
            **({"pci": {"device_spec": json.dumps(devices)}} if devices else {}),
            "oslo_messaging_rabbit": _queue(cluster),
            "oslo_messaging_notifications": {"driver": "noop"},
            "os_vif_ovs": {"ovsdb_connection": f"unix:{SOCKET}"},
            **{name: {"helper_command": helper} for name in _NOVA_PRIVSEP},
            **dict.fromkeys(_CLIENTS, client),
            # The charts' own list answers inside the cluster only: empty, the catalog's public endpoint is used.
            "glance": {**client, "api_servers": ""},
            "cinder": {**client, "catalog_info": "volumev3::publicURL"},
            # Keys of encrypted volumes, with the user's token: Castellan has words of its own.
            "barbican": {
                "auth_endpoint": cluster.auth_url,
                "barbican_endpoint_type": "public",
                "verify_ssl_path": TRUST,
            },
        }
    )


def _queue(cluster: CloudAccess) -> dict[str, object]:
    """Return how the message queue is reached.

    RabbitMQ's own CA: oslo.messaging checks no names, so any certificate of a trusted CA would pass.
    """
    return {"ssl": True, "ssl_ca_file": f"{PKI}/queue-ca.pem"} if cluster.queue_tls else {"ssl": False}


def sriov_host(cluster: CloudAccess, host: Host) -> str:
    """Return the host's own part of the configuration of Neutron's SR-IOV agent, which runs as root. Has a password."""
    helper = f"{CURRENT}/bin/privsep-helper --config-file {sriov.FILES[0]} --config-file {sriov.FILES[1]}"
    return ini.text_of(
        {
            "DEFAULT": {
                "host": host.name,
                "state_path": f"/var/lib/{sriov.STATE}",
                "transport_url": cluster.agents_url,
            },
            "sriov_nic": {
                "physical_device_mappings": [f"{one['physical_network']}:{one['card']}" for one in host.cards],
            },
            "AGENT": {"root_helper": "", "root_helper_daemon": ""},
            "oslo_concurrency": {"lock_path": sriov.LOCKS},
            "oslo_messaging_rabbit": _queue(cluster),
            **{f"privsep{kind}": {"helper_command": helper} for kind in _NEUTRON_PRIVSEP},
        }
    )


def agent_host(host: Host) -> str:
    """Return the host's own part of the configuration of Neutron's OVN agent, which runs as root."""
    helper = f"{CURRENT}/bin/privsep-helper --config-file {AGENT[0]} --config-file {AGENT[1]}"
    return ini.text_of(
        {
            "DEFAULT": {
                "host": host.name,
                "state_path": "/var/lib/neutron",
                "log_config_append": "",
                "metadata_proxy_socket": "/run/neutron/metadata_proxy",
                "metadata_workers": 1,
                "auth_ca_cert": TRUST,  # of Nova's metadata service, whose public name the release sets
            },
            "agent": {"extensions": "metadata"},
            "AGENT": {"root_helper": "", "root_helper_daemon": ""},  # another section: names are case-sensitive
            "ovs": {"ovsdb_connection": f"unix:{SOCKET}"},
            "ovn": {
                "ovn_sb_connection": host.southbound,
                "ovn_sb_private_key": f"{PKI}/key.pem",
                "ovn_sb_certificate": f"{PKI}/certificate.pem",
                "ovn_sb_ca_cert": f"{PKI}/ca.pem",
            },
            "oslo_concurrency": {"lock_path": "/run/neutron"},
            **{f"privsep{kind}": {"helper_command": helper} for kind in _NEUTRON_PRIVSEP},
        }
    )


def compute_id(site: str, name: str) -> str:
    """Return the permanent compute id of a host name: to Placement a reinstalled host stays the same."""
    return str(uuid.uuid5(_NAMESPACE, f"{site}/{name}"))

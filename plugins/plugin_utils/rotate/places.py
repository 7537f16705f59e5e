"""Where the site's certificates are: files of hosts, Secrets of the cluster, and what servers show."""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509

from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..pki.succession import fingerprint
from ..plan.types import Plan

PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
SECRETS = "secrets of the cluster"
_LABEL = "app.kubernetes.io/managed-by=groundup"
_PATIENCE = 10.0  # seconds
# What takes a changed file up, by how its path begins.
_TAKEN_UP = {
    "/usr/local/share/ca-certificates": "the trust store is rebuilt",
    "/etc/containerd": "read at the next pull",
    "/etc/haproxy": "HAProxy reloads, connections stay",
    "/etc/nginx": "nginx reloads, connections stay",
    "/etc/ironic": "Ironic restarts",
    "/var/lib/ceph": "the object gateway restarts, one host at a time",
    "/etc/ovn/tls": "OVN's databases read it; they restart, one host at a time, when a CA leaves it",
    "/etc/groundup/hypervisor": "ovn-controller and Neutron's agent restart",
    "/etc/groundup/monitoring": "node exporter, stores and what writes logs restart",
    "/etc/pki/CA": "libvirtd restarts, guests run on",
    "/etc/pki/libvirt": "libvirtd restarts, guests run on",
    "/etc/pki/qemu": "guests are told to read it",
    "Secret": "pods read it within four minutes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file, Secret or server."""

    host: str
    path: str
    trusts: frozenset[str]  # fingerprints of authorities
    shows: tuple[x509.Certificate, ...] = ()

    def __str__(self) -> str:
        """Return where it is."""
        return f"{self.host}: {self.path}"

    @property
    def taken_up(self) -> str:
        """Return what happens when it changes."""
        return next((text for start, text in _TAKEN_UP.items() if self.path.startswith(start)), "")


def of_hosts(seen: Mapping[str, Any]) -> list[Place]:
    """Return the files of the hosts that answered, from the results of step `certificates` of module host."""
    return [
        Place(
            host=name, path=path, trusts=frozenset(one["trusts"]),
            shows=tuple(x509.load_pem_x509_certificate(text.encode()) for text in one["shows"]),
        )
        for name, said in sorted(seen.items())
        for path, one in said.get("places", {}).items()
    ]  # fmt: skip


def of_cluster(plan: Plan, known: Iterable[str]) -> list[Place]:
    """Return the Secrets with certificates of the site; none before there is a cluster. Raises ApiError."""
    if not kubeconfig_path(plan.site).is_file():
        return []
    path = f"/api/v1/namespaces/{plan.openstack.namespace}/secrets"
    items = Api(kubeconfig_path(plan.site)).get(path, labelSelector=_LABEL).get("items") or ()
    return [_secret(item, frozenset(known)) for item in items if "ca.crt" in (item.get("data") or {})]


def _secret(item: Mapping[str, Any], known: frozenset[str]) -> Place:
    texts = [base64.b64decode(item["data"].get(name, "")) for name in ("tls.crt", "ca.crt")]
    found = [x509.load_pem_x509_certificate(one) for text in texts for one in PEM.findall(text)]
    trusts = known & {fingerprint(one) for one in found}
    shows = tuple(one for one in found if fingerprint(one) not in trusts)
    return Place(host=SECRETS, path=f"Secret {item['metadata']['name']}", trusts=trusts, shows=shows)


def served(plan: Plan) -> Iterator[tuple[str, x509.Certificate | None]]:
    """Yield the servers that show a certificate of the site's CA to anybody, and what they show; None: no answer."""
    asked: dict[str, tuple[str, int]] = {}
    if plan.edge.endpoints and not plan.edge.certificate and plan.edge.kind == "haproxy":
        # It listens there alone. The others' files are read, and the layer verifies that each has loaded its own.
        asked["HAProxy at the virtual IP"] = (plan.edge.address, 443)
    if plan.supply.seed:
        port = urlsplit(f"//{plan.supply.registry}").port or 443
        asked["the registry of the seed"] = (plan.hosts[plan.supply.seed].address, port)
    if plan.ceph and plan.ceph.gateway:
        port = plan.ceph.gateway.port
        asked |= {f"object gateway of {name}": (plan.hosts[name].address, port) for name in plan.ceph.locations}
    for name, address in asked.items():
        try:
            text = ssl.get_server_certificate(address, timeout=_PATIENCE)
        except OSError:
            yield name, None
        else:
            yield name, x509.load_pem_x509_certificate(text.encode())

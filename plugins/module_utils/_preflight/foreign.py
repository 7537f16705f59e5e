"""Find foreign software: another cluster, container runtime or site, and cloud-init."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._host.network_owner import NETWORK_MANAGER, WHY, owner
from .._plan.preflight import Expected
from .model import MachineFacts, PreflightFault

# Path that only this software creates -> its name; of each kind, the first match is reported.
_CLUSTERS = {
    "/var/lib/rancher/k3s": "k3s",
    "/etc/rancher/rke2": "RKE2",
    "/var/snap/microk8s": "MicroK8s",
    "/var/lib/k0s": "k0s",
    "/usr/bin/kubelet": "a kubelet of somebody else",  # the site's own is in /usr/local/bin
    "/etc/kubernetes/kubelet.conf": "a node of a Kubernetes cluster",
    "/etc/kubernetes/manifests/kube-apiserver.yaml": "a Kubernetes control plane",
}
_RUNTIMES = {
    "/usr/bin/dockerd": "Docker",
    "/usr/sbin/dockerd": "Docker",
    "/usr/bin/crio": "CRI-O",
    "/snap/bin/docker": "Docker (snap)",
}
_CONTAINERS = "/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db"
# That connect to the site's own servers.
_SERVICES = ("containerd", "kubelet", "nova-compute", "neutron-ovn-agent", "neutron-sriov-nic-agent")
_PROXY = re.compile(r"^\s*(Default|Pass)?Environment=.*\b(https?|all)_proxy=\S", re.MULTILINE | re.IGNORECASE)
_NO_PROXY = re.compile(r"^\s*(Default|Pass)?Environment=.*\bno_proxy=\S", re.MULTILINE | re.IGNORECASE)
_SETTING = re.compile(r"^(manage_etc_hosts|preserve_hostname):[ \t]*[\"']?(\w+)", re.MULTILINE)


def site(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield a host of another site, or of this site with secrets that the control node does not have."""
    if machine.site and machine.site != wanted.site:
        yield PreflightFault(
            "site", "error", f"the host belongs to the site {machine.site}", "/etc/groundup/site",
            "take it out of that site, or out of this site file; if nobody uses it, remove that file",
        )  # fmt: skip
    elif machine.store and wanted.store is not None and machine.store != wanted.store:
        yield PreflightFault(
            "site", "error", "the host was set up with other secrets than this control node has", "/etc/groundup/site",
            "run with the state directory of the site it was set up from; if nobody uses the host, remove that file",
        )  # fmt: skip


def network_owner(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield another program that runs the network of a machine whose network the site manages."""
    if not wanted.manages_network:
        return
    found, remedy = owner(machine.read, machine.names, active=machine.said(NETWORK_MANAGER) or "")
    if found:
        kind, _, where = found.partition(" (")
        yield PreflightFault(
            "network", "error", f"the host's network is run by {kind}", where.rstrip(")") or kind,
            f"{remedy}; or leave manage_network of its machines out: {WHY}",
        )  # fmt: skip


def clusters(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield Kubernetes clusters and container runtimes that are not this site's."""
    if machine.site == wanted.site or not wanted.node:
        return
    for kind, remedy in (
        (_CLUSTERS, "remove it with its data: two kubelets on one host stop each other's pods"),
        (_RUNTIMES, "remove it: it writes the same nftables rules and runs a containerd of its own"),
    ):
        if path := next(filter(machine.has, kind), None):
            yield PreflightFault("runtime", "error", f"{kind[path]} is on the host", path, remedy)
    if not machine.known and machine.has(_CONTAINERS):
        yield PreflightFault(
            "runtime", "warning", "containerd has run here before", _CONTAINERS,
            "see that nobody needs its containers: the site writes a configuration of its own",
        )  # fmt: skip


def proxies(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield a proxy that systemd gives to services and that no NO_PROXY keeps from the site's own addresses."""
    places = ["/etc/systemd/system.conf"]
    for name in ("system.conf.d", *(f"system/{unit}.service.d" for unit in _SERVICES)):
        places += [f"/etc/systemd/{name}/{file}" for file in machine.names(f"/etc/systemd/{name}")]
    texts = {place: machine.read(place) for place in places}
    given = [place for place, text in texts.items() if _PROXY.search(text)]
    if given and not any(_NO_PROXY.search(text) for text in texts.values()):
        networks = ", ".join(["the site's networks and names", *wanted.ranges.values()])
        yield PreflightFault(
            "proxy", "warning", "systemd gives services a proxy, which gets their requests to the site, too",
            ", ".join(given), f"take it away there, or write NO_PROXY beside it: {networks}",
        )  # fmt: skip


def cloud_init(machine: MachineFacts, wanted: Expected) -> Iterator[PreflightFault]:
    """Yield settings with which cloud-init reverts the host name or /etc/hosts at the next boot."""
    if not machine.has("/usr/bin/cloud-init") or machine.has("/etc/cloud/cloud-init.disabled"):
        return
    # In order of precedence, lowest first; the last file comes from the machine's data source.
    places = [
        f"/etc/cloud/cloud.cfg.d/{name}" for name in machine.names("/etc/cloud/cloud.cfg.d") if name.endswith(".cfg")
    ]
    says: dict[str, tuple[str, str]] = {}
    for path in ("/etc/cloud/cloud.cfg", *places, "/var/lib/cloud/instance/cloud-config.txt"):
        for key, value in _SETTING.findall(machine.read(path)):
            says[key] = (value.lower(), path)
    value, path = says.get("manage_etc_hosts", ("false", ""))
    if value in ("true", "template", "localhost"):
        yield PreflightFault(
            "cloud-init", "error", f"cloud-init writes /etc/hosts at every boot (manage_etc_hosts: {value})", path,
            "write manage_etc_hosts: false there, or to the data source of the machine",
        )  # fmt: skip
    is_named = machine.read("/etc/hostname").strip()
    if says.get("preserve_hostname", ("false", ""))[0] != "true" and is_named != wanted.name:
        yield PreflightFault(
            "cloud-init", "warning", "cloud-init may take back the host's planned name (preserve_hostname)",
            f"/etc/hostname is {is_named or 'missing'}",
            "write preserve_hostname: true to /etc/cloud/cloud.cfg.d/99-site.cfg",
        )  # fmt: skip

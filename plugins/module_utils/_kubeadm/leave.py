"""Remove a node from the cluster: its etcd member, by a remaining host; its files, on the host itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import read
from .._host import units
from . import data, half_made, timer, volumes
from .api import NodeApiError
from .etcd import Etcd, EtcdMember, quorum, voters
from .files import KUBELET
from .host import NodeHost
from .spec import CRI_SOCKET
from .stale_members import healthy_of, line_of, remove_member
from .state import observe

RESET_TIMEOUT = 300.0
EDGE = ("keepalived.service", "haproxy.service")
CNI = "/etc/cni/net.d"  # emptied, not removed: containerd watches it, and would miss a later pod network
# Files that kubeadm reset leaves, and a node's files from this collection. Packages, users and names stay.
FILES = (
    "/etc/kubernetes",
    "/etc/haproxy/haproxy.cfg",
    "/etc/haproxy/tls",
    "/etc/keepalived/keepalived.conf",
    "/etc/systemd/system/kubelet.service",
    *(f"/etc/systemd/system/{timer.NAME}.{kind}" for kind in ("service", "timer")),
    CNI,
    "/etc/groundup/site",
    "/opt/cni/bin",
    # A pod network recreates these when the node joins again; until then, pods would get addresses from the old ones.
    "/run/calico",
    "/run/cilium",
    "/run/flannel",
    "/run/groundup-marks",
    "/usr/local/lib/groundup/edge-alive",
    data.SCRIPT,
    timer.PROGRAM,
    "/var/lib/calico",
    "/var/lib/cni",
    "/var/lib/etcd",
    "/var/lib/kubelet",
    "/var/log/kubernetes",
)
INTERFACES = ("cni0", "flannel.1")
_LINK = 30.0  # seconds


def leave(host: NodeHost, given: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """Remove the etcd member or reset the node, and return the module's result. Raises GroundupError, OSError."""
    if not given["member"]:
        if not given["expected_ca"]:
            raise GroundupError(
                f"{host.name} is not reset: nobody said which cluster it may belong to",
                where="options expected_ca and site of module node; cluster.json and kubeconfig of the site",
                why="it may be a node of a cluster that is not this site's",
                remedy="give the site, and restore its state directory if it is lost",
            )
        volumes.refuse(host, given["directories"], given["force"])
        reset(host, changes, expected_ca=given["expected_ca"])
        return changes.result()
    try:
        leave_etcd(given["member"], given["address"], etcd=Etcd(host), contact=host.name, changes=changes)
    except NodeApiError as error:
        raise GroundupError(
            f"etcd cannot be asked for its members: {error}",
            where=f"host {host.name}",
            why="a member is removed by those that stay",
            remedy=f"see crictl ps -a and journalctl -u kubelet on {host.name}",
        ) from error
    return changes.result()


def leave_etcd(name: str, address: str, *, etcd: Etcd, contact: str, changes: Changes) -> None:
    """Remove the etcd members on host ``name``; ``contact`` is the host this runs on.

    Raises GroundupError when the remaining members would have no quorum; NodeApiError when etcd does not answer.
    """
    members = etcd.members()
    # Match by address only a member that never started: a named one there is another machine with that address.
    leaving = [m for m in members if m.name == name or (not m.name and address in m.addresses)]
    if not leaving:
        return
    _keep_quorum(name, members, leaving, etcd=etcd, contact=contact)
    for member in leaving:
        if changes.add(f"remove the etcd member of {name}", name=f"etcd member {name}", before=line_of(member)):
            remove_member(member, etcd=etcd, host=name, contact=contact)


def _keep_quorum(
    name: str, members: tuple[EtcdMember, ...], leaving: list[EtcdMember], *, etcd: Etcd, contact: str
) -> None:
    """Refuse unless a quorum can agree to the removal, and the remaining members have one after it."""
    staying = voters(members, without=leaving)
    helps = sum(etcd.healthy(member) for member in voters(leaving))
    needed = max(quorum(members) - helps, quorum(staying))
    healthy = healthy_of(staying, etcd=etcd, needed=needed)
    if len(healthy) < needed:
        ill = ", ".join(sorted(member.name for member in staying if member.name not in healthy))
        raise GroundupError(
            f"the etcd member of {name} cannot be removed: of the {len(staying)} that stay, {len(healthy)} are healthy "
            f"({', '.join(healthy) or 'none'}), {needed} are needed",
            where=f"etcd, asked on host {contact}; not healthy: {ill or 'none other'}",
            why="etcd would lose its quorum: nothing in the cluster could change any more",
            remedy=f"bring {ill} back first, then run this again"
            if ill
            else f"start {name} again first: most members must agree; or restore etcd from a snapshot",
        )


def reset(host: NodeHost, changes: Changes, *, expected_ca: str | None) -> None:
    """Remove a node's services and files from the host. Raises GroundupError for another cluster's node, OSError."""
    found = observe(host.paths)
    if expected_ca and found.ca_fingerprint not in (None, expected_ca):
        raise GroundupError(
            f"{host.name} belongs to another Kubernetes cluster: SHA-256 {str(found.ca_fingerprint)[:16]}...",
            where=f"host {host.name}, /etc/kubernetes",
            why="it would be taken from a cluster that is not this site's",
            remedy="check the address; nothing was changed on it",
        )
    units.off(changes, EDGE)  # first: the virtual IP moves while the API server still answers
    kubeadm = host.paths.at("/usr/local/bin/kubeadm")
    if kubeadm.exists() and not found.blank and changes.add("reset the node with kubeadm"):
        # Its etcd member is already removed.
        skip = ["--skip-phases", "remove-etcd-member"] if found.manifests else []
        argv = [str(kubeadm), "reset", "--force", "--cri-socket", CRI_SOCKET, "--ignore-preflight-errors", "all", *skip]
        host.run(argv, timeout=RESET_TIMEOUT, why="its pods end, and what the kubelet mounted is unmounted")
    units.off(changes, [KUBELET, f"{timer.NAME}.timer"])
    if not changes.check:
        _refuse_mounts(host)
    volumes.set_aside(host, changes)
    for path in map(host.paths.at, FILES):
        if _there(path) and changes.add(f"remove {path}"):
            _remove(path)
    forget_network(host, changes)
    places = (host.paths.kubernetes, host.paths.etcd, host.paths.etcd / "member")
    if kept := [str(path) for place in places for path in half_made.kept_of(place)]:
        changes.warnings.append(
            f"{host.name} keeps what was set aside before a reset, keys of the cluster among it: {', '.join(kept)}; "
            "delete what you do not need"
        )


def forget_network(host: NodeHost, changes: Changes) -> None:
    """Remove a former pod network's interfaces, which keep its addresses: no pod would start on the host's next one."""
    for interface in INTERFACES:
        if host.paths.at(f"/sys/class/net/{interface}").exists() and changes.add(f"remove the interface {interface}"):
            argv = ["ip", "link", "delete", interface]
            host.run(argv, timeout=_LINK, why="no pod starts while it has addresses of another network")


def _refuse_mounts(host: NodeHost) -> None:
    """Refuse to remove directories with mounted volumes: kubeadm ignores failed unmounts."""
    mountinfo = read(host.paths.at("/proc/self/mountinfo")) or ""
    places = [line.split()[4] for line in mountinfo.splitlines()]
    if mounted := [
        place for place in places if any(place.startswith(f"{path}/") for path in (*FILES, volumes.DIRECTORY))
    ]:
        raise GroundupError(
            f"{', '.join(mounted)} of {host.name} is still mounted",
            where=f"host {host.name}; its node is reset, and no file was removed",
            why="what is on that volume would be removed with the directory it is mounted in",
            remedy="unmount it (fuser -vm names who uses it) or restart the host, then run this again",
        )


def _there(path: Path) -> bool:
    """Return whether there is anything to remove."""
    return bool(_inside(path)) if _stays(path) else path.exists() or path.is_symlink()


def _stays(path: Path) -> bool:
    """Return whether only the directory's content is removed."""
    return path.is_mount() or (path.is_dir() and path.match(CNI.lstrip("/")))


def _inside(directory: Path) -> list[Path]:
    """Return the directory's content to remove: all but backups from before a reset, kept for the operator."""
    return [path for path in directory.iterdir() if not path.name.endswith(half_made.SUFFIX)]


def _remove(path: Path) -> None:
    """Remove ``path``, or only its content if `_stays`."""
    if _stays(path):
        for inside in _inside(path):
            _remove(inside)
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

"""Take a member to another version of Kubernetes: first the control plane of a control host, at the end its kubelet.

kubeadm's own phases write the manifests, as at the init: with the site's flags, patches and images by digest. Its verb
`upgrade apply` would go by the cluster's copy of the configuration, which may be older, and renew certificates.
"""

from __future__ import annotations

import shutil
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import place
from .._base.wait import wait_until
from .._host import downloads
from . import api_server, documents, encryption, images, static_pods
from .api import NodeApiError
from .etcd import Etcd
from .files import prepare, wanted
from .host import NodeHost
from .refuse import refuse
from .rolling_restart import unready, wait_until_spared
from .spec import Node
from .state import Membership, classify, observe
from .steps import node_of

CONTROL_PLANE = tuple(name for name in static_pods.STATIC if name != static_pods.ETCD)
_IMAGES = "/var/lib/containerd"
_SERVES = 120.0  # seconds until an API server that runs is ready
_PULL, _PHASE = 600.0, 180.0  # seconds


def look(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return room for images in bytes, and of a control host, whether each member of its etcd is healthy."""
    host = NodeHost(name=given["name"])
    found: dict[str, Any] = {"changed": False, "room": shutil.disk_usage(host.paths.at(_IMAGES)).free, "etcd": {}}
    if (host.paths.etcd / "member").exists():
        try:
            etcd = Etcd(host)
            found["etcd"] = {member.name or member.id: etcd.healthy(member) for member in etcd.members()}
        except NodeApiError:
            found["etcd"] = {host.name: False}
    return found


def stage(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Pull the images of the other version: nothing restarts."""
    node = node_of(given)
    _pull(node, NodeHost(name=node.name), changes)
    return changes.result()


def control(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Upgrade the control plane of the host. Raises GroundupError, OptionError, OSError."""
    node = node_of(given)
    upgrade_control(node, NodeHost(name=node.name), changes, expected_ca=given["expected_ca"])
    return changes.result()


def record(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Give the cluster the configuration that nodes of the new version read. Raises GroundupError, OptionError."""
    node, host = node_of(given), NodeHost(name=given["name"])
    node = _member(node, host, given["expected_ca"])
    if changes.add(f"give the cluster kubeadm's configuration of {node.cluster.version}") and not changes.check:
        _programs(node, host, changes, names=("kubeadm",))
        _files(node, host, changes)
        host.phase("upload-config", "all", why="hosts that join read it from the cluster")
        host.phase("bootstrap-token", why="hosts that join are let in by its roles")
    return changes.result()


def kubelet(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Upgrade the kubelet of the host. Raises GroundupError, OptionError, OSError."""
    node = node_of(given)
    upgrade_kubelet(node, NodeHost(name=node.name), changes, expected_ca=given["expected_ca"])
    return changes.result()


def upgrade_control(node: Node, host: NodeHost, changes: Changes, *, expected_ca: str | None) -> None:
    """Upgrade etcd, if its version is another, then API server, controller manager and scheduler; wait for them.

    Run again after a kill, it goes on: what has the new image is not restarted. Raises GroundupError, OSError.
    """
    with host.alone():
        node = _member(node, host, expected_ca)
        outdated, flags = images.outdated(node, host.paths), api_server.differing(node, host.paths)
        if outdated or flags:
            before = "".join(f"{found}\n" for found, _ in outdated.values())
            after = "".join(f"{image}\n" for _, image in outdated.values())
            version = node.cluster.version
            if not changes.add(f"upgrade the control plane of {node.name} to {version}", before=before, after=after):
                return
            _pull(node, host, changes)
            _programs(node, host, changes, names=("kubeadm",))
            _files(node, host, changes)
            wait_until_spared(node, host)
            if images.replace(node, host, changes, names=(static_pods.ETCD,)):
                static_pods.wait_until_running(node, host, (static_pods.ETCD,))
            host.phase("control-plane", "all", why="the control plane gets the manifests of the new version")
        static_pods.wait_until_running(node, host, CONTROL_PLANE)
        if why := wait_until(lambda: unready(host, node.api_server), timeout=_SERVES):
            raise GroundupError(
                f"the API server of {node.name} runs {node.cluster.version} and is not ready: {why}",
                where=f"host {node.name}, {node.api_server}/readyz",
                why="no other control host is touched before this one serves",
                remedy="see crictl ps -a on the host. Then run groundup.cloud.kubernetes_upgrade again: it goes on, or "
                "with the former kubernetes.version in the site file, back",
            )


def upgrade_kubelet(node: Node, host: NodeHost, changes: Changes, *, expected_ca: str | None) -> None:
    """Take kubeadm, kubelet, kubectl and crictl of the new version, and wait for a healthy kubelet.

    Raises GroundupError, OSError.
    """
    with host.alone():
        node = _member(node, host, expected_ca)
        _programs(node, host, changes, names=("kubeadm",))
        if not changes.check:
            command = ["kubeadm", "upgrade", "node", "phase", "kubelet-config"]
            host.run(command, timeout=_PHASE, why="a kubelet reads the configuration of its version")
        prepare(node, host, changes, member=True)


def _member(node: Node, host: NodeHost, expected_ca: str | None) -> Node:
    """Return ``node`` with the encryption of Secrets it has. Raises GroundupError for a host that is no member."""
    if classify(observe(host.paths), node, expected_ca=expected_ca) is not Membership.MEMBER:
        raise GroundupError(
            f"{node.name} is no member of the cluster",
            where=f"host {node.name} ({node.address})",
            why="only a member has a version to upgrade",
            remedy="run the playbook groundup.cloud.kubernetes, which makes it one; then this again",
        )
    refuse(node, host)
    return encryption.kept(node, host.paths) if node.control else node


def _pull(node: Node, host: NodeHost, changes: Changes) -> None:
    static = [node.control_images[name] for name in static_pods.STATIC if name in node.control_images]
    for image in [*node.images, *(static if node.control else ())]:
        if not changes.check:
            host.run(["crictl", "pull", image], timeout=_PULL, why="nothing stops before its new image is there")


def _files(node: Node, host: NodeHost, changes: Changes) -> None:
    """Write what kubeadm reads: its configuration and the patches of the manifests."""
    for file in wanted(node):
        if file.path.startswith(documents.SITE_DIR):
            place(changes, host.paths.at(file.path), file.text, mode=file.mode, secret=file.secret)


def _programs(node: Node, host: NodeHost, changes: Changes, *, names: tuple[str, ...]) -> None:
    for one in node.downloads:
        if one.path.endswith(tuple(f"/{name}" for name in names)):
            downloads.install(changes, one, host.paths.at(one.path), ca=node.ca_certificate)

"""Take a member to another version of Kubernetes: first the control plane of a control host, at the end its kubelet.

kubeadm's own phases write the manifests, as at the init: with the site's flags, patches and images by digest. Its verb
`upgrade apply` would go by the cluster's copy of the configuration, which may be older, and renew certificates.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import place, read
from .._base.wait import wait_until
from .._host import downloads, units
from .._host.downloads import Download
from . import api_server, documents, encryption, images, static_pods
from .api import NodeApiError
from .etcd import Etcd
from .files import KUBELET, prepare, wanted
from .host import NodeHost
from .refuse import refuse
from .rolling_restart import alone, leads, unready, wait_until_spared
from .spec import Node, Paths
from .state import Membership, classify, observe
from .steps import node_of

MANAGERS = ("kube-controller-manager", "kube-scheduler")
_PROGRAMS = {"/usr/local/bin/kubelet": ("--version",), "/usr/local/bin/kubeadm": ("version", "--output", "short")}
_CONFIGURED = re.compile(r'kubernetesVersion"?: *"?([^"\s]+)')
_IMAGES = "/var/lib/containerd"
_STAGE = "/usr/local/lib/groundup/kubernetes"  # programs of the other version, until the host's kubelet has it
_SERVES = 120.0  # seconds until an API server that runs is ready
_PULL, _PHASE, _SAYS = 600.0, 180.0, 30.0  # seconds


def look(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return room for images, what versions there are, and of a control host who of etcd is healthy, and who leads."""
    return room(NodeHost(name=given["name"]))


def room(host: NodeHost) -> dict[str, Any]:
    """Return the step's result for ``host``. Raises GroundupError, OSError."""
    free = shutil.disk_usage(host.paths.at(_IMAGES)).free
    found: dict[str, Any] = {"changed": False, "room": free, "etcd": {}, "versions": versions(host)}
    if (host.paths.etcd / "member").exists():
        try:
            etcd = Etcd(host)
            found["etcd"] = {member.name or member.id: etcd.healthy(member) for member in etcd.members()}
            found["leads"] = leads(host)
        except NodeApiError:
            found["etcd"] = {host.name: False}
    return found


def versions(host: NodeHost) -> dict[str, str]:
    """Return what names the version of each part, by its path: a program's words, an image; "" where nothing does."""
    found = dict.fromkeys(_PROGRAMS, "")
    for program, words in _PROGRAMS.items():
        with suppress(GroundupError, OSError):  # who asks takes none for unknown
            found[program] = host.run([str(host.paths.at(program)), *words], timeout=_SAYS, why="it says its version")
    written = _CONFIGURED.search(read(host.paths.init_file) or "")
    found[f"{documents.SITE_DIR}/kubeadm.yaml"] = written[1] if written else ""
    images = {name: str(static_pods.container(name, host.paths).get("image", "")) for name in static_pods.STATIC}
    return found | {f"/etc/kubernetes/manifests/{name}.yaml": image for name, image in images.items()}


def make(step: str, changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Do one step of an upgrade on the host. Raises GroundupError, OptionError, OSError."""
    host = NodeHost(name=given["name"])
    with host.alone():
        STEPS[step](_member(node_of(given), host, given["expected_ca"]), host, changes)
    return changes.result()


def wake(node: Node, host: NodeHost, changes: Changes) -> None:
    """Start a control host's kubelet that a killed run has stopped, and wait until its API server serves.

    Raises GroundupError.
    """
    stopped = node.control and not units.Unit(changes, KUBELET, marks=host.paths.at(str(units.MARKS))).active
    if stopped and changes.add(f"start the kubelet of {node.name}, which a killed run has stopped"):
        units.control("start", KUBELET)
        _serves(node, host)


def stage(node: Node, host: NodeHost, changes: Changes) -> None:
    """Pull images, and fetch programs of the other version that are not installed yet: nothing restarts.

    Raises GroundupError, OSError.
    """
    for one in node.downloads:
        if _outdated(one, node, host.paths):
            downloads.install(changes, one, _stage(node, host.paths) / Path(one.path).name, ca=node.ca_certificate)
    static = [node.control_images[name] for name in static_pods.STATIC if name in node.control_images]
    for image in [*node.images, *static]:
        if not changes.check:
            host.run(["crictl", "pull", image], timeout=_PULL, why="nothing stops before its new image is there")


def control(node: Node, host: NodeHost, changes: Changes) -> None:
    """Upgrade etcd, if its image is another, then API server, controller manager and scheduler; wait for each.

    Run again after a kill, it goes on: what has the new image is not restarted. Raises GroundupError, OSError.
    """
    outdated, flags = images.outdated(node, host.paths), api_server.differing(node, host.paths)
    if outdated or flags:
        before = "".join(f"{found}\n" for found, _ in outdated.values())
        after = "".join(f"{image}\n" for _, image in outdated.values())
        line = f"upgrade the control plane of {node.name} to {node.cluster.version}"
        if not changes.add(line, before=before, after=after):
            return
        stage(node, host, changes)
        _programs(node, host, changes, names=("kubeadm",))
        _files(node, host, changes)
        wait_until_spared(node, host)
        if images.replace(node, host, changes, names=(static_pods.ETCD,)):
            static_pods.wait_until_running(node, host, (static_pods.ETCD,))
        if flags or static_pods.API in outdated:
            host.phase("control-plane", "apiserver", why="the API server gets the manifest of the new version")
    static_pods.wait_until_running(node, host, (static_pods.API,))
    _serves(node, host)
    for name in MANAGERS:  # never newer than the API server that they ask: their own host's
        if name in outdated:
            host.phase("control-plane", name.removeprefix("kube-"), why=f"{name} gets the manifest of the new version")
    static_pods.wait_until_running(node, host, static_pods.STATIC)


def record(node: Node, host: NodeHost, changes: Changes) -> None:
    """Give the cluster the configuration that nodes of the new version read. Raises GroundupError, OSError."""
    if changes.add(f"give the cluster kubeadm's configuration of {node.cluster.version}"):
        _programs(node, host, changes, names=("kubeadm",))
        _files(node, host, changes)
        host.phase("upload-config", "all", why="hosts that join, and kubelets, read it from the cluster")
        host.phase("bootstrap-token", why="hosts that join are let in by its roles")


def kubelet(node: Node, host: NodeHost, changes: Changes) -> None:
    """Take kubeadm, kubelet, kubectl and crictl of the new version, and wait for what the kubelet runs.

    To a kubelet of another version static pods are new ones: it ends the former, etcd and API server at once. On a
    control host they end before it, in their order, while no kubelet starts them again. Raises GroundupError, OSError.
    """
    anew = node.control and _differs(node, host)
    if anew:
        wait_until_spared(node, host)
    _programs(node, host, changes, names=("kubeadm",))
    if not changes.check:
        command = ["kubeadm", "upgrade", "node", "phase", "kubelet-config"]
        host.run(command, timeout=_PHASE, why="a kubelet reads the configuration of its version")
    try:
        if anew and not changes.check:
            units.control("stop", KUBELET)
            static_pods.end(host, static_pods.STATIC, alone=alone(host))
        prepare(_as_staged(node, host.paths), host, changes, member=True)
    except BaseException:
        if anew and not changes.check:
            units.control("start", KUBELET)  # whichever is there
        raise
    if changes.check:
        return
    if node.control:
        static_pods.wait_until_started(node, host)
        _serves(node, host)
    shutil.rmtree(_stage(node, host.paths), ignore_errors=True)  # what is left costs room alone


def _differs(node: Node, host: NodeHost) -> bool:
    """Return whether the host's kubelet is not that of the new version. Raises GroundupError."""
    (wanted,) = (one for one in node.downloads if Path(one.path).name == "kubelet")
    return _outdated(wanted, node, host.paths)


def _outdated(one: Download, node: Node, paths: Paths) -> bool:
    found = downloads.sha256(paths.at(one.path))
    return not found or found != (one.sha256 or downloads.published_digest(one.url, ca=node.ca_certificate))


def _serves(node: Node, host: NodeHost) -> None:
    if why := wait_until(lambda: unready(host, node.api_server), timeout=_SERVES):
        raise GroundupError(
            f"the API server of {node.name} runs {node.cluster.version} and is not ready: {why}",
            where=f"host {node.name}, {node.api_server}/readyz",
            why="no other control host is touched before this one serves",
            remedy="see crictl ps -a on the host; mend it. Then groundup.cloud.kubernetes_upgrade goes on",
        )


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


def _stage(node: Node, paths: Paths) -> Path:
    return paths.at(f"{_STAGE}/{node.cluster.version}")


def _as_staged(node: Node, paths: Paths) -> Node:
    """Return ``node`` with the programs that are staged here, by their published digest if it is known."""
    found = []
    for one in node.downloads:
        staged = _stage(node, paths) / Path(one.path).name
        digest = downloads.sha256(staged)
        found.append(replace(one, url=staged.as_uri(), sha256=one.sha256 or digest) if digest else one)
    return replace(node, downloads=tuple(found))


def _files(node: Node, host: NodeHost, changes: Changes) -> None:
    """Write what kubeadm reads: its configuration and the patches of the manifests."""
    for file in wanted(node):
        if file.path.startswith(documents.SITE_DIR):
            place(changes, host.paths.at(file.path), file.text, mode=file.mode, secret=file.secret)


def _programs(node: Node, host: NodeHost, changes: Changes, *, names: Collection[str]) -> None:
    for one in _as_staged(node, host.paths).downloads:
        if Path(one.path).name in names:
            downloads.install(changes, one, host.paths.at(one.path), ca=node.ca_certificate)


STEPS = {
    "upgrade_wake": wake, "upgrade_stage": stage, "upgrade_control": control, "upgrade_record": record,
    "upgrade_kubelet": kubelet,
}  # fmt: skip

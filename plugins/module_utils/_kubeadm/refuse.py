"""Refuse unsupported changes of a running node, before anything is written on the host."""

from __future__ import annotations

import re
from contextlib import suppress

from .._base.errors import GroundupError
from .._base.files import read
from .._plan.kubernetes import KubernetesPlan
from . import api_server, documents, encryption, etcd_restore, half_made, networks, static_pods
from .host import NodeHost
from .spec import Node, Paths
from .state import ObservedState

# Kubernetes' own version: a vendor's or site's suffix (1.36.3+corp.1, v1.36.3-corp.1) does not change it.
VERSION = re.compile(r"\bv(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)")
TAG = re.compile(rf":{VERSION.pattern}[^\s@:/]*(?:@\S+)?$")
TIMEOUT = 30.0  # seconds


def refuse(node: Node, host: NodeHost) -> None:
    """Refuse a change of the Kubernetes version, of the cluster's networks or of the encryption key of Secrets.

    Raises GroundupError, OSError.
    """
    refuse_cluster(node.cluster, node.name, host)
    if node.control:
        _encryption(node, host.paths)


def refuse_to_initialise(found: ObservedState, node: Node) -> None:
    """Refuse a new cluster before all control hosts were checked for an old one, or on a host that was joining one.

    Raises GroundupError.
    """
    if not node.surveyed:
        raise GroundupError(
            f"{node.name} initialises no cluster: the control hosts of the site were not asked whether they have one",
            where=f"host {node.name}, option surveyed of module node",
            why="a second cluster beside one that exists would take its name, its address and, in time, its hosts",
            remedy="run the playbook groundup.cloud.kubernetes, which asks them",
        )
    if found.begun and found.begun.verb == "join":
        raise GroundupError(
            f"{node.name} was joining the cluster {found.begun.cluster}, and no control host has that cluster now",
            where=f"host {node.name} ({node.address}), /etc/kubernetes/site/{half_made.FILE}",
            why="a cluster that could be joined exists somewhere; a second one is never made beside it",
            remedy="bring a control host of that cluster back; if it is gone for good, run kubeadm reset on "
            f"{node.name} and remove the file named above",
        )


def refuse_to_start(found: ObservedState, node: Node, host: NodeHost, *, joins: bool) -> None:
    """Refuse to start a restored control host without etcd's data or beside its cluster, or to make another one of it.

    The data count once they are recorded: a restore that goes on would replace what was written until then.
    Raises GroundupError.
    """
    put = etcd_restore.passed(host.paths).get("did") == etcd_restore.PUT
    if not put or joins or not node.initialise:
        raise GroundupError(
            f"a restore of the cluster has begun on {node.name}, and "
            + ("it would join another one" if put else "etcd's data are not in place"),
            where=f"host {node.name} ({node.address}), /etc/kubernetes/site/{half_made.FILE}",
            why="started without them, its etcd would be a new and empty cluster under the keys of the old one",
            remedy="run groundup.cloud.restore again, with the same arguments: it goes on; to give it up, move "
            "/etc/kubernetes and /var/lib/etcd of the host away",
        )
    cluster = node.cluster
    servers = [f"https://{one}:{node.api_port}" for one in cluster.control_addresses if one != node.address]
    if not found.manifests:  # else the endpoint may be this host's own, of an init that was killed
        servers.append(f"https://{cluster.endpoint_address}:{cluster.endpoint_port}")
    if living := next(filter(host.speaks, servers), None):
        raise GroundupError(
            f"{node.name} does not start: the cluster that was restored answers, or hangs, at {living}",
            where=f"host {node.name} ({node.address}), /etc/kubernetes/site/{half_made.FILE}",
            why="its former etcd lives on another host: there would be two clusters of one name and authority",
            remedy="run groundup.cloud.restore again, with the same arguments: it asks for the consent overwrite, and "
            "clears the other control hosts",
        )


def refuse_cluster(cluster: KubernetesPlan, name: str, host: NodeHost) -> None:
    """Refuse cluster settings that differ from those found on member ``name``. Raises GroundupError, OSError."""
    _upgrade(cluster, name, host)
    _networks(cluster, name, host.paths)


def _upgrade(cluster: KubernetesPlan, name: str, host: NodeHost) -> None:
    kubelet, said = host.paths.at("/usr/local/bin/kubelet"), ""
    if kubelet.exists():
        # A kubelet that does not start has no version to preserve: it is fetched again.
        with suppress(GroundupError, OSError):
            said = host.run([str(kubelet), "--version"], timeout=TIMEOUT, why="a member's version is its kubelet's")
    image = static_pods.container(api_server.NAME, host.paths).get("image", "")
    wanted = [one for version in (cluster.version, *cluster.upgrading) if (one := VERSION.match(f"v{version}"))]
    for found in (VERSION.search(said), TAG.search(image)):
        if found and wanted and found.group(1) not in {one.group(1) for one in wanted}:
            raise GroundupError(
                f"{name} runs Kubernetes v{found.group(1)}, the site file says v{cluster.version}",
                where=f"host {name}, site file key kubernetes.version",
                why="an upgrade goes host by host, with a backup before it; no re-run does it by the way",
                remedy=f"set kubernetes.version to {found.group(1)}, or run ansible-playbook "
                "groundup.cloud.kubernetes_upgrade, whose --tags check shows what it does and meets",
            )


def _networks(cluster: KubernetesPlan, name: str, paths: Paths) -> None:
    """Refuse changed networks: existing Services, nodes and pods keep their addresses and would be unreachable."""
    for key, what, made, wanted in networks.differing(networks.found(paths), cluster):
        raise GroundupError(
            f"{name}'s cluster was made with {what} {made}, the site file says {wanted}",
            where=f"host {name}, site file key kubernetes.{key}",
            why="what runs keeps the addresses and names it has, and nothing new would find it",
            remedy=f"write kubernetes.{key} as the cluster was made; other networks mean a new cluster",
        )


def _encryption(node: Node, paths: Paths) -> None:
    """Refuse to lose the key that encrypted the Secrets in etcd: only it can read them."""
    keys, text = encryption.found(paths), read(paths.at(documents.ENCRYPTION))
    if encryption.names(paths) == [encryption.CLEAR] or text is None:
        return
    if not node.cluster.encrypt_secrets:
        raise GroundupError(
            f"the Secrets of {node.name}'s cluster are encrypted at rest, the site file says they are not",
            where=f"host {node.name}, site file key kubernetes.encrypt_secrets",
            why="an API server without the key could not read a single Secret",
            remedy="set kubernetes.encrypt_secrets to true; to give it up, write every Secret anew in clear text first",
        )
    ours = {one.secret for one in node.encryption_keys}
    if ours and not (ours & {one.secret for one in keys} and text == documents.encryption_config(keys)):
        raise GroundupError(
            f"the key of Secrets at rest on {node.name} is not the one in the site's store of secrets",
            where=f"host {node.name}, {paths.at(documents.ENCRYPTION)}; secret kubernetes/encryption-key",
            why="an API server with another key could not read a single Secret",
            remedy="restore the store this cluster was made with; groundup.cloud.rotate changes keys",
        )

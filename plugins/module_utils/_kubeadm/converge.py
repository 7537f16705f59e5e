"""Turn a host into a node, or maintain it as one.

Every step checks the host before it acts, so that the next run completes a killed one.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import write_file
from .._host import units
from . import (
    api_server,
    data,
    documents,
    encryption,
    etcd_restore,
    half_made,
    images,
    node_ports,
    renewal,
    timer,
    volumes,
)
from .files import KUBELET, prepare
from .host import NodeHost
from .leave import forget_network
from .members import add_ons, maintain
from .refuse import refuse, refuse_to_initialise, refuse_to_start
from .rolling_restart import leads, wait_until_spared
from .spec import JOIN_FILE, Join, Node
from .state import Membership, ObservedState, classify, observe
from .static_pods import wait_until_running

JOIN_TIMEOUT = 420.0  # seconds, also of an init; kubeadm's own limit is four minutes for each of its waits
RESET_TIMEOUT = 180.0
CRICTL = "/usr/local/bin/crictl"


@dataclass(slots=True, kw_only=True)
class NodeResult:
    """The module's result, filled step by step."""

    changes: Changes
    membership: Membership = Membership.BLANK  # what the host is now
    joins: bool = False  # it is prepared and needs join credentials
    due: list[str] = field(default_factory=list)  # certificates that expire soon, static pods that must restart
    leads: bool = False  # its etcd does, and something is due
    ca: str | None = None  # SHA-256 of the CA of the cluster it belongs to
    certificates: dict[str, int] = field(default_factory=dict)  # days left, by file

    def result(self) -> dict[str, Any]:
        """Return the module's result."""
        return {
            **self.changes.result(),
            "membership": self.membership.value,
            "joins": self.joins,
            "due": self.due,
            "leads": self.leads,
            "ca": self.ca,
            "certificates": self.certificates,
        }


def converge(
    node: Node,
    host: NodeHost,
    changes: Changes,
    *,
    join: Join | None,
    expected_ca: str | None,
    rolling_restart: bool = False,
) -> NodeResult:
    """Converge the host: maintain a member, initialise, join, or else only prepare it. Raises GroundupError, OSError.

    With ``join`` (credentials), a prepared host joins, and nothing else is converged. With ``expected_ca``, the SHA-256
    of the cluster's CA, no new cluster is initialised. Without ``rolling_restart``, changes that interrupt etcd and the
    API of a control host are only reported as due.
    """
    with nullcontext() if changes.check else host.alone():
        result = NodeResult(changes=changes)
        found = observe(host.paths)
        if not found.blank:
            data.refuse_missing(host.paths, host=node.name)
        result.membership = classify(found, node, expected_ca=expected_ca)
        if result.membership is Membership.MEMBER:
            refuse(node, host)
            node = _as_encrypted(node, host, result)
            if node.cluster.upgrading:  # it keeps the version that it has
                node = replace(node, downloads=())
        elif found.restoring:
            refuse_to_start(found, node, host, joins=join is not None)
            node = encryption.restored(node, host.paths)
        if join is None:
            prepare(node, host, changes, member=result.membership is Membership.MEMBER)
        if result.membership is Membership.MEMBER:
            _keep(node, host, result, rolling_restart=rolling_restart)
        elif found.restoring:
            found = _start_restored(node, host, result, found, expected_ca=expected_ca)
        else:
            found = _become_member(node, host, result, found, join=join, expected_ca=expected_ca)
        if not result.joins:
            result.ca = found.ca_fingerprint
        return result


def _as_encrypted(node: Node, host: NodeHost, result: NodeResult) -> Node:
    """Return ``node`` with the encryption of Secrets that it has: another needs all control hosts, in an order."""
    if not node.control:
        return node
    kept = encryption.kept(node, host.paths)
    if node.cluster.encrypt_secrets and not kept.cluster.encrypt_secrets:
        result.changes.warnings.append(
            f"Secrets are not encrypted at rest on {node.name}: ansible-playbook groundup.cloud.rotate "
            "-e rotate_what=encryption-key turns it on"
        )
    return kept


def _become_member(
    node: Node,
    host: NodeHost,
    result: NodeResult,
    found: ObservedState,
    *,
    join: Join | None,
    expected_ca: str | None,
) -> ObservedState:
    """Initialise or join; without join credentials, only fetch images. Return the host's new state."""
    changes, was = result.changes, result.membership
    initialise = node.initialise and expected_ca is None and join is None
    if initialise:
        refuse_to_initialise(found, node)
    if was is Membership.PARTIAL and (initialise or join):
        _reset(node, host, changes, found, initialise=initialise)
    if initialise:
        if _note(changes, "initialise the cluster", node, "blank"):
            half_made.begin(host.paths, half_made.HalfMade(cluster=node.site, verb="init"))
            forget_network(host, changes)
            _init(host)
        pull_later(node, host, changes)
    elif join:
        if _note(changes, "join the cluster", node, "blank"):
            half_made.begin(host.paths, half_made.HalfMade(cluster=node.site, verb="join"))
            forget_network(host, changes)
            _join(node, host, join)
    else:
        result.joins = True
        if changes.check:
            _note(changes, "join the cluster", node, was.value)
        else:
            _pull(node, host)
        pull_later(node, host, changes)
        return found
    return found if changes.check else _ended(node, host, result, expected_ca=expected_ca)


def _start_restored(
    node: Node, host: NodeHost, result: NodeResult, found: ObservedState, *, expected_ca: str | None
) -> ObservedState:
    """Initialise the host with the keys and the data of etcd that a restore put there. Return its new state."""
    if not _note(result.changes, "start the cluster whose keys and etcd were restored", node, "restored"):
        return found
    etcd_restore.halt(host, result.changes)
    _init(host, "--skip-phases=addon")  # etcd has them
    return _ended(node, host, result, expected_ca=expected_ca)


def _ended(node: Node, host: NodeHost, result: NodeResult, *, expected_ca: str | None) -> ObservedState:
    """Check that kubeadm has made a member of the host. Return its new state. Raises GroundupError."""
    found = observe(host.paths)
    result.membership = classify(found, node, expected_ca=expected_ca)
    if result.membership is not Membership.MEMBER:
        raise GroundupError(
            f"kubeadm ended well but {node.name} is not a member",
            where=f"host {node.name}, /etc/kubernetes/kubelet.conf",
            why="the kubelet has not been given its own certificate",
            remedy="see journalctl -u kubelet on the host; a re-run resets the half-made node and starts again",
        )
    half_made.ended(host.paths)
    _secure(node, host, result.changes)
    return found


def _keep(node: Node, host: NodeHost, result: NodeResult, *, rolling_restart: bool) -> None:
    _secure(node, host, result.changes)
    maintain(node, host, result.changes)
    result.certificates = renewal.remaining(host.paths)
    result.changes.warnings += renewal.left_to_others(result.certificates, host=node.name)
    if node.control and node.cluster.upgrading:
        result.changes.warnings.append(
            f"an upgrade of Kubernetes is open: what would restart {node.name} waits for its end "
            "(groundup.cloud.kubernetes_upgrade goes on with it)"
        )
    elif node.control:
        _restart(node, host, result, rolling_restart=rolling_restart)
    if node.initialise and not result.due:  # else its API may be broken until the restart
        add_ons(node, host, result.changes)


def _secure(node: Node, host: NodeHost, changes: Changes) -> None:
    """Install the guards of data and of the node ports; on control hosts, the timer of certificates."""
    volumes.close(host.paths, changes)
    data.keep(host.paths, changes, control=node.control)
    node_ports.close(node, host.paths, changes)
    if node.control:
        timer.install(node, host.paths, changes)


def _restart(node: Node, host: NodeHost, result: NodeResult, *, rolling_restart: bool) -> None:
    """Apply changes that interrupt the host's etcd and API, or report them as due."""
    changes = result.changes
    due = [*images.outdated(node, host.paths), *([api_server.NAME] if api_server.differing(node, host.paths) else [])]
    old = renewal.due(host, result.certificates, since=node.issued_since)
    due += [*old, *renewal.behind(host, changes)]
    if not rolling_restart:
        result.due = list(dict.fromkeys(due))
        result.leads = bool(due) and leads(host)
        return
    if due and not changes.check:
        wait_until_spared(node, host)
    anew = images.replace(node, host, changes) | api_server.rewrite(node, host, changes)
    if anew and not changes.check:
        wait_until_running(node, host, anew)
    renewal.renew(node, host, changes, left=result.certificates, anew=anew, since=node.issued_since)
    result.certificates = renewal.remaining(host.paths)


def _note(changes: Changes, line: str, node: Node, before: str) -> bool:
    return changes.add(line, name=node.name, before=f"{before}\n", after="member\n")


def _reset(node: Node, host: NodeHost, changes: Changes, found: ObservedState, *, initialise: bool) -> None:
    if not changes.add("reset the half-made node", name=node.name, before="partial\n", after="blank\n"):
        return
    paths = host.paths
    units.control("stop", KUBELET)
    # No node depends on this data, but it is kept, never deleted on an assumption. The data of a joined member are a
    # copy, which kubeadm removes with the member.
    etcd = found.etcd_data and (initialise or "etcd" not in found.manifests)
    kept = half_made.set_aside(paths, etcd=etcd, emptied=not initialise, host=node.name)
    changes.warnings.append(f"{node.name} was half made and is reset; set aside: {', '.join(map(str, kept))}")
    config = paths.site / "reset.yaml"
    write_file(config, documents.reset_config(node, leave_etcd=initialise).encode(), mode=0o600)
    host.run(
        ["kubeadm", "reset", "--config", str(config)],
        timeout=RESET_TIMEOUT,
        why="what a killed run left must be cleared before the node is made again",
    )
    # kubeadm leaves the last two files; the next run would take the host for a half-made node again.
    for left in (config, paths.kubernetes / "bootstrap-kubelet.conf", paths.kubernetes / "super-admin.conf"):
        left.unlink(missing_ok=True)


def _init(host: NodeHost, *options: str) -> None:
    host.run(
        ["kubeadm", "init", "--config", str(host.paths.init_file), "--skip-token-print", *options],
        timeout=JOIN_TIMEOUT,
        why="the first control host makes the cluster's keys, its etcd and its API",
    )


def _join(node: Node, host: NodeHost, join: Join) -> None:
    config = host.paths.site / JOIN_FILE
    write_file(config, documents.join_config(node, join).encode(), mode=0o600)
    try:
        host.run(
            ["kubeadm", "join", "--config", str(config)],
            timeout=JOIN_TIMEOUT,
            why="the node takes its certificates and its place from the cluster",
        )
    finally:
        config.unlink(missing_ok=True)


def _pull(node: Node, host: NodeHost) -> None:
    """Fetch the images a node starts with, while the first control host initialises."""
    why = "a node whose first images cannot be had would join and never be Ready"
    for image in node.images:
        host.run(["crictl", "pull", image], timeout=300, why=why)


def pull_later(node: Node, host: NodeHost, changes: Changes) -> None:
    """Pull images of later pods in the background, in sequence; the kubelet pulls those that fail."""
    if node.later_images and changes.add(f"pull in the background: {', '.join(node.later_images)}"):
        pulls = [f"--property=ExecStartPre=-{CRICTL} pull {image}" for image in node.later_images]
        unit = ["systemd-run", "--quiet", "--collect", "--no-block", "--service-type=oneshot"]
        try:
            host.run([*unit, *pulls, "true"], timeout=30, why="pods wait for these images when they start")
        except GroundupError as error:  # the node works without them
            changes.warnings.append(f"images are not pulled in the background: {error}")

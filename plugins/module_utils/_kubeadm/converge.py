"""Turn a host into a node and keep it one: what to do, in order, from what the host is now.

Every step looks before it acts, so that a run which was killed anywhere is finished by the next.
"""

from __future__ import annotations

from functools import partial

from . import api_server, documents, images, renewal
from .errors import NodeError
from .files import prepare
from .host import Host
from .members import add_ons, maintain
from .outcome import Outcome
from .refuse import refuse
from .spec import JOIN_FILE, Join, Node, Paths
from .state import Evidence, Membership, classify, observe
from .static_pods import await_running
from .turn import await_turn

LOCK = "/run/lock/groundup-kubeadm.lock"
INIT_TIMEOUT = 420.0  # seconds; kubeadm's own limit is four minutes for each of its waits
JOIN_TIMEOUT = 420.0
RESET_TIMEOUT = 180.0


def converge(
    node: Node,
    *,
    host: Host,
    paths: Paths,
    join: Join | None,
    expected_ca: str | None,
    check: bool,
    in_turn: bool = False,
) -> Outcome:
    """Bring the host nearest to ``node``: a member when it can be, else prepared.

    Args:
        node: what the host is to become.
        host: the edge to the host.
        paths: where things are.
        join: the invitation; with it a prepared host joins and nothing else is looked at.
        expected_ca: SHA-256 of the cluster's CA when the controller knows the cluster: then it is never made anew.
        in_turn: do what takes etcd and the API of a control host away for a while; without it the outcome only says
            what is due.
        check: say what would be done and do nothing.

    Raises:
        NodeError: the host is refused or a step failed.
        OSError: the host's files cannot be read or written.
    """
    work = partial(
        _converge,
        node,
        host=host,
        paths=paths,
        join=join,
        expected_ca=expected_ca,
        in_turn=in_turn,
        check=check,
    )
    if check:
        return work()
    with host.alone(paths.at(LOCK)):
        return work()


def _converge(
    node: Node,
    *,
    host: Host,
    paths: Paths,
    join: Join | None,
    expected_ca: str | None,
    in_turn: bool,
    check: bool,
) -> Outcome:
    outcome = Outcome()
    evidence = observe(paths)
    membership = classify(evidence, node, expected_ca=expected_ca)
    if membership is Membership.MEMBER:
        refuse(node, host=host, paths=paths)
    if join is None:
        prepare(node, host=host, paths=paths, outcome=outcome, check=check, member=membership is Membership.MEMBER)
    if membership is Membership.MEMBER:
        _keep(node, host=host, paths=paths, outcome=outcome, in_turn=in_turn, check=check)
        outcome.membership, outcome.ca = membership, evidence.ca_fingerprint
        return outcome
    initialise = node.initialise and expected_ca is None and join is None
    if membership is Membership.PARTIAL and (initialise or join):
        _reset(node, evidence, host=host, paths=paths, outcome=outcome, check=check, initialise=initialise)
    if initialise:
        _init(node, host=host, paths=paths, outcome=outcome, check=check)
    elif join:
        _join(node, join, host=host, paths=paths, outcome=outcome, check=check)
    else:
        outcome.joins, outcome.membership = True, membership
        if check:
            outcome.note("join the cluster", name=node.name, before=f"{membership.value}\n", after="member\n")
        else:
            _pull(node, host=host)
        return outcome
    if not check:
        evidence = observe(paths)
        membership = classify(evidence, node, expected_ca=expected_ca)
        if membership is not Membership.MEMBER:
            raise NodeError(
                f"kubeadm ended well but {node.name} is not a member",
                where=f"host {node.name}, /etc/kubernetes/kubelet.conf",
                why="the kubelet has not been given its own certificate",
                remedy="see journalctl -u kubelet on the host; a re-run resets the half-made node and starts again",
            )
    outcome.membership, outcome.ca = membership, evidence.ca_fingerprint
    return outcome


def _keep(node: Node, *, host: Host, paths: Paths, outcome: Outcome, in_turn: bool, check: bool) -> None:
    maintain(node, host=host, paths=paths, outcome=outcome, check=check)
    if node.control:
        _turn(node, host=host, paths=paths, outcome=outcome, in_turn=in_turn, check=check)
    if node.initialise and not outcome.due:  # else its API may be what has to be mended
        add_ons(node, host=host, paths=paths, outcome=outcome, check=check)


def _turn(node: Node, *, host: Host, paths: Paths, outcome: Outcome, in_turn: bool, check: bool) -> None:
    """Do what takes etcd and the API of the host away for a while, or say that it is due."""
    predicted = outcome.predicted
    changes = [*images.outdated(node, paths), *([api_server.NAME] if api_server.differing(node, paths) else [])]
    due = list(dict.fromkeys([*changes, *renewal.due(host=host, paths=paths, predicted=predicted)]))
    if not in_turn:
        outcome.due = due
        return
    if due and not check:
        await_turn(node, host=host, paths=paths)
    anew = images.replace(node, host=host, paths=paths, outcome=outcome, check=check)
    anew |= api_server.rewrite(node, host=host, paths=paths, outcome=outcome, check=check)
    if anew and not check:
        await_running(node, anew, host=host.name, paths=paths)
    renewal.renew(node, host=host, paths=paths, outcome=outcome, anew=anew, check=check)
    outcome.certificates = renewal.remaining(paths)


def _reset(
    node: Node, evidence: Evidence, *, host: Host, paths: Paths, outcome: Outcome, check: bool, initialise: bool
) -> None:
    outcome.note("reset the half-made node", name=node.name, before="partial\n", after="blank\n")
    if check:
        return
    host.systemctl("stop", "kubelet.service")
    if (paths.etcd / "member").exists() and (initialise or "etcd" not in evidence.manifests):
        # Nobody depends on these data, but data are not thrown away on the strength of an argument.
        host.rename(paths.etcd, paths.etcd.with_name("etcd.before-reset"))
    config = paths.site / "reset.yaml"
    host.write(config, documents.reset_config(node, leave_etcd=initialise).encode(), 0o600)
    host.run(
        ["kubeadm", "reset", "--config", str(config)],
        timeout=RESET_TIMEOUT,
        why="what a killed run left must be cleared before the node is made again",
    )
    host.remove(config)
    # kubeadm leaves these to the operator; they would make the next look see a half-made node again.
    for left in (paths.kubernetes / "bootstrap-kubelet.conf", paths.kubernetes / "super-admin.conf"):
        host.remove(left)


def _init(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    outcome.note("initialise the cluster", name=node.name, before="blank\n", after="member\n")
    if check:
        return
    host.run(
        ["kubeadm", "init", "--config", str(paths.init_file), "--skip-token-print"],
        timeout=INIT_TIMEOUT,
        why="the first control host makes the cluster's keys, its etcd and its API",
    )


def _join(node: Node, join: Join, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    outcome.note("join the cluster", name=node.name, before="blank\n", after="member\n")
    if check:
        return
    config = paths.site / JOIN_FILE
    host.write(config, documents.join_config(node, join).encode(), 0o600)
    try:
        host.run(
            ["kubeadm", "join", "--config", str(config)],
            timeout=JOIN_TIMEOUT,
            why="the node takes its certificates and its place from the cluster",
        )
    finally:
        host.remove(config)


def _pull(node: Node, *, host: Host) -> None:
    """Fetch the images a node starts with, while the first control host is at work."""
    for image in node.images:
        host.run(
            ["crictl", "pull", image],
            timeout=300,
            why="a node whose first images cannot be had would join and never be Ready",
        )

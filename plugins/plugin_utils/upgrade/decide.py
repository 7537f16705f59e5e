"""What stands against an upgrade, what it would do, and where it may begin. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from ...module_utils._base.consent import Reason
from ...module_utils._base.text import aligned
from ..errors import GroundupError
from ..plan.platform.versions import KUBERNETES
from ..plan.types import Plan
from .nodes import comes_back, is_ours
from .steps import Kind, UpgradeStep, Version, refusals, steps
from .survey import FoundCluster, tag

API_DOWN, UNDRAINED, BARE, DEPRECATED = "api-down", "undrained", "bare-pods", "deprecated-api"
ETCD_MINOR = "etcd-minor"
CODES = (API_DOWN, UNDRAINED, BARE, DEPRECATED, ETCD_MINOR)
SECONDS = 45  # without an API, of one control host
ROOM = 2 << 30  # bytes free for images of another version, on each host


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    target: Version
    source: Version  # of the oldest API server
    steps: tuple[UpgradeStep, ...]
    drains: bool  # pods leave a node before its kubelet changes: for another minor
    resumed: tuple[UpgradeStep, ...] = ()  # those of the steps that a former run has begun and not ended

    def hosts(self, kind: str) -> list[str]:
        """Return the hosts of the steps of ``kind``, in order."""
        return [step.host for step in self.steps if step.kind == kind]

    @property
    def half_done(self) -> frozenset[str]:
        """Hosts on which a former run ended in the middle of a step: what they lack is what it was at."""
        return frozenset(step.host for step in self.resumed)


def judge(plan: Plan, found: FoundCluster, resumed: Sequence[UpgradeStep] = ()) -> Judged:
    """Return the upgrade of ``found`` to the version of ``plan``; ``resumed``: steps of a former run that did not end.

    Raises GroundupError for no version.
    """
    target = Version.of(plan.kubernetes.version)
    if target is None:
        raise GroundupError(
            f"{plan.kubernetes.version} is no version", where="kubernetes.version of the site file",
            why="nothing can be compared with it", remedy=f"one of: {', '.join(KUBERNETES)}",
        )  # fmt: skip
    # Steps on the way are done again, and first of their kind: they may have left a host out of HAProxy, or cordoned.
    again = [one for one in resumed if one.host in plan.hosts or not one.host]
    # One whose record is lost has left its node cordoned, with whichever kubelet.
    again += [
        one
        for name, node in sorted(found.nodes.items())
        if is_ours(node) and name in plan.hosts and (one := UpgradeStep(kind="kubelet", host=name)) not in again
    ]
    wanted = [*again, *(one for one in steps(found.versions, target) if one not in again)]
    left = tuple(one for kind in get_args(Kind) for one in wanted if one.kind == kind)
    minors = (
        target.minors_after(found.versions.kubelets.get(step.host, target)) for step in left if step.kind == "kubelet"
    )
    return Judged(target=target, source=found.versions.lowest, steps=left, drains=any(minors), resumed=tuple(again))


def leader_last(judged: Judged, said: Mapping[str, Mapping[str, Any]]) -> Judged:
    """Return ``judged`` with etcd's leader last of the control hosts: its leadership moves once, as each etcd restarts.

    ``said``: what hosts told of themselves. What a former run has begun stays first.
    """
    kinds = get_args(Kind)

    def order(step: UpgradeStep) -> tuple[int, bool, bool, bool]:
        told = said.get(step.host) or {}
        return kinds.index(step.kind), step not in judged.resumed, not told.get("etcd"), bool(told.get("leads"))

    return replace(judged, steps=tuple(sorted(judged.steps, key=order)))


def reasons(plan: Plan, found: FoundCluster, judged: Judged, said: Mapping[str, Mapping[str, Any]]) -> Iterator[Reason]:
    """Yield what stands against it. ``said``: what hosts told of themselves; a reason with a code may be accepted."""
    for text in (*_whole(plan, found, said, judged), *refusals(found.versions, judged.target)):
        yield Reason(text=text)
    yield from _room(said, judged.steps)
    known = [host for host in judged.hosts("kubelet") if host in plan.hosts]
    yield from _consents(found, judged, batches(plan, known))


def unwell(found: FoundCluster, nodes: Collection[str], *, apart: Collection[str] = ()) -> Iterator[str]:
    """Yield which of ``nodes`` are not Ready, and what control planes lack; ``apart``: hosts that may lack it now."""
    if away := [name for name in found.away if name in nodes and name not in apart]:
        yield f"{', '.join(away)} are not Ready"
    yield from (str(one) for one in found.sick if one.host not in apart)


def _whole(plan: Plan, found: FoundCluster, said: Mapping[str, Mapping[str, Any]], judged: Judged) -> Iterator[str]:
    """Yield what a cluster lacks that may be upgraded. Hosts that are half done lack what they lack."""
    target, half = judged.target, judged.half_done
    if str(target) not in KUBERNETES:
        yield f"{target} is not in the version matrix: {', '.join(KUBERNETES)} are"
    control = {name for name, host in plan.hosts.items() if "control" in host.roles}
    nodes = {name for name, host in plan.hosts.items() if host.node_labels}
    if lacking := sorted(control - found.versions.servers.keys() - half):
        yield f"no API server is known of {', '.join(lacking)}"
    if lacking := sorted(nodes - found.versions.kubelets.keys()):
        yield f"{', '.join(lacking)} are no nodes of the cluster, and the layer kubernetes makes them such"
    if strange := sorted((found.versions.kubelets.keys() | found.versions.servers.keys()) - nodes):
        yield f"{', '.join(strange)} are nodes and not in the site file: nothing upgrades them"
    yield from unwell(found, nodes, apart=half)
    if len(set(found.etcd.values())) > 1 and not half:
        yield f"etcd has several images: {', '.join(sorted(set(found.etcd.values())))}"
    for name in sorted(nodes):
        told = said.get(name) or {}
        if told.get("unreachable") or "room" not in told:
            yield f"{name} does not answer: {told.get('msg', 'it was not asked')}"
        elif name in half:
            continue
        elif sick := [member for member, healthy in told["etcd"].items() if not healthy and member not in half]:
            yield f"{name} says that etcd of {', '.join(sorted(sick))} is not healthy"
        elif name in control and not told["etcd"]:
            yield f"no etcd is known of {name}"
        elif name in control and told["etcd"].keys() != control:
            yield f"etcd of {name} has the members {_names(told['etcd'])}; control hosts are {_names(control)}"


def _names(known: Iterable[str]) -> str:
    return ", ".join(sorted(known))


def _room(said: Mapping[str, Mapping[str, Any]], left: Sequence[UpgradeStep]) -> Iterator[Reason]:
    """Yield hosts without room for images."""
    hosts = {step.host for step in left if step.host}
    for name in sorted(hosts & said.keys()):
        if (free := said[name].get("room")) is not None and free < ROOM:
            yield Reason(text=f"{name} has {free >> 20} MiB free for images, and needs {ROOM >> 20}")


def _consents(found: FoundCluster, judged: Judged, together: Sequence[Sequence[str]]) -> Iterator[Reason]:
    """Yield what an operator may accept. ``together``: kubelets that change together, cordoned all of them."""
    if judged.hosts("control") and len(found.versions.servers) == 1:
        yield Reason(
            code=API_DOWN, text=f"there is one control host: about {SECONDS} s without the Kubernetes API; pods run on"
        )
    before, after = (Version.of(text) for text in (tag(next(iter(found.etcd.values()), "")), _etcd_of(judged)))
    if judged.hosts("control") and before and after and before[:2] != after[:2]:
        yield Reason(
            code=ETCD_MINOR,
            text=f"etcd goes from {before} to {after}: its data have no way back once the last control host has it",
        )
    asked = [one for one in found.deprecated if one.removed <= judged.target[:2]]
    if asked and judged.hosts("control"):
        listing = ", ".join(f"{one.name} (gone in {one.removed[0]}.{one.removed[1]})" for one in asked)
        yield Reason(code=DEPRECATED, text=f"somebody has asked for APIs that {judged.target} does not have: {listing}")
    if not judged.drains:
        return
    leaving = [found.leaving[host] for host in judged.hosts("kubelet") if host in found.leaving]
    back = {name for name, node in found.nodes.items() if comes_back(node)}
    beside = {host: {*batch} for batch in together for host in batch}
    if stuck := [
        one.name for one in leaving if one.pods and not {*one.others, *back} - beside.get(one.name, {one.name})
    ]:
        yield Reason(code=UNDRAINED, text=f"no other node takes the pods of {', '.join(stuck)}")
    # Pods that wait for a node of a step on the way hold their budgets: the run lets it in first, and drains wait.
    if leaving and found.budgets and all(one.kind != "kubelet" for one in judged.resumed):
        listing = ", ".join(found.budgets)
        yield Reason(code=UNDRAINED, text=f"these PodDisruptionBudgets allow no eviction now: {listing}")
    if bare := [pod for one in leaving for pod in one.bare]:
        yield Reason(code=BARE, text=f"no controller makes these pods again: {', '.join(bare)}")


def _etcd_of(judged: Judged) -> str:
    """Return the version of etcd beside the target."""
    known = KUBERNETES.get(str(judged.target))
    return known.etcd if known else ""


def table(found: FoundCluster, judged: Judged) -> list[str]:
    """Return one row a node, and one a step."""
    rows = [("host", "API server", "etcd", "kubelet", "containerd", "")]
    for name in sorted(found.versions.kubelets.keys() | found.versions.servers.keys()):
        marks = ["not Ready"] * (name in found.away) + ["half done"] * (name in judged.half_done)
        if name in found.versions.servers and len(parts := found.versions.control(name)) > 1:
            marks.append(f"control plane {_names(map(str, parts))}")
        etcd = tag(found.etcd.get(name, ""))
        versions = (
            found.versions.servers.get(name),
            found.versions.kubelets.get(name),
            found.versions.runtimes.get(name),
        )
        server, kubelet, runtime = (str(one) if one else "-" for one in versions)
        rows.append((name, server, etcd or "-", kubelet, runtime, ", ".join(marks)))
    add_ons = f"kube-proxy {found.versions.proxy or '-'}, CoreDNS {found.versions.dns or '-'}"
    change = f"{add_ons}; {judged.source} -> {judged.target}"
    return [*aligned(rows), change, *(f"{number}. {step}" for number, step in enumerate(judged.steps, 1))]


def batches(plan: Plan, hosts: Sequence[str]) -> list[list[str]]:
    """Return which kubelets change together: control hosts one by one, others within their group's limit."""
    made: list[list[str]] = []
    for host in hosts:
        known = plan.hosts[host]
        limit = 1 if "control" in known.roles else max(1, plan.max_unavailable.get(known.group, 1))
        last = made[-1] if made else []
        if last and len(last) < limit and plan.hosts[last[0]].group == known.group and "control" not in known.roles:
            last.append(host)
        else:
            made.append([host])
    return made

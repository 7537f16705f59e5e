"""Versions of a cluster's parts, what may stand beside what, and the order of an upgrade. Pure.

Kubernetes' rules: API servers of one cluster are at most one minor apart; controller manager and scheduler are never
newer than an API server; a kubelet is never newer than any API server, and at most three minors older; kube-proxy is
never newer than an API server, and at most three minors older.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from ..plan.platform.versions import KUBERNETES

OLDEST = 3  # minors that a kubelet or kube-proxy may be behind an API server
# Minor of the first kubelet -> the oldest containerd that it runs with.
RUNTIMES = {38: (2, 0)}
_TEXT = re.compile(r"\bv?(\d+)\.(\d+)\.(\d+)")

Kind = Literal["control", "add-ons", "kubelet"]


class Version(NamedTuple):
    """A version, in order."""

    major: int
    minor: int
    patch: int

    @classmethod
    def of(cls, text: str) -> Version | None:
        """Return the version in ``text`` ("v1.36.3+corp.1", "containerd://1.7.24"), None without one."""
        found = _TEXT.search(text)
        return cls(*map(int, found.groups())) if found else None

    def __str__(self) -> str:
        return ".".join(map(str, self))

    def minors_after(self, other: Version) -> int:
        """Return how many minors this one is newer; negative when it is older."""
        return self.minor - other.minor if self.major == other.major else 100 * (self.major - other.major)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterVersions:
    """The versions that run."""

    servers: Mapping[str, Version]  # API server of each control host
    kubelets: Mapping[str, Version]  # of each node, control hosts among them
    proxy: Version | None  # kube-proxy, of all nodes; None: the cluster has none
    managers: Mapping[str, frozenset[Version]] = field(default_factory=dict)  # and schedulers, of each control host
    runtimes: Mapping[str, Version] = field(default_factory=dict)  # containerd of each node
    dns: Version | None = None  # CoreDNS

    @property
    def all(self) -> list[Version]:
        """Return every version of Kubernetes that a node has, oldest first."""
        managers = (version for host in self.servers for version in self.control(host))
        return sorted({*managers, *self.kubelets.values()})

    @property
    def lowest(self) -> Version:
        """Return the version that other layers go by: that of the oldest API server."""
        return min(self.servers.values())

    def control(self, host: str) -> frozenset[Version]:
        """Return the versions of API server, controller manager and scheduler of a control host."""
        return frozenset((self.servers[host], *self.managers.get(host, ())))


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeStep:
    kind: Kind
    host: str = ""  # of "control" and "kubelet"

    def __str__(self) -> str:
        what = {"control": "API server, controller manager and scheduler of", "kubelet": "kubelet of"}.get(self.kind)
        return f"{what} {self.host}" if what else "kubeadm's configuration, kube-proxy and CoreDNS"


def steps(found: ClusterVersions, target: Version) -> list[UpgradeStep]:
    """Return what is left to do, in order: control hosts, add-ons, kubelets of control hosts, other kubelets."""
    control = sorted(found.servers)
    planes = [UpgradeStep(kind="control", host=host) for host in control if found.control(host) != {target}]
    others = found.proxy not in (None, target) or found.dns != _dns(found, target)
    return [
        *planes,
        *([UpgradeStep(kind="add-ons")] if planes or others else []),
        *(
            UpgradeStep(kind="kubelet", host=host)
            for host in [*control, *sorted(found.kubelets.keys() - found.servers.keys())]
            if host in found.kubelets and found.kubelets[host] != target
        ),
    ]


def _dns(found: ClusterVersions, target: Version) -> Version | None:
    """Return the version of CoreDNS beside ``target``."""
    known = KUBERNETES.get(str(target))
    return Version.of(known.coredns) if known and found.dns else found.dns


def after(found: ClusterVersions, step: UpgradeStep, target: Version) -> ClusterVersions:
    if step.kind == "add-ons":
        return replace(found, proxy=found.proxy and target, dns=_dns(found, target))
    if step.kind == "kubelet":
        return replace(found, kubelets={**found.kubelets, step.host: target})
    return replace(
        found,
        servers={**found.servers, step.host: target},
        managers={**found.managers, step.host: frozenset([target])},
    )


def skew(found: ClusterVersions) -> Iterator[str]:
    """Yield what stands outside Kubernetes' rules."""
    lowest, newest = min(found.servers.values()), max(found.servers.values())
    if newest.minors_after(lowest) > 1:
        yield f"API servers are {newest.minors_after(lowest)} minors apart: {lowest} and {newest}"
    parts = [(f"the kubelet of {host}", version) for host, version in sorted(found.kubelets.items())]
    parts += [("kube-proxy", found.proxy)] if found.proxy else []
    for name, version in parts:
        if version.minors_after(lowest) > 0:
            yield f"{name} is {version}, newer than an API server ({lowest})"
        elif newest.minors_after(version) > OLDEST:
            yield f"{name} is {version}, more than {OLDEST} minors behind an API server ({newest})"


def refusals(found: ClusterVersions, target: Version) -> Iterator[str]:
    """Yield why no way leads to ``target``."""
    yield from skew(found)
    ahead = target.minors_after(found.lowest)
    if ahead > 1:
        yield f"{target} is {ahead} minors after {found.lowest}: a cluster goes one minor at a time"
    runs = {host: {version} for host, version in found.kubelets.items()}
    runs |= {host: runs.get(host, set()) | found.control(host) for host in found.servers}
    if newer := [host for host, versions in sorted(runs.items()) if max(versions) > target]:
        yield f"{', '.join(newer)} run a newer version than {target}: a cluster never goes back"
    for first, oldest in RUNTIMES.items():
        for host, runtime in sorted(found.runtimes.items()):
            if target.minor >= first and runtime[:2] < oldest:
                yield f"containerd of {host} is {runtime}: a kubelet {target} needs {'.'.join(map(str, oldest))}"
    at = found
    for step in steps(found, target):
        at = after(at, step, target)
        if wrong := next(skew(at), None):
            yield f"after the {step}: {wrong}"
            return

"""Which upgrade of a site's Kubernetes or OpenStack is under way, and which steps have begun: what neither can say.

What runs where is read from the cluster. While an upgrade is open, every other layer goes by the version of the oldest
API server, not by the site file: a host that is lost in the middle is made again as a member of the cluster there is.
While one of OpenStack is open, they go by the former release until every service is of the other. No step of it is
written down, all are read from the cloud.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...module_utils._base.consent import Reason
from ...module_utils._base.files import read, write_file
from ...module_utils._base.text import few
from ..errors import GroundupError
from ..paths import state_dir
from ..plan import make_plan
from ..plan.model import Site
from ..plan.types import Plan
from .steps import Kind, UpgradeStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    name: str
    file: str  # in the state directory of the site
    verb: str
    setting: str  # of the site file
    back: str  # what may be done beside going on; "": nothing
    unreadable: str  # what to do about a record that cannot be read: no playbook of the site works


KUBERNETES = Upgraded(
    name="Kubernetes", file="kubernetes-upgrade.json", verb="groundup.cloud.kubernetes_upgrade",
    setting="kubernetes.version", back="; or docs/upgrade.md, The way back",
    unreadable="remove the file. If kubectl get nodes, or kubectl --namespace kube-system get pods --selector "
    "component=kube-apiserver --output yaml (image), name two versions, set kubernetes.version to the newer one. Then "
    "run the playbook groundup.cloud.kubernetes_upgrade before any other",
)  # fmt: skip
OPENSTACK = Upgraded(
    name="OpenStack",
    file="openstack-upgrade.json",
    verb="groundup.cloud.openstack_upgrade",
    setting="openstack.release",
    back="; or docs/openstack-upgrade.md, The way back",
    unreadable="remove the file. If kubectl get deployments --all-namespaces --output wide names images of two "
    "releases, set openstack.release to the newer one. Then run the playbook groundup.cloud.openstack_upgrade before "
    "any other",
)
FILES = (KUBERNETES.file, OPENSTACK.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """An upgrade that has begun."""

    source: str  # version it began with
    target: str
    live: str  # version that other layers go by: that of the oldest API server, of OpenStack's oldest service
    versions: Sequence[str]  # that members may have: those that ran at the beginning, and the target
    begun: str  # time
    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of the site file at its begin, by key
    steps: Mapping[str, str] = field(default_factory=dict)  # "kubelet worker-1" -> when it ended, "" while it is open

    def __post_init__(self) -> None:
        """Raise ValueError or TypeError for a record by which no layer could go."""
        if not (self.source and self.begun and {self.live, self.target} <= {*self.versions}):
            raise ValueError(f"from {self.source!r} to {self.target!r}, now {self.live!r}, of {self.versions}")

    @property
    def open_steps(self) -> tuple[UpgradeStep, ...]:
        """Return the steps that have begun and not ended: a run that goes on does them again."""
        return tuple(_step(name) for name, ended in self.steps.items() if not ended)

    @property
    def left(self) -> tuple[UpgradeStep, ...]:
        """Return what a run that goes on does, whatever runs already: open steps, and the move to the new version."""
        add_ons = UpgradeStep(kind="add-ons")
        move = () if self.live == self.target or add_ons in self.open_steps else (add_ons,)
        return (*self.open_steps, *move)


def under_way(site: str, what: Upgraded = KUBERNETES) -> Upgrade | None:
    """Return the upgrade that has begun and not ended, None without one. Raises GroundupError when it is unreadable."""
    path = _path(site, what)
    if (text := read(path)) is None:
        return None
    try:
        found = Upgrade(**json.loads(text))
        _ = found.open_steps
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise GroundupError(
            f"the record of an upgrade cannot be read: {error}", where=str(path),
            why="two versions may run, and layers would go by the wrong one",
            remedy=what.unreadable,
        ) from error  # fmt: skip
    return found


def opened(site: str, what: Upgraded = KUBERNETES) -> Upgrade:
    """Return the upgrade that is open. Raises GroundupError without one."""
    if found := under_way(site, what):
        return found
    raise GroundupError(
        "no upgrade is open", where=str(_path(site, what)), why="a step belongs to one that has begun",
        remedy=f"run the playbook {what.verb}",
    )  # fmt: skip


def going_to(site: str, target: str, what: Upgraded = KUBERNETES) -> Upgrade | None:
    """Return the upgrade that is open, None without one. Raises GroundupError for one to another than ``target``."""
    found = under_way(site, what)
    if found and found.target != target:
        raise GroundupError(
            f"the upgrade that is open goes from {found.source} to {found.target}; the site file says {target}",
            where=f"{what.setting} of the site file",
            why="what is half upgraded goes on: three versions were never tested together, and none goes back",
            remedy=f"set {what.setting} to {found.target}, and run this again{what.back}",
        )
    return found


def given_up(site: str, version: str, what: Upgraded = KUBERNETES) -> Upgrade | None:
    """Return the upgrade that is open when the site file has the ``version`` that it came from."""
    found = under_way(site, what)
    return found if found and version == found.source != found.target else None


def begin(
    site: str, *, source: str, target: str, versions: Sequence[str], what: Upgraded = KUBERNETES,
    inputs: Mapping[str, Sequence[str]] | None = None,
) -> Upgrade:  # fmt: skip
    """Write down that an upgrade has begun; one that has begun stays as it is. Raises GroundupError, OSError."""
    if found := under_way(site, what):
        return found
    upgrade = Upgrade(
        source=source, target=target, live=source, versions=[*versions], begun=_now(), inputs=inputs or {}
    )
    _write(site, upgrade, what)
    return upgrade


def enter(site: str, steps: Sequence[UpgradeStep]) -> None:
    """Write down that ``steps`` begin. Raises GroundupError, OSError."""
    _marked(site, steps, "")


def leave(site: str, steps: Sequence[UpgradeStep]) -> None:
    """Write down that ``steps`` have ended. Raises GroundupError, OSError."""
    _marked(site, steps, _now())


def move(site: str, *, live: str, what: Upgraded = KUBERNETES) -> None:
    """Write down that other layers go by ``live`` from now on. Raises GroundupError, OSError."""
    _write(site, replace(opened(site, what), live=live), what)


def end(site: str, what: Upgraded = KUBERNETES) -> None:
    """Write down that it has ended. Raises OSError."""
    _path(site, what).unlink(missing_ok=True)


def refuse_open(site: str, verb: str, what: Upgraded = KUBERNETES) -> None:
    """Refuse a ``verb`` that changes what an upgrade changes, or what is below it. Raises GroundupError."""
    if found := under_way(site, what):
        raise GroundupError(
            f"{verb} waits: {what.name} is on its way from {found.source} to {found.target}, since {found.begun}",
            where=str(_path(site, what)),
            why="both change the same parts, and nobody could say then which of them broke one",
            remedy=f"ansible-playbook {what.verb} goes on and ends it; then this again",
        )


def beside_patch(resting: Sequence[str]) -> list[Reason]:
    """Return why an upgrade does not begin: hosts in maintenance would be missing beside those that it takes."""
    return (
        [Reason(text=f"{few(resting)} in maintenance: groundup.cloud.patch goes on with it first")] if resting else []
    )


def refuse_mixed(site: str, release: str) -> None:
    """Refuse a rollout of OpenStack's ``release`` while services have two, or go to another. Raises GroundupError."""
    found = under_way(site, OPENSTACK)
    if found and not release == found.live == found.target:
        refuse_open(site, "groundup.cloud.openstack", OPENSTACK)


def live_plan(site: Site, *, target: bool = False) -> Plan:
    """Return the plan of ``site``, by the live versions of Kubernetes and OpenStack while an upgrade is open.

    ``target``: by the site file's release of OpenStack whatever is open. Raises SiteError, GroundupError.
    """
    found, cloud = under_way(site.site), None if target else under_way(site.site, OPENSTACK)
    live: dict[str, Any] = {}
    if found:
        live["kubernetes"] = site.kubernetes.model_copy(update={"version": found.live})
    if cloud:
        live["openstack"] = site.openstack.model_copy(update={"release": cloud.live})
    plan = make_plan(site.model_copy(update=live) if live else site)
    if found:
        beside_it = beside(found.versions, found.live)
        plan = replace(plan, kubernetes=replace(plan.kubernetes, upgrading=beside_it))
    if (
        cloud
    ):  # what the site file says of charts and images is of the other release: its findings are those of the site
        openstack = replace(plan.openstack, upgrading=beside(cloud.versions, cloud.live))
        plan = replace(plan, openstack=openstack, findings=make_plan(site).findings)
    return plan


def beside(versions: Sequence[str], version: str) -> tuple[str, ...]:
    """Return the ``versions`` other than ``version``."""
    return tuple(one for one in versions if one != version)


def _marked(site: str, steps: Sequence[UpgradeStep], when: str) -> None:
    found = opened(site)
    _write(site, replace(found, steps={**found.steps, **{_name(step): when for step in steps}}))


def _name(step: UpgradeStep) -> str:
    return f"{step.kind} {step.host}".rstrip()


def _step(name: str) -> UpgradeStep:
    """Return the step of a name. Raises KeyError for no kind of step."""
    kinds: dict[str, Kind] = {"control": "control", "add-ons": "add-ons", "kubelet": "kubelet"}
    kind, _, host = name.partition(" ")
    return UpgradeStep(kind=kinds[kind], host=host)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _write(site: str, upgrade: Upgrade, what: Upgraded = KUBERNETES) -> None:
    path = _path(site, what)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(path, (json.dumps(asdict(upgrade), indent=1) + "\n").encode(), mode=0o600)


def _path(site: str, what: Upgraded = KUBERNETES) -> Path:
    return state_dir(site) / what.file

"""The way back from a step of OpenStack's release: the former release in the site file, while nothing has the other."""

from __future__ import annotations

from ...module_utils._base.text import few
from ..errors import GroundupError
from ..plan.types import Plan
from ..rollout.gate import pairs
from ..upgrade.journal import OPENSTACK, Upgrade
from .facts import ReleaseFacts
from .judge import COMPUTE, former


def require_former(plan: Plan, facts: ReleaseFacts | None, opened: Upgrade) -> None:
    """Require that nothing has the other release, nor may have. Raises GroundupError."""
    if new := _new(facts, opened) if facts else ["what runs cannot be asked"]:
        raise GroundupError(
            f"the step from {opened.source} to {opened.target} does not go back: {few(new)}",
            where=f"{OPENSTACK.setting} of the site file, which says {plan.openstack.release}",
            why="schemas are of that release, or may be: databases are migrated forward only",
            remedy=f"set {OPENSTACK.setting} to {opened.target}, and run this again{OPENSTACK.back}",
        )


def _new(facts: ReleaseFacts, opened: Upgrade) -> list[str]:
    """Return what has another release than the former. A rollout writes its record before it changes anything."""
    new = former({**facts.running, **facts.retired}, opened.source)
    said = [f"{name} has {', '.join(sorted(found))}" for name, found in sorted(new.items())]
    if not facts.running:  # a step has begun, so there were some
        said.append("no service of the site file has a release of Helm that says what it runs")
    if opened.live != opened.source:  # hypervisors change from then on
        said.append("every service had it")
    version = pairs.STEPS[opened.source].nova
    later = (one for one in facts.services if one.binary == COMPUTE and one.version > version)
    return [*said, *(f"nova-compute of {one.host} has version {one.version}" for one in later)]

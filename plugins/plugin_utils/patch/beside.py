"""What patching waits for: other work on the site, and hosts in maintenance that are no machines any more."""

from __future__ import annotations

from ..errors import GroundupError
from ..plan.types import Plan
from ..upgrade.journal import KUBERNETES, OPENSTACK, refuse_open
from . import journal

VERB = "groundup.cloud.patch"


def strangers(plan: Plan) -> list[str]:
    """Return hosts in maintenance that the site file does not have."""
    return [name for name in journal.hosts(plan.site) if name not in plan.hosts]


def refuse(plan: Plan) -> None:
    """Refuse to patch beside an open upgrade, or a forgotten host. Raises GroundupError.

    Hosts in maintenance come back beside an upgrade: it may wait for them.
    """
    for name in strangers(plan):
        raise GroundupError(
            f"{name} is in maintenance, and no machine of the site file",
            where=f"the state directory, patch/{name}.json",
            why=f"{_taken(plan.site, name)}; no run would take that back",
            remedy="write it into machines again, and run this: it goes on. If the machine is gone for good "
            f"(groundup.cloud.retire, groundup.cloud.remove), remove patch/{name}.json",
        )  # fmt: skip
    for what in (KUBERNETES, OPENSTACK) if not journal.hosts(plan.site) else ():
        refuse_open(plan.site, VERB, what)


def _taken(site: str, name: str) -> str:
    """Return what a run has taken from a host."""
    found = journal.find(site, name)
    told = ["its node is cordoned"] if found and found.cordoned else []
    told += ["its nova-compute is disabled"] if found and found.disabled else []
    return ", ".join([*told, "of a storage host Ceph's data rest (noout)"])

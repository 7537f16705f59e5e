"""Whose state a state directory is: a record of the site's domain and hosts, which every run compares.

Two site files of one name (`site:`) share a state directory. Hosts come and go, and a site file may be moved. It is
another site when the domain differs, when a lab's container is a machine now or the reverse, or when no host is left.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..module_utils._base import consent
from ..module_utils._base.consent import Reason
from ..module_utils._base.files import read, write_file
from . import state_format
from .errors import GroundupError
from .paths import state_dir
from .plan.types import Plan
from .record import read_record

RECORD = "site.json"
CONTAINER = "container"  # the provisioner of lab hosts
# Files of a site that was built: before them, a plan alone is a draft.
BUILT = ("ssh/id_ed25519", "secrets.yml", "secrets.pub", "ca.crt", "kubeconfig", "cluster.json")
OTHER, MACHINES, UNKNOWN = "other-site", "machines", "unknown-state"  # consents


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteIdentity:
    """A site, as its state records it."""

    domain: str
    hosts: Mapping[str, tuple[str, str]]  # provisioner and address

    @property
    def machines(self) -> list[str]:
        """Return the hosts that are no containers of a lab."""
        return sorted(name for name, (provisioner, _) in self.hosts.items() if provisioner != CONTAINER)


def of_plan(plan: Plan) -> SiteIdentity:
    hosts = {host.name: (host.provisioner, host.address) for host in plan.hosts.values()}
    return SiteIdentity(domain=plan.domain, hosts=hosts)


def recorded(site: str, *, state: Path | None = None) -> SiteIdentity | None:
    """Return whose state it is; by the last plan, in a state from before there was a record; None when nothing says.

    ``state``: in another directory.

    Raises GroundupError when the record is damaged.
    """
    state = state or state_dir(site)
    found = read_record(
        state / RECORD, _parsed, what="the record of whose state this is",
        why="another site of the same name would use this one's passwords, or remove them",
        remedy="restore it from your backup of the state directory; or remove it: the next run writes it again",
    )  # fmt: skip
    if found is not None:
        return found
    try:
        return _parsed(json.loads(read(state / "plan.json") or "")) if _built(state) else None
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


def refuse_other(plan: Plan, force: Collection[str] = ()) -> None:
    """Refuse the state of another site of the same name. Raises GroundupError."""
    if OTHER not in force and (error := other(plan)):
        raise error


def other(plan: Plan, *, state: Path | None = None, where: str = "") -> GroundupError | None:
    """Return why the state directory is another site's, None when it is this one's, or nobody's.

    ``state``, ``where``: one that is not in its place, and what an error calls it.
    """
    kept = recorded(plan.site, state=state)
    if kept is None or not (what := _differs(kept, of_plan(plan))):
        return None
    return GroundupError(
        f"the state of site {plan.site} is another site's: {what}",
        where=where or str(state_dir(plan.site)),
        why="its passwords, certificates and logins would be used for this one, or be removed with it",
        remedy="give one of the two another name (`site:`), or keep this one's state elsewhere (GROUNDUP_STATE); if it "
        f"is the same site: -e '{{\"site_force\": [{OTHER}]}}'",
    )


def is_own(site: str, content: Mapping[str, Any]) -> bool:
    """Return whether the state says that it is this site's. ``content``: domain and hosts, as in plan.json.

    Raises GroundupError when its record is damaged, ValueError when the site has no host.
    """
    kept = recorded(site)
    return kept is not None and not _differs(kept, _parsed(content))


def adopt(plan: Plan) -> None:
    """Record the site and the format in its state directory, which exists. Raises GroundupError, OSError."""
    state_format.adopt(state_dir(plan.site))
    now = of_plan(plan)
    text = json.dumps({"domain": now.domain, "hosts": now.hosts}, indent=1, sort_keys=True) + "\n"
    path = state_dir(plan.site) / RECORD
    if read(path) != text:
        write_file(path, text.encode(), mode=0o644)


def refuse_removal(plan: Plan, force: Collection[str] = ()) -> bool:
    """Return whether site file and state both have hosts of a lab alone. Raises GroundupError without consent."""
    kept, against = recorded(plan.site), list[Reason]()
    if machines := sorted({*of_plan(plan).machines, *(kept.machines if kept else ())}):
        against.append(Reason(text=f"{', '.join(machines)} are no containers of the lab", code=MACHINES))
    if kept is None and _built(state_dir(plan.site)):
        against.append(Reason(text="its state does not say whose it is", code=UNKNOWN))
    consent.refuse(
        "lab", f"removal of {plan.site}", against, force, where=str(state_dir(plan.site)),
        why="it may hold a real site's passwords, and the containers its seed; nothing was removed",
        first="see that it is the site you mean; give the lab another name (`site:`)",
    )  # fmt: skip
    return not against


def there(plan: Plan) -> bool:
    """Return whether there is a state, or the rest of one whose removal was killed."""
    return state_dir(plan.site).exists() or _going(plan.site).exists()


def remove(plan: Plan, *, lab: bool) -> Path | None:
    """Delete the state of a ``lab``; move that of any other site aside, and return where it is. Raises OSError."""
    state, going = state_dir(plan.site), _going(plan.site)
    if going.exists():
        shutil.rmtree(going)
    if not state.exists():
        return None
    if lab:
        state.rename(going)  # in one step: what a killed run leaves is no state without a record
        shutil.rmtree(going)
        return None
    aside = state.with_name(f"{state.name}.removed-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}")
    state.rename(aside)
    return aside


def _going(site: str) -> Path:
    state = state_dir(site)
    return state.with_name(f".{state.name}.going")


def _differs(kept: SiteIdentity, now: SiteIdentity) -> str:
    """Return what shows that ``now`` is another site than ``kept``; "" when nothing does."""
    if kept.domain != now.domain:
        return f"its domain is {kept.domain}, that of the site file {now.domain}"
    for name in sorted(kept.hosts.keys() & now.hosts.keys()):
        before, after = kept.hosts[name][0], now.hosts[name][0]
        if before != after and CONTAINER in (before, after):
            return f"{name} is of provisioner {before} there, and {after} in the site file"
    if not kept.machines and not now.machines:
        return ""  # labs, which are made anew
    same = [
        name
        for name, (provisioner, address) in kept.hosts.items()
        if name in now.hosts and (provisioner == CONTAINER or now.hosts[name][1] == address)
    ]
    if kept.hosts and not same:
        return f"none of its hosts ({', '.join(sorted(kept.hosts)[:5])}) is in the site file with its address"
    return ""


def _parsed(content: Any) -> SiteIdentity:
    """Parse a record, or a plan of plan.json. Raises ValueError, TypeError, LookupError, AttributeError."""
    hosts = {}
    for name, one in content["hosts"].items():
        provisioner, address = (one["provisioner"], one["address"]) if isinstance(one, dict) else one
        hosts[str(name)] = (str(provisioner), str(address))
    if not hosts:
        raise ValueError("it names no host")
    return SiteIdentity(domain=str(content["domain"]), hosts=hosts)


def _built(state: Path) -> bool:
    return any((state / name).exists() for name in BUILT)

"""Rows of what needs a look now and then: certificates, backups, versions, bare-metal machines on their way."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..kube import expiry
from ..kube.types import Object
from ..kube.verify import EXPIRY_FAILS
from ..metal.journal import home_of
from ..metal.overview import Overview, Row
from ..patch import journal
from ..plan.types import Plan
from .cluster import version
from .rows import RowState, StatusRow, run_layer, spoken_age


def certificate_rows(
    plan: Plan, found: Iterable[tuple[str, str, int]], *, warn_below: int, reachable: bool
) -> list[StatusRow]:
    """Return one row a kind, for the certificate that ends first. ``found``: kind, place and days left, of hosts.

    ``reachable``: whether a host answers. Else the edge is not asked: it would be waited for.
    """
    edge = plan.edge.address if plan.edge.kind == "haproxy" and plan.edge.endpoints and reachable else None
    everything = [*found, *((kind, "", days) for kind, days in expiry.days_of_site(plan.site, edge=edge).items())]
    first: dict[str, tuple[int, str]] = {}
    for kind, place, days in everything:
        first[kind] = min(first.get(kind, (days, place)), (days, place))
    rows = []
    for kind, (days, place) in sorted(first.items(), key=lambda one: one[1]):
        state: RowState = "broken" if days < EXPIRY_FAILS else "warning" if days < warn_below else "ok"
        ends = f"ended {-days} days ago" if days < 0 else f"ends in {days} days"
        rows.append(
            StatusRow(
                name=kind, state=state, what=f"{ends} ({place})" if place else ends,
                remedy="" if state == "ok" else _renewal(plan, place.partition(" of ")[0] or kind),
                facts={"days": days, "of": place},
            )
        )  # fmt: skip
    return rows


def _renewal(plan: Plan, kind: str) -> str:
    """Return what renews a certificate of ``kind``: no run the operator's own."""
    if kind == expiry.EDGE and plan.edge.certificate:
        return "run the playbook groundup.cloud.certificate with a new one, best from a hook of an ACME client"
    return expiry.renewal(kind)


def version_rows(
    plan: Plan,
    *,
    nodes: Mapping[str, Object],
    releases: Sequence[StatusRow],
    answered: Sequence[Mapping[str, Any]],
    snapshots: Sequence[str] = (),
) -> list[StatusRow]:
    """Return what runs beside what the site file says.

    ``answered``: results of hosts that answered; ``snapshots``: those of the seed's packages that the site runs.
    """
    parts = [one["parts"] for one in answered]
    ours = {one.name for one in plan.openstack.releases if not one.is_extra}
    apps = {one for row in releases if row.name in ours for one in str(row.facts.get("app_version")).split(", ")}
    release = plan.openstack.release
    # Programs that OpenStack stands on have versions of their own.
    cloud = {one for one in apps if one[:4].isdigit() and one.count(".") == 1}
    hosts = {str(one.get("hypervisor", {}).get("environment") or "").rpartition("-")[0] for one in parts}
    ceph = {text for one in parts for text in one.get("ceph", {}).get("versions", ())}
    runs = {
        "Debian": (plan.host.debian_releases, {str(one["debian"]) for one in answered}),
        **({"Ceph": ((str(plan.ceph.release),), {one.split()[2] for one in ceph})} if plan.ceph else {}),
    }
    kubelets = sorted({version(one).removeprefix("v") for one in nodes.values()} - {""})
    by = "oldest API server" if plan.kubernetes.upgrading else "site file"
    upgrade = run_layer("kubernetes_upgrade")
    rows = [_version("Kubernetes", (plan.kubernetes.version,), kubelets, by=by, remedy=upgrade)]
    by = "oldest service" if plan.openstack.upgrading else "site file"
    upgrade = run_layer("openstack_upgrade")  # a usual run of the layers refuses another release
    rows.append(_version("OpenStack", (release,), sorted((cloud | hosts) - {""}), by=by, remedy=upgrade))
    rows += [
        _version(name, planned, sorted(found - {""}), remedy=run_layer("site"))
        for name, (planned, found) in runs.items()
    ]
    if snapshots:
        used = sorted({str(one["snapshot"]) for one in answered} - {""})
        rows.append(_version("OS packages", snapshots, used, by="seed", remedy=run_layer("site")))
    if resting := journal.hosts(plan.site):
        what = f"a run of groundup.cloud.patch did not end it: {', '.join(resting)}"
        remedy = "ansible-playbook groundup.cloud.patch, which goes on with them"
        rows.append(StatusRow(name="maintenance", state="warning", what=what, remedy=remedy, facts={"hosts": resting}))
    return rows


def _version(
    name: str, planned: Sequence[str], found: Sequence[str], *, remedy: str, by: str = "site file"
) -> StatusRow:
    facts, what = {"planned": list(planned), "running": list(found)}, ", ".join(found)
    if not found:
        told = f"{' or '.join(planned) or 'any'} by the {by}; nothing that answers runs it"
        return StatusRow(name=name, state="ok", what=told, facts=facts)
    if not planned or all(any(one == want or one.startswith(f"{want}.") for want in planned) for one in found):
        return StatusRow(name=name, state="ok", what=what, facts=facts)
    what = f"{what}; the {by}'s is {' or '.join(planned)}"
    return StatusRow(name=name, state="warning", what=what, remedy=remedy, facts=facts)


def machine_rows(plan: Plan) -> list[StatusRow]:
    """Return one row for each bare-metal machine on its way, by its journal here. The seed is not asked."""
    now = time.time()
    rows = Overview(plan, home_of(plan.site)).rows()
    return [_machine(one, now) for one in rows if one.moving or one.card or one.asks]


def _machine(row: Row, now: float) -> StatusRow:
    elapsed = row.elapsed(now)
    since = "" if elapsed is None else f", for {spoken_age(elapsed)}"
    facts = {"state": row.state, "doing": row.doing, "elapsed": elapsed, "expected": row.expected}
    state: RowState = "ok"
    what, remedy = f"{row.state}, {row.doing}{since}", ""
    if row.asks:
        state, what = "warning", f"{row.state}: waits for approval{since}"
        remedy = f"ansible-playbook groundup.cloud.approve -e approve_machine={row.machine}"
    elif row.card:
        state, what, remedy = "broken", f"{row.state}: {row.card['what']}", row.card["remedy"]
    return StatusRow(name=row.machine, state=state, what=what, remedy=remedy, facts=facts)

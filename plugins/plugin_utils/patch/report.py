"""What patching would change on each host, as one document and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils._base.text import aligned, few, printable
from ..plan.types import Plan
from . import decide, order
from .decide import HostWork

_HEADER = ("host", "snapshot", "packages", "restarts", "reboot")
_NAMED = 4
Said = Mapping[str, Mapping[str, Any]]  # host -> result of the module's step `look`


def document(
    plan: Plan,
    said: Said,
    *,
    snapshots: Mapping[str, str],
    time: str,
    groups: Sequence[str] = (),
    resting: Sequence[str] = (),
    strange: Sequence[str] = (),
) -> dict[str, Any]:
    """Return all of it as plain data. ``snapshots``: by release of Debian, the one that the site runs.

    ``groups``: steps of their own that were asked for; ``resting``: hosts that a run left in maintenance;
    ``strange``: of them, those that left the site file.
    """
    found, holders = works(plan, said, groups=groups), [name for name, one in said.items() if one.get("holds")]
    doing = {*decide.names(found), *(name for name in resting if name in found and not found[name].refused)}
    return {
        "site": plan.site,
        "time": time,
        "snapshots": dict(snapshots),
        "groups": list(groups),
        "order": [list(batch) for batch in order.batches(plan, doing, first=resting, last=holders)],
        "emptied": [name for name, one in found.items() if one.emptied or name in resting],
        "left_out": {name: one.refused for name, one in found.items() if one.refused},
        "maintenance": [*resting, *strange],
        "hosts": {name: dict(one) for name, one in said.items()},
    }


def works(plan: Plan, said: Said, *, groups: Sequence[str]) -> dict[str, HostWork]:
    """Return what is done to each host that answered."""
    return {
        name: decide.work(plan, plan.hosts[name], one, groups=groups) for name, one in said.items() if "changes" in one
    }


def table(found: Mapping[str, Any]) -> str:
    """Return the document as text: a line a host, packages with their versions, steps of their own, the order."""
    asked: Said = {name: one for name, one in found["hosts"].items() if "changes" in one}
    lines = _aligned([_HEADER, *(_row(name, one) for name, one in found["hosts"].items())])
    for title, wanted in (("packages", False), ("packages upgraded in steps of their own", True)):
        if rows := _packages(asked, held=wanted):
            lines += ["", title, *_aligned(rows)]
    lines += [printable(line) for name, one in asked.items() for line in _notes(name, one)]
    if found["order"]:
        told = {name: f"{name} (emptied first)" for name in found["emptied"]}
        order_of = [
            f"  {number}. {', '.join(told.get(name, name) for name in batch)}"
            for number, batch in enumerate(found["order"], 1)
        ]
        lines += ["", "order", *order_of]
    if found["left_out"]:
        lines += ["", "left out", *(printable(f"  {name}: {why}") for name, why in found["left_out"].items())]
    if found["maintenance"]:
        lines += ["", f"in maintenance by a run that did not end it: {', '.join(found['maintenance'])}"]
    return "\n".join([*lines, "", summary(found)])


def summary(found: Mapping[str, Any]) -> str:
    """Return the number of hosts by what they need, in words."""
    said = found["hosts"].values()
    asked = [one for one in said if "changes" in one]
    counted = {
        "would change": sum(bool(one["changes"]) for one in asked),
        "would reboot": sum(bool(one["reboot"] or one["reboot_waiting"]) for one in asked),
        "up to date": sum(not (one["changes"] or one["reboot_waiting"]) for one in asked),
        "could not be asked": len(said) - len(asked),
    }
    told = ", ".join(f"{number} {what}" for what, number in counted.items() if number)
    return f"{found['site']}: of {len(said)} hosts {told or 'none was asked'}"


def _row(name: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    if "changes" not in one:
        return (name, "", "", "", str(one.get("fault") or one.get("not_there") or one.get("msg") or "no answer"))
    security = sum(each["security"] for each in one["changes"])
    number = f"{len(one['changes'])}" + (f" ({security} security)" if security else "")
    moves = one["offered"] and one["offered"] != one["snapshot"]
    waiting = [f"{unit} (waits)" for unit in one["waiting"] if unit not in one["restarts"]]
    return (
        name,
        f"{one['snapshot'] or 'none'} -> {one['offered']}" if moves else one["snapshot"] or "own sources",
        number,
        few([*one["restarts"], *waiting], most=_NAMED) or "-",
        few([*one["reboot"], *one["reboot_waiting"]], most=_NAMED) or "-",
    )


def _packages(asked: Said, *, held: bool) -> list[tuple[str, ...]]:
    """Return one row for each package and pair of versions, with its hosts."""
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for host, one in asked.items():
        for each in one["changes"]:
            if bool(each["step"]) is held:
                key = (each["step"], each["package"], each["before"] or "new", each["after"])
                rows.setdefault(key, []).append(host)
    return [
        (f"  {step}" if held else "", package, f"{before} -> {after}", few(hosts, most=_NAMED))
        for (step, package, before, after), hosts in sorted(rows.items())
    ]


def _notes(name: str, one: Mapping[str, Any]) -> Iterable[str]:
    """Yield what an administrator must know beside the packages. Names come from hosts, and are untrusted."""
    if one["removed"]:
        yield f"{name}: apt would remove {', '.join(one['removed'])}"
    if one["kept"]:
        held = sorted({*one["kept"]} & {*one["held"]})
        why = f" (on hold: {', '.join(held)})" if held else ""
        yield f"{name}: stay as they are: {', '.join(one['kept'])}{why}"
    if one["guests"] and any(each["step"] == "guests" for each in one["changes"]):
        yield f"{name}: {one['guests']} guests run; drain it before QEMU and libvirt are upgraded"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows with columns of equal width. Texts come from hosts, and are untrusted."""
    return aligned([[printable(" ".join(text.split())) for text in row] for row in rows])

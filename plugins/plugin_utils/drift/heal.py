"""What runs unattended after a comparison: the decision, what came of it, and the same as metrics."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

from ...module_utils._base.files import write_file
from ...module_utils._base.locks import locked
from ...module_utils._base.text import few, gauges
from ..layers.layers import LAYERS
from ..paths import COLLECTION, state_dir
from ..plan import to_json
from ..plan.part_types import HealPlan
from ..plan.types import Plan
from ..record import read_record
from ..status.rows import run_layer
from . import dry_runs
from .open_work import open_work
from .rows import DriftRow

FILE = "heal.json"
CLEAN = (
    "heal-clean"  # what was wanted of the site when nothing differed: else it may be a change that nobody applied yet
)
_NEVER_CLEAN = (
    "the site was never found as this file and this version of the collection want it: run groundup.cloud.site; a "
    "comparison by the timer that finds nothing comes first"
)
FAILED, REPEATED, LAST = (
    "groundup_heal_failed", "groundup_heal_repeated", "groundup_heal_last_timestamp_seconds",
)  # fmt: skip
_KILLED = "it was killed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealedLayer:
    """What the last unattended run of a layer was for, and what came of it."""

    window: str  # begin of the window, ISO 8601
    at: float
    rows: tuple[str, ...]  # what differed
    failed: str = ""  # why it failed, or what it left
    repeated: int = 0  # of what differs, how much an earlier run was for


Healed = dict[str, HealedLayer]  # by layer


def heal(
    plan: Plan, wanted: HealPlan, rows: Sequence[DriftRow], *, site_file: str, say: Callable[[str], None]
) -> tuple[list[str], str, Healed]:  # fmt: skip
    """Run the layers that may mend ``rows``; return those that ran, why others did not, and the record.

    Raises GroundupError, OSError.
    """
    lock = state_dir(plan.site) / ".heal.lock"
    try:
        with locked(lock, timeout=0):
            return _heal(plan, wanted, rows, site_file=site_file, say=say)
    except TimeoutError:
        return [], "another run mends", _read(plan.site)


def _heal(
    plan: Plan, wanted: HealPlan, rows: Sequence[DriftRow], *, site_file: str, say: Callable[[str], None]
) -> tuple[list[str], str, Healed]:  # fmt: skip
    ran, record, differs = list[str](), _read(plan.site), {row.layer for row in rows}
    for layer, former in record.items():
        if layer not in differs:  # mended meanwhile
            record[layer] = replace(former, failed="")
    clean, now_wanted = state_dir(plan.site) / CLEAN, _wanted(plan)
    if not rows:
        write_file(clean, now_wanted, mode=0o600)
    why = reason(rows, wanted) or ("" if clean.is_file() and clean.read_bytes() == now_wanted else _NEVER_CLEAN)
    for layer in () if why else [one for one in LAYERS if one in differs]:
        before = record.get(layer)
        if (now := due(rows, layer, before, wanted)) is None:
            why = f"the window {wanted.window} has ended"
            break
        if before and now.at == before.at:
            record[layer] = now
            why = f"{layer} ran in this window already, for the same"
            continue
        if why := "; ".join(f"under way: {one}" for one in open_work(plan, site_file)):
            break
        record[layer] = now
        _write(plan.site, record)
        ran.append(layer)
        record[layer] = replace(now, failed=dry_runs.apply(site_file, layer, say=say))
        if record[layer].failed:
            break
    _write(plan.site, record)
    return ran, why, record


def _wanted(plan: Plan) -> bytes:
    """Return a digest of the plan and of this collection's version."""
    versions = [COLLECTION / name for name in ("MANIFEST.json", "galaxy.yml")]
    found = b"".join([to_json(plan).encode(), *(path.read_bytes() for path in versions if path.is_file())])
    return hashlib.sha256(found).hexdigest().encode()


def reason(rows: Sequence[DriftRow], wanted: HealPlan, now: datetime | None = None) -> str:
    """Return why nothing is mended; "" when something may be."""
    now = now or datetime.now(UTC)
    unknown = dict.fromkeys(f"{row.layer} {row.host}" for row in rows if row.unknown)
    others = dict.fromkeys(
        f"{row.layer} {row.host}"
        for row in rows
        if row.layer not in wanted.layers or row.remedy != run_layer(row.layer)
    )
    if not rows:
        return "nothing differs"
    if unknown:
        return f"not all could be asked: {few(unknown)}"
    if others:
        return f"not all is mended by {', '.join(wanted.layers)}: {few(others)}"
    return "" if window_begin(wanted.window, now) else f"{now:%H:%M} UTC is outside {wanted.window}"


def window_begin(window: str, now: datetime) -> datetime | None:
    """Return when the ``window`` that ``now`` is in began; None outside."""
    first, last = (datetime.combine(now.date(), time.fromisoformat(one), UTC) for one in window.split("-"))
    begun = first if first <= now else first - timedelta(days=1)
    return begun if now - begun < (last - first) % timedelta(days=1) else None


def due(
    rows: Iterable[DriftRow], layer: str, before: HealedLayer | None, wanted: HealPlan, now: datetime | None = None
) -> HealedLayer | None:  # fmt: skip
    """Return the record of a run of ``layer`` that begins; that of ``before`` when it ran for the same in this window.

    None: the window has ended.
    """
    now = now or datetime.now(UTC)
    if (begun := window_begin(wanted.window, now)) is None:
        return None
    texts = {f"{row.host}: {row.what}" for row in rows if row.layer == layer}
    earlier, window = {*before.rows} if before else set[str](), begun.isoformat()
    again = len(texts & earlier)
    if before and before.window == window:
        if again:
            return replace(before, repeated=again)
        texts |= earlier
    every = tuple(sorted(texts))
    return HealedLayer(window=window, at=now.timestamp(), rows=every, failed=_KILLED, repeated=again)


def broken(layers: Iterable[str], why: str) -> Healed:
    """Return a record that says of all ``layers`` why none can run."""
    return {layer: HealedLayer(window="", at=0, rows=(), failed=why) for layer in layers}


def judged(site: str, record: Healed, ran: Iterable[str], rows: Iterable[DriftRow]) -> Healed:
    """Return ``record`` with what ``rows`` say that is left of layers that ``ran``. Raises OSError."""
    left = {row.layer for row in rows}
    for layer in ran:
        if layer in left:
            record[layer] = replace(record[layer], failed=record[layer].failed or "it left differences")
    _write(site, record)
    return record


def metrics(record: Healed, layers: Iterable[str]) -> str:
    """Return what came of unattended runs by layer, for the node exporter."""
    never = HealedLayer(window="", at=0, rows=())
    found = {layer: record.get(layer, never) for layer in layers}

    def samples(name: str, value: Callable[[HealedLayer], float]) -> list[str]:
        return [f'{name}{{part="{layer}"}} {value(one):.0f}' for layer, one in found.items()]

    return gauges({
        FAILED: ("Whether the last unattended run failed, or left differences.",
                 samples(FAILED, lambda one: bool(one.failed))),
        REPEATED: ("Differences that an unattended run was for before.", samples(REPEATED, lambda one: one.repeated)),
        LAST: ("When a layer last ran unattended; 0: never.", samples(LAST, lambda one: one.at)),
    })  # fmt: skip


def _read(site: str) -> Healed:
    def parse(said: Any) -> Healed:
        return {layer: HealedLayer(**{**one, "rows": tuple(one["rows"])}) for layer, one in said.items()}

    return read_record(
        state_dir(site) / FILE, parse, what="the record of unattended runs",
        why="the same would run again and again", remedy="remove the file",
    ) or {}  # fmt: skip


def _write(site: str, record: Healed) -> None:
    text = json.dumps({layer: asdict(one) for layer, one in record.items()}, indent=1)
    write_file(state_dir(site) / FILE, f"{text}\n".encode(), mode=0o600)

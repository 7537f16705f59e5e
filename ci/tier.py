"""Runs the commands of a test tier, passes their output through, and keeps what the final report repeats."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.files import write_file
from ansible_collections.groundup.cloud.plugins.module_utils._base.locks import locked
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import cache_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.progress import clock, reminder

ROOT = Path(__file__).resolve().parent.parent
SUMMARY = re.compile(r"^(=+ )?(\d+ (passed|failed|errors?|skipped)|no tests ran).* in [\d.]+s")
SKIPPED_TEST = re.compile(r"^SKIPPED \[\d+\] .*")
FAILED_TEST = re.compile(r"^(FAILED|ERROR) \S*tests/.*")
LOWEST_PRIORITY = ("nice", "-n", "19")
LAST_LINES = 8  # of a command that failed and names no test
PUTS_BACK = 300.0  # seconds that a tier's last command gets on a slow machine
SLOW = 1.6  # of the expected time of the tiers before: what waits for hosts with timeouts gets the machine for itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """One group of tests: its commands begin in order until one fails."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    at_once: int = 1  # commands under way at the same time; with more than one each line begins with its last word
    needs: Callable[[], str | None] = lambda: None  # a reason to skip, or None
    always: tuple[str, ...] = ()  # runs at the end whatever happened: puts the machine back
    beside: str = ""  # begins with the tier of this name, if that is the one before it: both leave processors idle
    ahead: tuple[str, ...] = ()  # makes what the tier needs; may run beside earlier tiers, at the lowest priority
    cached: bool = False  # quick where the cache is full: never skipped, tells nothing of this machine's speed
    background: bool = False  # has no timeouts: runs at the lowest priority when one of two tiers has ended, or last


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a tier ended."""

    name: str
    verdict: str
    seconds: float
    notes: tuple[str, ...]
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended: the lines that the final report repeats, and those that say why it failed."""

    notes: tuple[str, ...]
    failures: tuple[str, ...] = ()  # none: it passed


def run(command: tuple[str, ...], *, prefix: str = "", scratch: Path | None = None) -> Ended:
    """Run one command, passing its output through. ``scratch``: where pytest puts what tests write."""
    shown = " ".join(command)
    started = time.monotonic()
    what = shown if len(shown) <= 80 else f"{shown[:24]} ... {shown[-50:]}"  # a reminder is one line
    if before := _times().get(shown):
        what += f" ({clock(before)} last time)"
    print(f"\n$ {shown}", flush=True)
    kept: list[str] = []
    tests: list[str] = []
    last: deque[str] = deque(maxlen=LAST_LINES)
    whole = (*command, f"--basetemp={scratch}") if scratch and "pytest" in command else command
    with (
        subprocess.Popen(whole, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
        reminder(lambda line: print(line, flush=True), what) as heard,
    ):
        if process.stdout is None:  # never with PIPE; tells the type checker so
            raise RuntimeError("no standard output")
        for line in process.stdout:
            heard()
            sys.stdout.write(prefix + line)
            sys.stdout.flush()
            said = line.strip()
            if SUMMARY.match(said) or SKIPPED_TEST.match(said):
                kept.append(said)
            elif FAILED_TEST.match(said):
                tests.append(said)
            if said:
                last.append(said)
    if process.returncode == 0:
        with locked(cache_dir() / ".tiers.lock"):
            times = _times() | {shown: round(time.monotonic() - started, 1)}
            write_file(cache_dir() / "tiers.json", json.dumps(times, indent=1).encode(), mode=0o644)
        return Ended(notes=tuple(kept))
    why = f"exit {process.returncode}: {shown}"
    return Ended(notes=(*kept, why), failures=(why, *(tests or last)))


def _times() -> dict[str, float]:
    """Return how many seconds each command took when it passed last."""
    try:
        return dict(json.loads((cache_dir() / "tiers.json").read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return {}


def run_tier(tier: Tier, *, scratch: Path | None = None, alone: bool = True, until: float | None = None) -> Outcome:
    """Run a tier's commands; after one has failed none begins.

    ``scratch``: for what tests write, a directory for each command. Emptied first, and again when the tier has passed.
    ``alone``: no other tier is under way; else each line begins with this one's name.
    ``until``: moment of the monotonic clock; no command begins that would end later, and the tier is skipped then.
    """
    started = time.monotonic()
    if reason := tier.needs():
        return Outcome(name=tier.name, verdict="skipped", seconds=0.0, notes=(reason,))
    print(f"\n=== tier {tier.name} ===", flush=True)
    failed, late = threading.Event(), threading.Event()
    named = "" if alone else f"{tier.name}: "
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700, parents=True, exist_ok=True)  # what a killed test has mounted there stays

    def one(number: int, command: tuple[str, ...]) -> Ended:
        if failed.is_set():
            return Ended(notes=(f"not run: {' '.join(command)}",))
        shown = " ".join(command)
        if until is not None and time.monotonic() + _times().get(shown, 0.0) + bool(tier.always) * PUTS_BACK > until:
            late.set()
        if late.is_set():
            return Ended(notes=(f"no time for: {shown}",))
        place = scratch / str(number) if scratch else None
        ended = _attempted(command, prefix=f"{command[-1]}: " if tier.at_once > 1 else named, scratch=place)
        if ended.failures:
            failed.set()
        return ended

    with ThreadPoolExecutor(max_workers=tier.at_once) as pool:
        all_ended = list(pool.map(one, itertools.count(), tier.commands))
    if tier.always:
        all_ended.append(_attempted(tier.always, prefix=named))
    failures = tuple(line for ended in all_ended for line in ended.failures)
    if scratch and not failures:
        shutil.rmtree(scratch, ignore_errors=True)
    return Outcome(
        name=tier.name,
        verdict="FAILED" if failures else "skipped" if late.is_set() else "passed",
        seconds=time.monotonic() - started,
        notes=tuple(note for ended in all_ended for note in ended.notes),
        failures=failures,
    )


def _attempted(command: tuple[str, ...], *, prefix: str = "", scratch: Path | None = None) -> Ended:
    try:
        return run(command, prefix=prefix, scratch=scratch)
    except OSError as error:  # no room, no such program: the report tells it
        why = f"{' '.join(command)}: {error}"
        return Ended(notes=(why,), failures=(why,))


def run_tiers(
    tiers: Iterable[Tier], *, scratch: Path, minutes: Mapping[str, float], limit: float | None, waits: str = ""
) -> list[Outcome]:
    """Run tiers in order. With a ``limit`` in minutes, skip a tier that would end later than that on this machine.

    One that turns out slower than it looked leaves its last commands out. On a machine that is `SLOW`, tiers that begin
    together elsewhere, and their commands, run one after another.

    ``minutes``: how long each tier takes on a known machine; this one's speed shows in the tiers before.
    ``waits``: the first tier that leaves the processors idle at times. What later ones have ``ahead`` begins with it.
    Where that fails, so does its tier, which asks for the same, and says why.
    """
    chosen = list(tiers)
    names = [tier.name for tier in chosen]
    background = [tier for tier in chosen if tier.background]
    beside: list[Future[Outcome]] = []
    with ThreadPoolExecutor(max_workers=1) as pool:

        def begin_background() -> None:
            for one in background if not beside else ():
                last = replace(one, commands=tuple((*LOWEST_PRIORITY, *command) for command in one.commands))
                place = scratch.with_name(f"{scratch.name}-{one.name}")
                beside.append(pool.submit(run_tier, last, scratch=place, alone=False))

        def begin(tier: Tier) -> None:
            if tier.name == waits:
                for one in (one for one in chosen[names.index(waits) + 1 :] if one.ahead and not one.needs()):
                    pool.submit(_attempted, (*LOWEST_PRIORITY, *one.ahead), prefix=f"ahead, {one.name}: ")

        in_order = [tier for tier in chosen if tier not in background]
        outcomes = _in_order(in_order, begin, begin_background, scratch=scratch, minutes=minutes, limit=limit)
        begin_background()
    ended = {one.name: one for one in (*outcomes, *(future.result() for future in beside))}
    return [ended[name] for name in names]


def _in_order(
    tiers: Iterable[Tier],
    begin: Callable[[Tier], None],
    one_ended: Callable[[], None],
    *,
    scratch: Path,
    minutes: Mapping[str, float],
    limit: float | None,
) -> list[Outcome]:
    began, outcomes, expected, spent = time.monotonic(), list[Outcome](), 0.0, 0.0
    groups = deque(_groups(tiers))
    while groups:
        group, slower = groups.popleft(), spent / expected if expected else 1.0
        if slower > SLOW and len(group) > 1:
            names = ", ".join(tier.name for tier in group)
            print(f"\nthis machine is {slower:.1f} times slower than usual, one after another: {names}", flush=True)
            groups.extendleft([replace(tier, at_once=1)] for tier in reversed(group))
            continue
        passed, own = (time.monotonic() - began) / 60, max(minutes.get(tier.name, 0.0) for tier in group)
        ends = passed + own * slower
        quick = any(tier.cached for tier in group)
        if limit is not None and ends > limit and not quick:
            why = f"no time: it would end after {ends:.0f} minutes, and CI ends a run after 90"
            outcomes += (Outcome(name=tier.name, verdict="skipped", seconds=0.0, notes=(why,)) for tier in group)
            continue
        for tier in group:
            begin(tier)
        outcomes += _together(group, one_ended, scratch=scratch, until=None if limit is None else began + 60 * limit)
        if not quick:
            expected, spent = expected + own, spent + (time.monotonic() - began) / 60 - passed
    return outcomes


def _together(group: list[Tier], one_ended: Callable[[], None], *, scratch: Path, until: float | None) -> list[Outcome]:
    """Run tiers beside each other; the first writes to ``scratch``, the others next to it.

    ``one_ended``: called when one of several has ended, and left the others more of the processors than they use.
    """
    places = [scratch, *(scratch.with_name(f"{scratch.name}-{number}") for number in range(1, len(group)))]
    alone = len(group) == 1
    with ThreadPoolExecutor(max_workers=len(group)) as pool:
        futures = [
            pool.submit(run_tier, tier, scratch=place, alone=alone, until=until)
            for tier, place in zip(group, places, strict=True)
        ]
        if not alone:
            wait(futures, return_when=FIRST_COMPLETED)
            one_ended()
        return [future.result() for future in futures]


def _groups(tiers: Iterable[Tier]) -> list[list[Tier]]:
    """Return the tiers in order, those that begin together in one list."""
    groups: list[list[Tier]] = []
    for tier in tiers:
        if groups and tier.beside == groups[-1][0].name:
            groups[-1].append(tier)
        else:
            groups.append([tier])
    return groups


def report(outcomes: list[Outcome]) -> None:
    """Print what each tier said of itself, then how each ended, and last why one failed: the end is what is read."""
    print("\n=== what the tiers said ===")
    for outcome in outcomes:
        for note in outcome.notes:
            print(f"{outcome.name:<10} {note}")
    print("\n=== summary ===")
    for outcome in outcomes:
        print(f"{outcome.name:<10} {outcome.verdict:<8} {outcome.seconds:7.0f}s")
    for outcome in outcomes:
        for line in outcome.failures:
            print(f"{outcome.name}: {line}")

"""Upgrade packages of a host: those that were foretold and chosen, no other; then restart what runs removed files."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.text import few
from . import apt, foresight, mapped, simulation, sources, units
from .simulation import PackageChange, Simulation

PREFERENCES = Path("/etc/apt/preferences")
_UPGRADE = ("--no-remove", *simulation.UPGRADE)


def upgrade(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Upgrade ``given["packages"]``, and restart ``given["restart"]`` (None: any unit) unless the host reboots.

    Packages that are not among them keep their versions, and one that needs more than that is an error before anything
    changes. Run again, it goes on. Raises GroundupError.
    """
    seed = given["packages_seed"]
    if seed:
        sources.packages_from(changes, sources.SeedRepository(**seed, ca=given["ca_certificate"]))
    apt.update()
    if (half := apt.unfinished()) and changes.add(f"end the installation of {', '.join(half)}"):
        apt.repair()
    _installed(changes, given["packages"])
    runs = mapped.read()
    reboot = foresight.reboot_waiting(runs)
    if not (given["reboot"] or reboot):
        for unit in restartable(foresight.waiting(runs), given["restart"]):
            if changes.add(f"restart {unit}"):
                units.control("restart", unit)
        runs = mapped.read()
    return {
        **changes.result(), "reboot_waiting": reboot, "waiting": foresight.waiting(runs), "boot": foresight.boot(),
        "snapshot": sources.snapshot(),
    }  # fmt: skip


def pins(offered: Sequence[PackageChange], allowed: Collection[str]) -> str:
    """Return the apt_preferences(5) by which packages that are not ``allowed`` stay as they are."""
    return "".join(
        f"Package: {one.package}\nPin: version {one.before or '*'}\nPin-Priority: {1001 if one.before else -1}\n\n"
        for one in offered
        if one.package not in allowed
    )


def restartable(waiting: Collection[str], allowed: Collection[str] | None) -> list[str]:
    """Return those of the units that systemd can restart, and may (None: any); logins and guests end by themselves."""
    return [unit for unit in waiting if unit.endswith(".service") and (allowed is None or unit in allowed)]


def _installed(changes: Changes, allowed: Collection[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="groundup-patch-") as home:
        file = Path(home) / "preferences"
        own = not apt.OURS.exists() and PREFERENCES.exists()  # the seed's packages heed none of the host's
        kept = PREFERENCES.read_text(encoding="utf-8") if own else ""
        file.write_text(kept, encoding="utf-8")
        options = ("-o", f"Dir::Etc::Preferences={file}")
        offered = _simulated(*options, *simulation.UPGRADE).changes
        file.write_text(pins(offered, allowed) + kept, encoding="utf-8")  # of two for a package the first counts
        said = _simulated(*options, *_UPGRADE)
        _refuse_more(said, allowed)
        lines = [f"upgrade {one.package}: {one.before or 'new'} -> {one.after}" for one in said.changes]
        for line in lines:
            changes.add(line)
        changed = {one.package for one in said.changes}
        if left := [one.package for one in offered if one.package in allowed and one.package not in changed]:
            changes.warnings.append(f"stay as they are, for what they need is not upgraded: {few(left)}")
        if lines and not changes.check:
            apt.upgrade(*options, *_UPGRADE)


def _refuse_more(said: Simulation, allowed: Collection[str]) -> None:
    more = [one.package for one in said.changes if one.package not in allowed]
    lost = [*more, *(f"{name} (removed)" for name in said.removed)]
    if lost:
        raise GroundupError(
            f"the upgrade would change more than was told: {few(lost)}",
            where="apt-get --simulate dist-upgrade",
            why="it may stop what carries the cloud; nothing was upgraded",
            remedy="run groundup.cloud.patch --tags check again; patch_groups names packages of steps of their own",
        )


def _simulated(*arguments: str) -> Simulation:
    return simulation.parse(apt.ask(None, "--simulate", *arguments))

"""Run apt: wait for locks, repair an interrupted dpkg, explain faults of a package source."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .._base import files
from .._base.errors import GroundupError
from .._base.run import attempt
from .._base.wait import wait_until

# The file that exists tells the package source: OURS the seed, MIRROR the site's mirror, none the host's own.
OURS = Path("/etc/groundup/apt/apt.conf")
MIRROR = Path("/etc/apt/sources.list.d/groundup.sources")
SEED_LIST = "seed.list"  # beside OURS
WAIT = 300.0  # seconds for another apt to end
TIMEOUT = 1800.0  # seconds for one of ours, waiting included
_BUSY = re.compile(r"Could not get lock (\S+?)\.? It is held by process (\d+)(?: \((.*?)\))?")
_INTERRUPTED = "dpkg was interrupted"
_ABSENT = re.compile(r"^E: (?:Unable to locate package (\S+)|Package '(\S+)' has no installation candidate)", re.M)
_UNFETCHED = re.compile(r"^E: Failed to fetch (\S+)\s+(.*?)(?: \[IP: .*\])?:?$", re.M)
_REFUSED = re.compile(r"^(?:E|W): (The repository '.*|GPG error: .*|OpenPGP signature .*|Release file for .*)$", re.M)
_UNMET = re.compile(r"have unmet dependencies:\n((?: .*\n)+)")
_REMOVED = re.compile(r"will be REMOVED:\n((?: .*\n)+)(?s:.*)remove is disabled")
_FAILED = re.compile(r"Errors were encountered while processing:\n((?: .*\n?)+)")
_EARLY = ("not valid yet", "Not live", "not alive", "in the future")
_ARTIFACT = re.compile(r"/(packages[\w-]*)")  # in the URL of its list, of any layout
_FULL = ("No space left on device", "enough free space")


def update() -> None:
    """Fetch the package lists of every source in use. Raises GroundupError."""
    # Without Error-Mode, apt ignores a source that does not answer.
    _run("-o", "APT::Update::Error-Mode=any", "update")


def install(names: Sequence[str]) -> None:
    """Install packages without recommended ones, removing none. Raises GroundupError."""
    # Keep a configuration file that was written before its package was installed.
    upgrade("install", "--no-install-recommends", "--no-remove", "--", *names)


def upgrade(*arguments: str) -> None:
    """Have apt change packages, and keep changed configuration files. Raises GroundupError."""
    _run("-o", "DPkg::Options::=--force-confdef", "-o", "DPkg::Options::=--force-confold", *arguments)


def repair() -> None:
    """Have dpkg end what a killed run began; apt says what is left of it."""
    attempt(["dpkg", "--configure", "-a", "--force-confdef", "--force-confold"], timeout=TIMEOUT)


def ask(configuration: Path | None, *arguments: str) -> str:
    """Return what apt says with ``configuration`` (apt.conf), None: that of the host. Raises GroundupError."""
    argv = command(*arguments, configuration=configuration)
    done = _attempt(argv)
    if done.returncode:
        raise fault(argv, done.stdout + done.stderr)
    return done.stdout


def command(*arguments: str, configuration: Path | None = None) -> list[str]:
    """Return the apt-get command that uses the host's configured package source, or ``configuration``."""
    used = configuration or (OURS if OURS.exists() else None)
    ours = ("-c", str(used)) if used else ()
    return ["apt-get", "-q", "-y", "-o", f"DPkg::Lock::Timeout={WAIT:g}", *ours, *arguments]


def _run(*arguments: str) -> None:
    argv = command(*arguments)
    done = _attempt(argv)
    if done.returncode and _INTERRUPTED in done.stderr:
        repair()
        done = _attempt(argv)
    if done.returncode:
        raise fault(argv, done.stdout + done.stderr)


def _attempt(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run apt; retry while another process locks the package lists, which apt itself does not wait for."""
    runs: list[subprocess.CompletedProcess[str]] = []

    def locked_out() -> bool:
        # Only the host's own sources may be behind a proxy; the seed and the site's mirror are not.
        own = None if OURS.exists() or MIRROR.exists() else os.environ
        runs[:] = [attempt(argv, timeout=TIMEOUT, environment=own)]
        return bool(runs[0].returncode and "Unable to lock directory" in runs[0].stderr)

    wait_until(locked_out, timeout=WAIT, pause=2.0)
    return runs[0]


def fault(argv: Sequence[str], said: str) -> GroundupError:
    """Return the error for an apt that failed with the output ``said``."""
    source, remedy = _source()
    why = "the layer installs what it needs before it writes a file; nothing else was changed"
    where = " ".join(argv)
    if busy := _BUSY.search(said):
        lock, number, name = busy.groups()
        holder = f"process {number}" + (f" ({name})" if name else "")
        what, remedy = (
            f"another apt is at work: {holder} holds {lock}",
            "wait until it ends, or end it; then run this again",
        )
        why = f"{WAIT:g} s were not enough for it to end"
    elif _INTERRUPTED in said:
        what = f"packages are half installed: {', '.join(unfinished()) or 'dpkg cannot read its own records'}"
        remedy = "run dpkg --configure -a on the host, and correct what it names"
    elif any(words in said for words in _FULL):
        what, remedy = "the host's disk is full", "make room (df -h; apt-get clean), then run this again"
    elif any(words in said for words in _EARLY):
        what, remedy = f"{source}: its signature is from the future", "set the host's clock, and the control node's"
    elif absent := _ABSENT.findall(said):
        what = f"{source}: no package {', '.join(sorted(''.join(one) for one in absent))}"
    elif unmet := _UNMET.search(said):
        what = f"{source}: what the host has does not fit to it: {'; '.join(unmet[1].split(chr(10))).strip('; ')}"
        remedy = "bring the host to today's packages of its Debian (apt-get upgrade)"
        if OURS.exists():
            anew = f"{{supply_names: [{_artifact()}], supply_rebuild: true}}"
            remedy += f"; or the seed: run groundup.cloud.supply with -e '{anew}', then groundup.cloud.seed"
    elif removed := _REMOVED.search(said):
        what = f"apt would remove what does not go with it: {', '.join(removed[1].split())}"
        remedy = "if nothing on the host needs it, remove it by hand; or take another host"
    elif unfetched := _UNFETCHED.findall(said):
        rest = f", and {len(unfetched) - 1} more" if unfetched[1:] else ""
        what, where = f"{source}: {unfetched[0][1].rstrip(': ')}{rest}", unfetched[0][0]
    elif refused := _REFUSED.findall(said):
        what = f"{source}: {' '.join(refused)}"
    elif failed := _FAILED.search(said):
        what = f"packages cannot be configured: {', '.join(failed[1].split())}"
        remedy = "run dpkg --configure -a on the host, and correct what it names"
    else:
        lines = [line for line in said.splitlines() if line.strip()]
        what, remedy = "\n    ".join(["apt failed:", *lines[-8:]]), "run the command by hand on the host"
    return GroundupError(what, where=where, why=why, remedy=remedy)


def unfinished() -> list[str]:
    """Return the packages that are partly installed."""
    shown = attempt(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}|${Package}\n"]).stdout.splitlines()
    states = (line.split("|") for line in shown if "|" in line)
    return [name for state, name in states if state[1:2] not in ("i", "c", "n")]


def _artifact() -> str:
    """Return the artifact of supply.lock whose packages this host installs from the seed."""
    found = _ARTIFACT.search(files.read(OURS.with_name(SEED_LIST)) or "")
    return found[1] if found else "packages"


def _source() -> tuple[str, str]:
    """Return the package source in use, and how an operator corrects it."""
    if OURS.exists():
        # After two newer snapshots the seed no longer has the host's.
        remedy = "run the playbook groundup.cloud.host, which names the snapshot in use; if it is not there: "
        return "the seed's packages", f"{remedy}groundup.cloud.supply and groundup.cloud.seed"
    if MIRROR.exists():
        fields = "hosts.packages_url, packages_suites, packages_components or packages_key"
        return "the site's package mirror", f"correct {fields} of the site file, or mend the mirror"
    return "the host's own package sources", "correct them (/etc/apt), or write hosts.packages: seed in the site file"

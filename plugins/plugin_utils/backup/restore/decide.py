"""What stands against the restore of a set, what replaces what, and on which control host etcd is restored. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ....module_utils._base.consent import Reason
from ..sets.disk import SetBackup
from ..sets.mariadb import Contents
from ..sets.take import ETCD, KEYS, MARIADB, STATE
from . import anew, services
from .anew import AWAY, Again
from .table import held, taken

OVERWRITE, OUTDATED, MIXED, SECRETS = "overwrite", "outdated", "mixed-times", "other-secrets"
MEMBER_AWAY = "member-away"
_APART = timedelta(hours=1)  # between parts of one set: longer than a backup takes
_TAG = re.compile(r":v?(\d+\.\d+\.\d+)[^@/]*(?:@|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The control hosts' etcd, as each host answered; None: it did not."""

    answers: Mapping[str, Mapping[str, Any] | None]
    first: str  # of the plan
    image: str = ""  # of etcd, in the plan

    def passed(self, restore: str) -> dict[str, str]:
        """Return what hosts have done already in this restore; who has the restored etcd has joined it."""
        found = {host: said for host, said in self.answers.items() if restore and said}
        did = {host: said["passed"]["did"] for host, said in found.items() if said["passed"].get("restore") == restore}
        restored = {found[host]["now"].get("cluster") for host, what in did.items() if what == "put"} - {None}
        return {host: "joined" for host, said in found.items() if said["now"].get("cluster") in restored} | did

    def target(self, restore: str) -> str:
        """Return the host to restore on; "": none.

        It is the one that did already, else the first that is a whole member, else the plan's first when all are anew.
        """
        if done := [host for host, did in self.passed(restore).items() if did == "put"]:
            return done[0]
        if able := sorted(host for host, said in self.answers.items() if said and said["member"]):
            return self.first if self.first in able else able[0]
        return self.first if self.first in self.anew and not self.unclear else ""

    def makes_anew(self, restore: str) -> bool:
        """Return whether all hosts that answer are empty, and the cluster has to be made again and runs on none yet."""
        return self.target(restore) in self.anew and len(self.anew) + len(self.away) == len(self.answers)

    def living(self, restore: str) -> dict[str, Mapping[str, Any]]:
        """Return what members say that answer and have not been restored."""
        passed = self.passed(restore)
        return {host: said["now"] for host, said in self.answers.items() if said and said["now"] and host not in passed}

    def mute(self, restore: str) -> dict[str, str]:
        """Return the hosts that have etcd's data whose member says nothing, with the reason."""
        passed = {*self.passed(restore), *(self.anew if restore else ())}  # what those have is the set's
        return {
            host: str(said.get("why") or "it does not run") for host, said in sorted(self.answers.items())
            if said and said.get("etcd_data") and not said["now"] and host not in passed
        }  # fmt: skip

    def full(self, restore: str) -> list[str]:
        """Return the hosts to be cleared that have no place for what they have: none is found out in the middle."""
        spared = {self.target(restore), *self.passed(restore), *self.anew}
        return sorted(host for host, said in self.answers.items() if said and said.get("full") and host not in spared)

    @property
    def away(self) -> list[str]:
        """Return the hosts that did not answer."""
        return sorted(host for host, said in self.answers.items() if said is None)

    @property
    def anew(self) -> list[str]:
        """Return the hosts that were made anew: they have nothing of Kubernetes but what a restore put there."""
        return sorted(host for host, said in self.answers.items() if said and said.get("anew"))

    @property
    def unclear(self) -> dict[str, str]:
        """Return the hosts that are neither members nor anew, with what they have."""
        return {
            host: "data of etcd" if said.get("etcd_data") else "leftovers of Kubernetes"
            for host, said in sorted(self.answers.items()) if said and not said["member"] and not said.get("anew")
        }  # fmt: skip

    @property
    def version(self) -> str:
        """Return the version of etcd that the hosts start, "" when none says."""
        images = [str((said or {}).get("image", "")) for said in self.answers.values()]
        return next((found.group(1) for image in (*images, self.image) if (found := _TAG.search(image))), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What is there now, as far as it can be asked."""

    control: Control
    database: Contents | None = None  # None: no member of MariaDB answers
    database_why: str = ""  # why none does; "": there is none
    unknown_heads: Mapping[str, str] = field(default_factory=dict)  # of the set, that no live image has a migration of
    store: str = ""  # identity of the secrets store
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    releases: tuple[str, ...] = ()  # of OpenStack: one, two while a step is open
    restore: str = ""  # name of the restore under way
    placed: bool = False  # it has put MariaDB's data in place
    services: Mapping[str, services.Held] = field(default_factory=dict)  # by part
    again: Again | None = None  # where the cluster has to be made again
    unread: bool = False  # control hosts do not have all keys of the set's Secrets at rest
    away: Mapping[int, str] = field(default_factory=dict)  # members of MariaDB whose volume cannot be mounted, and why
    members: int = 0  # of MariaDB; 0: nobody could be asked


def reasons(backup: SetBackup, parts: Collection[str], now: Present, *, days: float, at: datetime) -> Iterator[Reason]:
    """Yield what stands against restoring ``parts``, those first that nothing overrides."""
    if lacking := sorted(set(parts) - backup.parts.keys()):
        yield Reason(text=f"it has no part {', '.join(lacking)}")
        return
    if STATE not in parts and now.store != backup.store:
        yield Reason(text=f"it is of another secrets store ({backup.store}; this site's is {now.store or 'not there'})")
    if ETCD in parts:
        yield from _etcd(backup, now)
        if now.again:
            yield from anew.against(backup, now.again, hosts=", ".join(now.control.anew), named=KEYS in parts)
        elif now.unread and STATE not in parts:
            yield Reason(
                text="its Secrets at rest need a key that control hosts have no more, and no API server could read "
                f"them: use a set of after the rotation, or move the state directory away and restore {STATE} of this "
                "one, too"
            )
    elif KEYS in parts and now.again:
        yield Reason(
            text=f"control hosts were made anew ({', '.join(now.control.anew)}): keys alone make none of them; "
            f"name {ETCD} in restore_parts, too"
        )
    if MARIADB in parts:
        yield from _mariadb(backup, now)
        yield from away(now.away, now.members)
    for part, one in now.services.items():
        if one.undone and now.restore == "":
            yield Reason(code=OVERWRITE, text=f"{one.undone}; the set's are of {taken(backup, part)}")
    yield from _times(backup, parts, days=days, at=at, goes_on=bool(now.restore))
    if STATE not in parts and (other := changed(backup, now.fingerprints)):
        yield Reason(code=SECRETS, text=f"secrets have changed since, and services know the new: {', '.join(other)}")


def changed(backup: SetBackup, fingerprints: Mapping[str, str]) -> list[str]:
    """Return the secrets that have changed since a set."""
    return [name for name, said in backup.fingerprints.items() if fingerprints.get(name, said) != said]


def away(members: Mapping[int, str], count: int) -> Iterator[Reason]:
    """Yield what stands against a restore of MariaDB without some of its ``count`` members."""
    if not members:
        return
    told = "; ".join(f"mariadb-server-{number}: {why}" for number, why in members.items())
    if len(members) == count:
        yield Reason(text=f"no member of MariaDB has a volume that can be mounted ({told})")
    else:
        yield Reason(
            code=MEMBER_AWAY, text=f"members of MariaDB have no volume that can be mounted ({told}): they are left "
            "out, and copy the others when they are back",
        )  # fmt: skip


def _etcd(backup: SetBackup, now: Present) -> Iterator[Reason]:
    saved, runs = backup.versions.get("etcd", ""), now.control.version
    if not now.control.target(now.restore):
        unclear = "; ".join(f"{host} has {what}" for host, what in now.control.unclear.items())
        yield Reason(
            text="no control host is a member with etcd's manifest and Kubernetes' keys to restore etcd on, and the "
            f"cluster is made again only where {now.control.first} answers and all that answer have nothing of "
            f"Kubernetes" + (f": {unclear}" if unclear else "")
        )
    if runs and not 0 <= _minor(runs) - _minor(saved) <= 1:
        yield Reason(text=f"it is of etcd {saved}, the control hosts start {runs}, which does not read its data")
    if full := now.control.full(now.restore):
        yield Reason(
            text=f"{', '.join(full)} cannot be cleared: what was set aside there before is all there; delete what you "
            "do not need of /etc/kubernetes.*.before-reset and /var/lib/etcd.*.before-reset"
        )
    if away := now.control.away:
        yield Reason(
            code=AWAY, text=f"{', '.join(away)} did not answer: one that comes back still has the old etcd, and two of "
            "three would be a second cluster; keep them off, and clear them before they start",
        )  # fmt: skip
    if living := now.control.living(now.restore):
        host, said = next(iter(sorted(living.items())))
        yield Reason(
            code=OVERWRITE, text=f"etcd lives ({host}: {said['keys']} keys at revision {said['revision']}): all "
            f"that was written since {taken(backup, ETCD)} is undone",
        )  # fmt: skip
    if mute := now.control.mute(now.restore):
        told = "; ".join(f"{host}: {why}" for host, why in mute.items())
        yield Reason(
            code=OVERWRITE, text=f"etcd's data are there, and nobody says what they hold ({told}): start it instead if "
            f"it can be; all that was written since {taken(backup, ETCD)} is undone",
        )  # fmt: skip


def steps(parts: Collection[str], control: Control, restore: str) -> list[str]:
    """Return what is done with control hosts for the part etcd, in order."""
    target, passed = control.target(restore), control.passed(restore)
    hosts = sorted(control.answers.keys() - set(control.away)) if ETCD in parts else []
    left = [host for host in hosts if host not in passed]
    out = [host for host in hosts if host in left or not (control.answers[host] or {})["now"]]  # of the restored etcd
    used, first = [host for host in left if host not in control.anew], [host for host in left if host == target]
    named = (
        ("end etcd and the control plane", used),
        ("put back the keys of Kubernetes", [host for host in first if host not in used]),
        ("put etcd's data in place", first),
        ("clear, files set aside", [host for host in used if host != target]),
        ("start etcd and the API server on these data", [host for host in out if host == target]),
        ("join as new members of etcd", [host for host in out if host != target]),
    )
    return [f"{what}: {', '.join(hosts)}" for what, hosts in named if hosts]


def _mariadb(backup: SetBackup, now: Present) -> Iterator[Reason]:
    saved, found = backup.versions.get("MariaDB", ""), now.database
    if found and _series(found.version) != _series(saved):
        yield Reason(
            text=f"it is of MariaDB {saved}, the members run {found.version}: physical data fit one series only"
        )
    if not {*(release := backup.versions.get("OpenStack", "")).split(", ")} <= {*now.releases}:
        yield Reason(text=f"its schemas are of OpenStack {release}, the site runs {', '.join(now.releases)}")
    if now.unknown_heads:
        told = ", ".join(f"{database} {head}" for database, head in sorted(now.unknown_heads.items()))
        yield Reason(text=f"its schemas are newer than the images that run: they have no migration {told}")
    if found and not now.placed and now.restore == "":
        yield Reason(
            code=OVERWRITE, text=f"MariaDB lives ({held(found.rows)}): all that was written since "
            f"{taken(backup, MARIADB)} is undone",
        )  # fmt: skip
    if now.database_why and now.restore == "":
        yield Reason(
            code=OVERWRITE, text=f"MariaDB does not say what it holds ({now.database_why}): all that was written since "
            f"{taken(backup, MARIADB)} is undone",
        )  # fmt: skip


def _times(backup: SetBackup, parts: Collection[str], *, days: float, at: datetime, goes_on: bool) -> Iterator[Reason]:
    times = {part: datetime.fromisoformat(backup.parts[part]["taken"]) for part in parts}
    if max(times.values()) - min(times.values()) > _APART:
        told = ", ".join(f"{part} {time:%Y-%m-%d %H:%M}" for part, time in times.items())
        yield Reason(code=MIXED, text=f"its parts are of unlike times: {told}")
    if not goes_on and (age := at.astimezone(UTC) - min(times.values())) > timedelta(days=days):
        yield Reason(code=OUTDATED, text=f"it is {age / timedelta(days=1):.1f} days old, {days:g} are allowed")


def _minor(version: str) -> int:
    major, minor = (int(word) for word in re.findall(r"\d+", version)[:2])
    return major * 1000 + minor


def _series(version: str) -> Sequence[str]:
    return re.findall(r"\d+", version)[:2]

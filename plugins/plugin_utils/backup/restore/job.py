"""The steps of a restore that are done on the controller, and what the steps on hosts are given."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from ....module_utils._base import consent
from ....module_utils._base.changes import Changes
from ... import site_identity, state_format, supply
from ...errors import GroundupError
from ...kube.access import kubeconfig_path
from ...kube.client import Api
from ...paths import state_dir
from ...plan.types import Plan
from ...upgrade.journal import OPENSTACK, under_way
from ...vault import STORE, Store, fingerprints, open_lost, open_store
from ..logs.disk import LogShelf
from ..logs.replay import Replay, find
from ..sets import scratch_etcd, take
from ..sets.job import site_shelf
from ..sets.mariadb import Contents, choose, contents
from ..sets.write import alone
from . import anew, compare, decide, journal, state, workloads
from .bucket import fetched
from .decide import Control, Present
from .mariadb import SET, Members, summary
from .services import Services
from .table import ORDER, table

_SHORT = 10.0  # seconds for an API that may be lost


class RestoreJob:
    """One run's work with one set."""

    def __init__(self, plan: Plan, given: Mapping[str, Any], changes: Changes, *, say: Callable[[str], object]) -> None:
        """Find the set. Raises GroundupError when there is none, or it is another site's."""
        self._plan, self._changes, self._say = plan, changes, say
        self._shelf = site_shelf(plan, given["directory"])
        self._given = {**given, "source": fetched(plan, self._shelf, given["source"])}
        self._backup, self._place = self._shelf.find(self._given["source"])
        self._shelf.refuse_other(self._backup, site=plan.site, place=self._place)
        self._parts = given["parts"] or list(take.parts(plan))
        if unknown := sorted(set(self._parts) - set(ORDER)):
            raise GroundupError(
                f"there is no part {', '.join(unknown)} to restore", where="the variable restore_parts",
                why="what is not known cannot be put back", remedy=f"name of {', '.join(ORDER)}",
            )  # fmt: skip

    def decide(self, answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Refuse what must not be restored; return what replaces what, and who does what. Changes nothing else.

        A restore that goes on keeps its name; one that begins gets one, unless in check mode. Raises GroundupError.
        """
        backup, site = self._backup, self._plan.site
        begun = journal.under_way(site)
        given, force = self._given, self._given["force"]
        about: dict[str, Any] = {"sha256": backup.sha256, "parts": self._parts, "until": given["until"]}
        journal.refuse(begun, **about, force=force)
        if take.STATE in self._parts:
            state.refuse_living(site, restored=backup.store if begun else "")
        warnings = self._shelf.check(backup, self._place, self._parts)
        now = self._present(answers, name=begun.name if begun else "")
        against = decide.reasons(backup, self._parts, now, days=given["days"], at=datetime.now(UTC))
        consent.refuse(
            "restore", backup.name, against, force, where=str(self._place),
            why="what is restored takes the place of what is there; nothing was changed", first="use another set",
        )  # fmt: skip
        logs = None if now.placed else self._logs()
        rows = table(backup, self._parts, now, logs=str(logs or ""))
        restore = begun
        if self._changes.add(f"restore {', '.join(self._parts)} from {backup.name}"):
            with alone(site):  # a backup that runs would be half of now, and looks for this record when it begins
                journal.refuse(begun := journal.under_way(site), **about, force=force)
                self._refuse_another()
                restore = journal.begin(site, begun, source=str(self._place), **about)
        etcd, name = take.ETCD in self._parts, restore.name if restore else ""
        passed, target = now.control.passed(name), now.control.target(name)
        answer = sorted(now.control.answers.keys() - set(now.control.away))
        hosts = answer if etcd else []
        return {
            "changed": bool(self._changes.done), "changes": self._changes.done, "table": rows, "parts": self._parts,
            "steps": decide.steps(self._parts, now.control, name), "warnings": warnings,
            "restore": name, "set": str(self._place), "goes_on": bool(begun), "target": target,
            "stops": [host for host in hosts if host not in passed],
            "leaves": [host for host in hosts if host != target and host not in passed],
            # Who joins gets them from the cluster: others of a blank host would make it a half-made one.
            "keyed": [host for host in answer if host == target or (not etcd and host not in now.control.anew)],
        }  # fmt: skip

    def state(self) -> dict[str, Any]:
        """Put the state back, unless a run before this one has. Raises GroundupError."""
        home = state_dir(self._plan.site)
        state.refuse_living(self._plan.site, restored=self._backup.store)
        if (home / STORE).exists():
            return self._changes.result()
        if self._changes.add(f"put the state of the site back into {home}"):
            number, aside = state.put(self._plan.site, self._content(take.STATE), judge=self._judge_state)
            self._say(f"restore: {number} files of the state of {self._plan.site}")
            self._changes.warnings += [f"other files of before are in {aside}"] if aside else []
        return self._changes.result()

    def _judge_state(self, new: Path) -> None:
        state_format.refuse_newer(new, where=str(self._place))
        error = site_identity.other(self._plan, state=new, where=str(self._place))
        if error and site_identity.OTHER not in self._given["site_force"]:
            raise error

    def keys(self) -> str:
        """Return Kubernetes' keys, a tar archive in base64. Raises GroundupError."""
        return base64.b64encode(self._keys()).decode()

    def _keys(self) -> bytes:
        return b"".join(self._content(take.KEYS)) if take.KEYS in self._backup.parts else b""

    @contextmanager
    def snapshot(self) -> Iterator[tuple[Path, Path]]:
        """Yield etcd's snapshot, and the program etcdutl. Raises GroundupError."""
        program = supply.ensure([scratch_etcd.ARTIFACT])[scratch_etcd.ARTIFACT].path / "etcdutl"
        size = int(self._backup.parts[take.ETCD]["size"])
        with scratch_etcd.unsealed(self._plan.site, self._content(take.ETCD), size=size) as snapshot:
            yield snapshot, program

    def mariadb(self, accounts: Callable[[Plan, Store], bytes]) -> dict[str, Any]:
        """Put the databases back, with ``accounts``, and restart what has read the old. Raises GroundupError."""
        begun = journal.under_way(self._plan.site) or self._unbegun()
        about = self._backup.parts[take.MARIADB]
        logs: Replay | None = None
        members = Members(self._api(), self._plan.openstack.namespace)
        gone = self._leave_out(members)
        if not members.placed(begun.name) and self._changes.add(f"restore MariaDB from {self._backup.name}"):
            self._say(f"restore: ending {members.count} members of MariaDB")
            journal.ends_database(self._plan.site, begun)
            members.stop()
            logs = self._logs()
            store = open_store(self._plan.site, write=False)
            self._say(f"restore: {logs or 'no binary logs'}")

            def pieces() -> Iterator[bytes]:
                yield from self._content(take.MARIADB)
                yield from logs.content(store) if logs else ()

            sql = accounts(self._plan, store)
            members.place(begun.name, size=about["size"], pieces=pieces, accounts=sql, replays=logs)
        self._say("restore: starting MariaDB with the set's data")
        members.start()
        held, faults = summary(contents(choose(self._api(), self._plan.openstack.namespace)), about)
        faults = [] if logs else faults  # rows that were deleted since are none
        self._say(f"restore: MariaDB holds {held}; its services restart")
        number = workloads.restart_services(self._api(), self._plan.openstack.namespace)
        self._changes.done.append(f"restart {number} pods that had read the databases before")
        told = [*gone, *(f"MariaDB, against the set: {one}" for one in faults), *self._users_of_then()]
        return self._changes.result() | {"warnings": told}

    def _leave_out(self, members: Members) -> list[str]:
        """Leave out members whose volume cannot be mounted; return what is told. Raises GroundupError, ApiError."""
        away = members.away()
        consent.refuse(
            "restore", self._backup.name, decide.away(away, members.count), self._given["force"],
            where=f"namespace {self._plan.openstack.namespace}, StatefulSet {SET}",
            why="nothing of MariaDB was changed", first="bring the host back",
        )  # fmt: skip
        members.numbers = [number for number in members.numbers if number not in away]
        left_out = [f"{SET}-{number} ({why})" for number, why in away.items()]
        return [f"{one} was left out: it copies the others when it is back" for one in left_out]

    def _users_of_then(self) -> list[str]:
        """Have the next rollout make Keystone's users again, where secrets have changed since. Raises ApiError."""
        now = fingerprints(open_store(self._plan.site, write=False).items())
        if not decide.changed(self._backup, now):
            return []
        names = workloads.forget_accounts(self._api(), self._plan.openstack.namespace)
        self._changes.done += [f"remove job {name}, which has ended" for name in names]
        return [
            "secrets have changed since the set, and Keystone has users and passwords of then: run "
            "groundup.cloud.openstack, then groundup.cloud.hypervisor, before you use the cloud"
        ]

    def services(self) -> dict[str, Any]:
        """Put back what services have beside the databases. Raises GroundupError."""
        begun = journal.under_way(self._plan.site) or self._unbegun()
        self._changes.done += self._services().put(self._parts, self._content, restore=begun.name)
        return self._changes.result()

    def restart(self) -> dict[str, Any]:
        """Restart what watches Kubernetes on nodes; name Nodes that are no more. Raises ApiError."""
        api = self._api()
        self._changes.done.append(f"restart {workloads.restart_network(api)} pods of the pod network")
        gone = workloads.nodes_without_host(api, self._plan.hosts)
        told = f"Nodes of no host in the site file: {', '.join(gone)}; kubectl delete node removes them"
        return self._changes.result() | {"warnings": [told] if gone else []}

    def compare(self, answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return how the cloud's databases differ from what is there. ``answers``: of virsh, by hypervisor."""
        domains = {host: said["stdout"].split() for host, said in answers.items() if said.get("rc") == 0}
        away = [f"{host} did not say which instances it has" for host in sorted(answers.keys() - domains.keys())]
        return {"changed": False, "differences": [*away, *compare.compare(self._plan, self._api(), domains)]}

    def end(self) -> dict[str, Any]:
        """Write down that the restore has ended."""
        journal.end(self._plan.site)
        return {"changed": False}

    def _refuse_another(self) -> None:
        """Refuse a set that a backup has removed since it was found, or that is the newest no more."""
        now, _ = self._shelf.find(self._given["source"])
        if now != self._backup:
            raise GroundupError(
                f"the {self._given['source']} set is another one now: {now.name}", where=str(self._shelf.home),
                why=f"a backup ended after {self._backup.name} was looked at; nothing was changed",
                remedy="run this again",
            )  # fmt: skip

    def _unbegun(self) -> NoReturn:
        raise GroundupError(
            "no restore is under way", where="the state directory, " + journal.FILE,
            why="its name is in the names of what is set aside", remedy="run the playbook from its beginning",
        )  # fmt: skip

    def _api(self, **options: float) -> Api:
        return Api(kubeconfig_path(self._plan.site), **options)

    def _services(self, **options: float) -> Services:
        return Services(connect=lambda: self._api(**options), plan=self._plan, store=self._store())

    def _logs(self) -> Replay | None:
        """Return what follows MariaDB's part of the set. Raises GroundupError when nothing does that should."""
        if take.MARIADB not in self._parts:
            return None
        store, part = self._store(), self._backup.parts[take.MARIADB]
        shelf, expected = LogShelf(self._place.parent), self._plan.backups.logs_every > 0
        begun = journal.under_way(self._plan.site)
        at = begun.at if begun else None
        return find(shelf, part, until=self._given["until"], store=store, expected=expected, begun=at)

    def _store(self) -> Store:
        """Return the store; where it is restored and not there yet, one that opens the set alone."""
        lost = take.STATE in self._parts
        return open_lost(self._plan.site) if lost else open_store(self._plan.site, write=False)

    def _content(self, part: str) -> Iterable[bytes]:
        return self._shelf.content(self._backup, self._place, part, store=self._store())

    def _present(self, answers: Mapping[str, Mapping[str, Any]], *, name: str) -> Present:
        store = self._store()
        there = (state_dir(self._plan.site) / STORE).exists()
        # Those that are set aside as well: what is there is not known of them, either.
        control = {host for host, one in self._plan.hosts.items() if "control" in one.roles} | answers.keys()
        hosts = {host: said if "member" in (said := answers.get(host, {})) else None for host in sorted(control)}
        image = self._plan.supply.images.get("etcd", "")
        found = Control(answers=hosts, first=self._plan.kubernetes.first_control, image=image)
        wanted = take.MARIADB in self._parts
        database, placed, why = self._database(name) if wanted else (None, False, "")
        away, count = self._away() if wanted else ({}, 0)
        opened = under_way(self._plan.site, OPENSTACK)
        return Present(
            control=found, database=database, database_why=why, placed=placed, restore=name,
            unknown_heads=self._unknown_heads(database),
            store=store.identity if there else "", fingerprints=fingerprints(store.items()) if there else {},
            releases=(opened.source, opened.target) if opened else (self._plan.openstack.release,),
            services=self._services(timeout=_SHORT, patience=0.0).held(self._parts, self._content),
            again=anew.look(self._plan, self._keys(), store) if found.makes_anew(name) else None,
            unread=take.ETCD in self._parts and anew.unread(self._plan, store, self._keys()), away=away, members=count,
        )  # fmt: skip

    def _database(self, name: str) -> tuple[Contents | None, bool, str]:
        """Return what MariaDB holds, None when it does not answer; whether it is restored already; why it is silent."""
        try:
            api = self._api(timeout=_SHORT, patience=0.0)
            placed = bool(name) and Members(api, self._plan.openstack.namespace).placed(name)
            return contents(choose(api, self._plan.openstack.namespace)), placed, ""
        except GroundupError as error:
            return None, False, error.what

    def _away(self) -> tuple[dict[int, str], int]:
        """Return the members whose volume cannot be mounted, and how many there are.

        With etcd's part, the cluster may not answer, and is another one afterwards: they are asked then, once more.
        """
        try:
            members = Members(self._api(timeout=_SHORT, patience=0.0), self._plan.openstack.namespace)
            return members.away(), members.count
        except GroundupError:
            if take.ETCD in self._parts:
                return {}, 0
            raise

    def _unknown_heads(self, database: Contents | None) -> dict[str, str]:
        heads = self._backup.heads if take.MARIADB in self._parts else {}
        asked = {name: head for name, head in heads.items() if not database or database.heads.get(name) != head}
        try:
            api = self._api(timeout=_SHORT, patience=0.0)
            return compare.unknown_heads(api, self._plan.openstack.namespace, asked)
        except GroundupError:
            return {}  # nothing runs that could be asked: the release decides

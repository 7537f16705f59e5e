"""A cloud on its way to another release, a stand-in; and a run of the verb that may be killed after each effect.

The run's order is that of the playbook: its tasks are read from its file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.graph import one_by_one
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import judge
from ansible_collections.groundup.cloud.plugins.plugin_utils.release.check import ReleaseCheck
from ansible_collections.groundup.cloud.plugins.plugin_utils.release.facts import ReleaseFacts, ReportedService
from ansible_collections.groundup.cloud.plugins.plugin_utils.release.order import left
from ansible_collections.groundup.cloud.plugins.plugin_utils.release.run import ReleaseUpgrade
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate import pairs
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.rows import StatusRow

FROM, TO = "2026.1", "2026.2"
HYPERVISORS = ("hypervisor-1", "hypervisor-2", "hypervisor-3", "hypervisor-4")
PINNED = ("Deployment/cinder-scheduler", "Deployment/nova-conductor")
MIGRATED = ("keystone", "placement", "glance", "neutron", "nova", "cinder", "heat", "horizon")
STEP, ROLLOUT = "groundup.cloud.openstack_upgrade", "groundup.cloud.rollout"


class KilledRun(BaseException):
    """The run is gone."""


def plan_of(
    release: str = TO, *, hypervisors: tuple[str, ...] = HYPERVISORS, missing: int = 2, **cloud: object
) -> Plan:
    """Return a plan of four hypervisors in two zones, of which as many as ``missing`` may be away.

    ``cloud``: other values of `openstack` of the site file.
    """
    site = load_site(COLLECTION / "inventories/cloud/site.yml")
    site = site.model_copy(update={"openstack": site.openstack.model_copy(update={"release": release, **cloud})})
    plan = make_plan(site)
    one = plan.hosts["hypervisor-1"]
    zones = dict(zip(HYPERVISORS, ("a", "a", "a", "b"), strict=True))
    hosts = {name: dataclasses.replace(one, name=name, zone=zones[name]) for name in hypervisors}
    others = {name: host for name, host in plan.hosts.items() if "hypervisor" not in host.roles}
    return dataclasses.replace(plan, hosts=others | hosts, max_unavailable={one.group: missing})


@dataclass
class Cloud:
    """What runs, and what was done to it in order; each effect may be the last of a run."""

    running: dict[str, str] = field(default_factory=lambda: dict.fromkeys(MIGRATED, FROM))
    hypervisors: dict[str, str] = field(default_factory=lambda: dict.fromkeys(HYPERVISORS, FROM))
    since: dict[str, str] = field(default_factory=lambda: dict.fromkeys(PINNED, ""))
    data: str = str(pairs.STEPS[FROM].nova)
    silent: set[str] = field(default_factory=set)
    unfinished: set[str] = field(default_factory=set)
    fails: set[str] = field(default_factory=set)  # services whose migration fails
    broken: set[str] = field(default_factory=set)  # of MariaDB and RabbitMQ, what does not start
    corrected: set[str] = field(default_factory=set)  # of them, those whose artifact was corrected
    published: set[str] = field(default_factory=set)  # of them, those whose corrected artifact the seed serves
    done: list[str] = field(default_factory=list)
    lives: int = 1000  # effects until the run is killed

    def reset(self, lives: int) -> None:
        """Be as new, for a run that ends after ``lives`` effects."""
        vars(self).update(vars(Cloud(lives=lives)))

    def effect(self, what: str) -> None:
        """Write down what was done; then the run may be gone."""
        self.done.append(what)
        self.tick()

    def tick(self) -> None:
        """End the run if its time has come."""
        self.lives -= 1
        if self.lives == 0:
            raise KilledRun

    def facts(self, plan: Plan | None = None, *_: object) -> ReleaseFacts:
        """Return what runs; without ``plan``, the site file has all of it."""
        named = {one.name for one in plan.openstack.releases} if plan else {*self.running}
        return ReleaseFacts(
            running={name: frozenset((release,)) for name, release in self.running.items() if name in named},
            retired={name: frozenset((release,)) for name, release in self.running.items() if name not in named},
            lacking=frozenset({*named, *self.running} & {*MIGRATED} - self.running.keys()),
            unfinished=frozenset(self.unfinished), since=dict(self.since),
            services=() if "mariadb" in self.broken else tuple(self.services()),
            hypervisors=self._named(plan), data=self.data,
            unknown={name: StatusRow(name=f"what {name} has", state="unknown", what="no member is Ready",
                                     facts={"later": True}) for name in sorted(self.broken)},
        )  # fmt: skip

    def _named(self, plan: Plan | None) -> frozenset[str]:
        """Return the hypervisors of the site file."""
        return (
            frozenset(name for name, one in plan.hosts.items() if "hypervisor" in one.roles)
            if plan
            else frozenset(self.hypervisors)
        )

    def services(self, *_: object) -> list[ReportedService]:
        """Return the records of nova-compute, and of a conductor; without RabbitMQ, nobody reports."""
        made = [(name, "nova-compute", release) for name, release in self.hypervisors.items()]
        return [
            ReportedService(
                service="nova", number=number, host=host, binary=binary, version=pairs.STEPS[release].nova,
                silent=600 if host in self.silent or "rabbitmq" in self.broken else 5,
            )
            for number, (host, binary, release) in enumerate([*made, ("pod", "nova-conductor", self.running["nova"])])
        ]  # fmt: skip

    def look(self, run: ReleaseUpgrade) -> ReleaseCheck:
        """Return what the judge says; no part but the release's."""
        return self.check(run.plan, target=run.target)

    def check(self, plan: Plan, *, target: str, **_: object) -> ReleaseCheck:
        """Return what the judge says; no part but the release's."""
        found = self.facts(plan)
        before = sorted({*self.running.values()})
        return ReleaseCheck(before=tuple(before), parts={"release": judge.rows(found, target)}, facts=found)

    def publish(self) -> None:
        """Make and publish artifacts."""
        self.published |= self.corrected
        self.tick()

    def roll(self, plan: Plan, only: Collection[str] = ()) -> None:
        """Roll out one service after the other, none after one that failed."""
        for name, _ in one_by_one((one.name, one.needs) for one in plan.openstack.releases):
            if only and name not in only:
                continue
            if name in self.broken:
                if name not in self.published:
                    raise RuntimeError(name)
                self.broken.discard(name)
                self.effect(name)
            if self.running.get(name, TO) == TO and name not in self.unfinished:
                continue
            if name in self.fails:
                raise RuntimeError(name)
            self.running[name] = TO
            self.unfinished.discard(name)
            self.effect(name)

    def converge(self, batch: tuple[str, ...]) -> None:
        """Bring the hosts of a batch to the release."""
        for name in batch:
            if self.hypervisors[name] != TO:
                self.hypervisors[name] = TO
                self.effect(name)

    def restart(self, _api: object, _namespace: str, names: tuple[str, ...], begun: str, **_: object) -> None:
        """Restart workloads."""
        for name in names:
            self.since[name] = begun
        if names:
            self.effect("restart")

    def forget(self, *_: object) -> None:
        """Delete the job of a former step to the release, and with it its word."""
        self.data = "" if self.data == str(pairs.STEPS[TO].nova) else self.data

    def migrate(self, *_: object, **__: object) -> None:
        """Migrate Nova's data."""
        self.data = str(pairs.STEPS[TO].nova)
        self.effect("data")


def tasks() -> Iterator[str]:
    """Yield what the playbook does once it has decided, in order: steps, "first", "rollout", tasks of the role."""
    for play in yaml.safe_load((COLLECTION / "playbooks/openstack_upgrade.yml").read_text()):
        for task in play.get("tasks", ()):
            if STEP in task:
                yield task[STEP]["step"]
            elif ROLLOUT in task and "openstack_upgrade_due" in task["when"]:
                yield "first" if "only" in task[ROLLOUT] else "rollout"
            elif (role := task.get("ansible.builtin.import_role")) and role["tasks_from"] not in ("silence", "pull"):
                yield role["tasks_from"]


def run(cloud: Cloud, plan: Plan, **more: Any) -> list[str]:
    """Run the verb as the playbook does; return what was said."""
    said: list[str] = []
    asked = ReleaseUpgrade(plan=plan, say=said.append, password="", **more)
    later = ReleaseUpgrade(plan=plan, say=said.append, password="", said=more.get("said", {}))  # knows no consent
    found: dict[str, Any] = {}
    moved: dict[str, Any] = {}
    for task in tasks():
        if task == "check":
            found = asked.check(cloud.look(asked))
            if found["due"]:
                cloud.publish()
        elif task == "verify":
            said.append(later.verify()["msg"])
        elif task == "back":
            asked.back()
        elif (
            not found["due"] or (task == "begin" and found["open"]) or (task in ("first", "ask") and not found["first"])
        ):
            continue
        elif task in ("first", "rollout"):
            cloud.roll(plan, found["first"] if task == "first" else ())
        elif task == "release":
            for batch in moved["hypervisors"]:
                cloud.converge(batch)
                if lacking := later.joined(batch)["lacking"]:
                    later.lost(lacking)
        elif task == "move":
            moved = asked.move()
            cloud.tick()
        elif task != "release_stage":
            getattr(later, task)()
            cloud.tick()  # killed when the step had ended
    assert found["back"] or not left(plan, cloud.facts(plan), begun=next(iter(cloud.since.values()))).lines()
    return said

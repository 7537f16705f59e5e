"""What speaks against a step of OpenStack's release: rows, from facts alone. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from ...module_utils._base.text import few
from ..rollout.gate import pairs
from ..status.rows import StatusRow, run_layer, spoken_age
from .facts import MARIADB, RABBITMQ, ReleaseFacts, ReportedService

COMPUTE, SCHEDULER = "nova-compute", "cinder-scheduler"
GONE = 3600  # seconds of silence after which a record is of a host that is gone
_ALIVE = 180  # a service reports every ten seconds; a busy one may be late
BY_HAND = "nova-manage db online_data_migrations in a pod of nova-conductor, until it ends with code 0"
# Codes that accept a row: the verb's openstack_upgrade_force. What has none stops every step.
GONE_RECORDS, DOWN, DATA, QUEUES = ({"code": one} for one in ("gone-records", "hypervisors-down", "data", "queues"))
_STEP = "playbook groundup.cloud.hypervisor"
ADDED = "added"  # fact of a row that a step under way judges by what was there when it began


def rows(facts: ReleaseFacts, target: str) -> list[StatusRow]:
    """Return what was looked at before ``target``, each with its state and remedy."""
    told = [*_step(facts, target), *_file(facts, target), *facts.unknown.values()]
    told += [*_services(facts, target), *_gone(facts), *_down(facts)]
    return [*told, *(row(facts) for name, row in ((MARIADB, _data), (RABBITMQ, _queues)) if name not in facts.unknown)]


def _step(facts: ReleaseFacts, target: str) -> Iterator[StatusRow]:
    """Yield the step from each release that runs; a killed upgrade leaves two."""
    for before in sorted({one for found in facts.running.values() for one in found}):
        names = [name for name, found in sorted(facts.running.items()) if before in found]
        name = f"{before} to {target}"
        if refused := pairs.refusal(before, target):
            yield StatusRow(name=name, state="broken", what=refused[0], remedy=refused[1])
        else:
            yield StatusRow(name=name, state="ok", what=f"{few(names)} run {before}")


def _file(facts: ReleaseFacts, target: str) -> Iterator[StatusRow]:
    """Yield services that left the site file and run on, which nobody would upgrade; and those that came to it."""
    for name, found in sorted(former(facts.retired, target).items()):
        remove, keeps = json.dumps({"rollout_remove": [name]}), ", ".join(sorted(found))
        yield StatusRow(
            name=name, state="broken", what=f"is not in openstack.services, and its pods keep {keeps}",
            remedy="write it there again. Before a step, and after one, ansible-playbook groundup.cloud.openstack "
            f"-e '{remove}' removes it",
        )  # fmt: skip
    for name in sorted(facts.untold):
        yield StatusRow(
            name=name, state="broken", what="the tags of its images do not tell their release", facts={ADDED: True},
            remedy="write into supply.images references whose tags begin with the release that runs, as in "
            "name:2026.1-7, and run groundup.cloud.openstack",
        )  # fmt: skip
    for name in sorted(facts.lacking):
        yield StatusRow(
            name=name, state="broken", what="is in openstack.services, and was never rolled out", facts={ADDED: True},
            remedy="take it out until the step has ended; or set openstack.release back, and run the playbook "
            "groundup.cloud.site first",
        )  # fmt: skip


def former(running: Mapping[str, frozenset[str]], target: str) -> dict[str, frozenset[str]]:
    """Return those of ``running`` of which something has another release than ``target``, with these."""
    return {name: found - {target} for name, found in running.items() if found - {target}}


def _services(facts: ReleaseFacts, target: str) -> Iterator[StatusRow]:
    ours = [one for one in facts.services if one.service == "nova"]
    oldest = pairs.oldest_service(target)
    # A hypervisor that is down comes back as it was; the record of another that is silent is of a pod that has ended.
    counted = [one for one in ours if one.binary == COMPUTE or is_up(one)]
    older = [one for one in counted if 0 < one.version < oldest]
    if older:
        yield StatusRow(
            name="Nova's services", state="broken",
            what=f"Nova of {target} starts with version {oldest} and later: {few(_named(older))}",
            remedy=f"bring them to {pairs.STEPS[target].oldest} first: {_STEP}; retire those that are gone",
        )  # fmt: skip
    elif counted:
        versions = ", ".join(str(one) for one in sorted({one.version for one in counted}))
        what = f"{len(counted)} of version {versions}; {target} starts with {oldest or 'an unknown version'} and later"
        yield StatusRow(name="Nova's services", state="ok" if oldest else "unknown", what=what)


def _gone(facts: ReleaseFacts) -> Iterator[StatusRow]:
    """Yield records of hosts that are gone: they keep what services say to each other at the oldest form."""
    pods = sorted(one.host for one in facts.services if one.binary == SCHEDULER and one.silent > GONE)
    if pods:
        yield StatusRow(
            name=SCHEDULER, state="warning",
            what=f"records of former pods, which pin the versions of messages: {few(pods)}",
            remedy=f"kubectl --namespace {facts.namespace} exec deployment/cinder-scheduler -- sh -c "
            f"'for host in {' '.join(pods)}; do cinder-manage service remove {SCHEDULER} $host; done'",
        )  # fmt: skip
    for one in facts.services:
        away = one.binary == COMPUTE and one.host not in facts.hypervisors
        lost = one.silent > GONE and (one.binary == COMPUTE or (one.service == "cinder" and one.binary != SCHEDULER))
        if away or lost:
            why = "no hypervisor of the site file" if away else f"silent for {spoken_age(one.silent)}"
            remedy = (
                f"cinder-manage service remove {one.binary} {one.host}, in a pod of cinder-scheduler"
                if one.service == "cinder"
                else f"ansible-playbook groundup.cloud.retire -e machine={one.host}, or bring it back"
            )
            name = f"{one.binary} of {one.host}"
            yield StatusRow(name=name, state="broken", what=why, remedy=remedy, facts=GONE_RECORDS)


def is_up(one: ReportedService) -> bool:
    """Return whether a service has reported of late."""
    return 0 <= one.silent < _ALIVE


def _down(facts: ReleaseFacts) -> Iterator[StatusRow]:
    """Yield hypervisors that do not report and may come back: they keep the former release, and Nova's data wait."""
    computes = [one for one in facts.services if one.binary == COMPUTE and one.host in facts.hypervisors]
    if down := sorted(one.host for one in computes if not is_up(one) and one.silent <= GONE):
        yield StatusRow(
            name="hypervisors", state="broken", what=f"nova-compute does not report: {few(down)}", facts=DOWN,
            remedy="bring them back (on the host: journalctl -n 50 -u nova-compute), or retire them",
        )  # fmt: skip


def _data(facts: ReleaseFacts) -> StatusRow:
    newest = max((one.version for one in facts.services if one.service == "nova"), default=0)
    if not newest:
        return StatusRow(name="Nova's data", state="ok", what="there is no Nova")
    if facts.data == str(newest):
        return StatusRow(name="Nova's data", state="ok", what=f"migrated to version {newest}")
    if not facts.scheduled:
        return StatusRow(
            name="Nova's data", state="warning", what="these charts migrate no data, and nothing says that they were",
            remedy=BY_HAND,
        )  # fmt: skip
    what = f"the last job said {facts.data!r}" if facts.data else "nothing says that they were migrated"
    return StatusRow(
        name="Nova's data", state="broken", what=f"{what}, and Nova is of version {newest}",
        remedy=f"kubectl --namespace {facts.namespace} create job --from=cronjob/nova-data-migrations "
        "data-migrations-$(date +%s), and look at its log",
        facts=DATA,
    )  # fmt: skip


def _queues(facts: ReleaseFacts) -> StatusRow:
    if not facts.classic:
        return StatusRow(name="queues", state="ok", what="every durable queue is a quorum queue")
    return StatusRow(
        name="queues", state="broken", what=f"not replicated: {few(facts.classic)}",
        remedy=f"delete what nobody uses (rabbitmqctl delete_queue), then {run_layer('openstack')}",
        facts=QUEUES,
    )  # fmt: skip


def saved(sets: Sequence[StatusRow], hours: float) -> StatusRow:
    """Return the row of the newest backup set. ``sets``: its rows of the state of the site."""
    run = run_layer("backup")
    bad = [one for one in sets if one.state == "broken"]
    if bad:
        return StatusRow(name="newest set", state="broken", what=f"{bad[0].name}: {bad[0].what}", remedy=run)
    ages = [one.facts["age"] for one in sets if "age" in one.facts]
    if not ages:
        return StatusRow(name="newest set", state="broken", what="there is none: nothing could be restored", remedy=run)
    what, late = f"{spoken_age(max(ages))} old", max(ages) > hours * 3600
    if late:
        what = f"{what}; what was written since would be lost by a restore"
    return StatusRow(name="newest set", state="broken" if late else "ok", what=what, remedy=run if late else "")


def _named(services: list[ReportedService]) -> list[str]:
    return [f"{one.binary} of {one.host} is {one.version}" for one in services]

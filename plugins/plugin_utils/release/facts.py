"""What runs, before a step of OpenStack's release: releases by their images, service records, queues. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ..backup.sets import mariadb
from ..errors import GroundupError
from ..helm import records
from ..kube.client import Api
from ..kube.types import Object, resource_path
from ..kube.workloads import is_ready
from ..plan.types import Plan
from ..rollout.gate import pairs
from ..rotate import rabbitmq
from ..rotate.accounts import Credential
from ..services import RECORDS, cinder, nova
from ..status.rows import StatusRow, guarded
from . import restart

# A service's own column of when it last reported: Nova's APIs never do, they are no part of the message queue.
_TABLES = {
    nova.SERVICE.name: (nova.SERVICE.databases["oslo_db_cell1"], "version", "last_seen_up"),
    cinder.SERVICE.name: (cinder.SERVICE.name, "0", "updated_at"),
}
_SQL = (
    "SELECT '{service}', id, host, `binary`, {version}, IFNULL(TIMESTAMPDIFF(SECOND, {seen}, UTC_TIMESTAMP()), -1) "
    "FROM {database}.services WHERE deleted = 0;"
)
_DATA = "application=nova,component=data-migrations"
MARIADB, RABBITMQ = "mariadb", "rabbitmq"  # releases of Helm that are asked for records of services, and for queues
LATER = "later"  # fact of a row that a step under way asks again once that release is rolled out
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedService:
    """A record that a service keeps of itself in its database."""

    service: str  # nova, cinder
    number: int
    host: str
    binary: str
    version: int  # of Nova's services; 0: it has none
    silent: int  # seconds since it last reported; -1: it never did


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    running: dict[str, frozenset[str]]  # release of Helm -> OpenStack releases of its images
    retired: dict[str, frozenset[str]] = field(default_factory=dict)  # the same of services that left the site file
    untold: frozenset[str] = frozenset()  # releases of Helm of OpenStack's services whose images tell none
    lacking: frozenset[str] = frozenset()  # releases of Helm of the site file that were never rolled out
    services: tuple[ReportedService, ...] = ()
    namespace: str = "openstack"
    hypervisors: frozenset[str] = frozenset()  # of the site file
    scheduled: bool = True  # whether the charts migrate Nova's data by themselves
    data: str = ""  # what the last job of Nova's data said: version, "not yet"; "": there was none
    unfinished: frozenset[str] = frozenset()  # releases of Helm whose last upgrade or installation was interrupted
    since: dict[str, str] = field(default_factory=dict)  # Deployment/x of Nova, Cinder -> begin of the step it is of
    classic: tuple[str, ...] = ()  # durable queues that are no quorum queues, as vhost/name
    unknown: dict[str, StatusRow] = field(default_factory=dict)  # releases of Helm that do not answer -> why


def look(plan: Plan, api: Api, password: str) -> ReleaseFacts:
    """Return what runs; who does not answer is `unknown`, and what it would have said is nowhere.

    ``password``: of RabbitMQ's administrator. Raises GroundupError, ApiError for the Kubernetes API.
    """
    space = plan.openstack.namespace
    ours = {(one.namespace, one.name) for one in plan.openstack.releases if not one.is_extra}
    live = records.read(api, {namespace for namespace, _ in ours})
    running = {one.name: pairs.releases(one.objects) for key, one in live.items() if key in ours}
    left = [one for key, one in live.items() if key not in ours and one.name in RECORDS]
    pods = api.get(resource_path("v1", "pods", namespace=space), labelSelector=_DATA).get("items") or ()
    unknown: dict[str, StatusRow] = {}
    here = running.keys() & {*plan.openstack.services}

    def asked(name: str, what: str, ask: Callable[[], Iterable[_Answer]]) -> tuple[_Answer, ...]:
        found: list[_Answer] = []

        def answers() -> list[StatusRow]:
            found.extend([*ask()])
            return []

        for row in guarded(what, answers):
            unknown[name] = replace(row, facts={LATER: True})
        return tuple(found)

    return ReleaseFacts(
        running={name: found for name, found in running.items() if found},
        retired={one.name: found for one in left if (found := pairs.releases(one.objects))},
        untold=frozenset(name for name, found in running.items() if not found and RECORDS[name].of_openstack),
        lacking=frozenset(name for _, name in ours - live.keys()),
        unfinished=frozenset(live[key].name for key in ours & live.keys() if live[key].status != "deployed"),
        services=asked(MARIADB, "records of services", lambda: _recorded(services(plan, api), here)),
        namespace=space,
        hypervisors=frozenset(name for name, host in plan.hosts.items() if "hypervisor" in host.roles),
        scheduled=plan.openstack.charts == "builtin",
        data=said(pods),
        since=restart.since(api, [one for key, one in live.items() if key in ours]),
        classic=asked(RABBITMQ, "queues", lambda: classic(_queues(api, space, password)))
        if RABBITMQ in running
        else (),
        unknown=unknown,
    )


def services(plan: Plan, api: Api) -> list[ReportedService]:
    """Return the records of Nova's and Cinder's services. Raises GroundupError, ApiError."""
    tables = {name: one for name, one in _TABLES.items() if name in plan.openstack.services}
    if not tables:
        return []
    sql = " ".join(
        _SQL.format(service=name, database=database, version=version, seen=seen)
        for name, (database, version, seen) in tables.items()
    )
    member = mariadb.choose(api, plan.openstack.namespace)
    done = member.run(mariadb.client(sql))
    if done.code:
        raise GroundupError(
            f"the records of services cannot be read: {done.stderr.strip()[-200:]}", where=member.name,
            why="a service that is too old for the next release would not be seen",
            remedy="run the playbook groundup.cloud.openstack, tag verify: it says what is wrong with the database",
        )  # fmt: skip
    return parse(done.stdout)


def _recorded(found: list[ReportedService], running: Collection[str]) -> list[ReportedService]:
    """Return ``found``. Raises GroundupError when Nova, one of the services ``running``, has no record at all."""
    if nova.SERVICE.name in running and not any(one.service == nova.SERVICE.name for one in found):
        raise GroundupError(
            "Nova runs, and has no record of any service", where="table services of its database",
            why="its hypervisors would count as new, and as none",
            remedy="if the database was lost, restore it; else see the log of nova-conductor, which writes its record",
        )  # fmt: skip
    return found


def parse(text: str) -> list[ReportedService]:
    """Return the records in the client's answer."""
    rows = (line.split("\t") for line in text.splitlines())
    return [
        ReportedService(
            service=service, number=int(number), host=host, binary=binary, version=int(version), silent=int(silent)
        )
        for service, number, host, binary, version, silent in rows
    ]


def _queues(api: Api, namespace: str, password: str) -> list[dict[str, object]]:
    pods = api.get(resource_path("v1", "pods", namespace=namespace), labelSelector=rabbitmq.SELECTOR)["items"]
    ready = sorted(str(pod["metadata"]["name"]) for pod in pods if is_ready(pod))
    if not ready:
        raise rabbitmq.failed("no member is Ready", f"namespace {namespace}, pods {rabbitmq.SELECTOR}")
    admin = Credential("rabbitmq", password)
    return rabbitmq.Queue(lambda: api.connect(namespace, ready[0], rabbitmq.PORT), admin, ready[0]).queues()


def classic(queues: Iterable[dict[str, object]]) -> Iterator[str]:
    """Yield durable queues of another type than quorum, those of one connection left out."""
    for one in queues:
        if one.get("durable") and not one.get("exclusive") and one.get("type") not in ("quorum", "stream"):
            yield f"{one.get('vhost')}/{one.get('name')}"


def said(pods: Iterable[Object]) -> str:
    """Return what the newest pod of Nova's data that has ended wrote as its last word."""
    ended = [
        (state["finishedAt"], str(state.get("message", "")))
        for pod in pods
        for container in (pod.get("status") or {}).get("containerStatuses") or ()
        if (state := (container.get("state") or {}).get("terminated")) and state.get("exitCode") == 0
    ]
    return max(ended)[1] if ended else ""

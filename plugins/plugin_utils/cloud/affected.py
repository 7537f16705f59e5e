"""Whom a dead hypervisor concerns: its instances by project, and the projects' people; for people and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...module_utils._base.text import few, gauges, label, printable
from .connection import said
from .failure import Suspect
from .resources.api import CloudApi, HttpException

DOWN = "groundup_hypervisor_down_instances"
LOOKED = "groundup_hypervisor_looked_timestamp_seconds"
_HELP = {DOWN: "Instances of a project that are down with their hypervisor.",
         LOOKED: "When it was last asked which hypervisors died."}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedInstance:
    """One instance on a dead hypervisor."""

    id: str
    name: str
    status: str  # what Nova has
    disks: str  # outlive it, are on it, are not known


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedProject:
    """A project with instances there. Texts of tenants are made printable."""

    id: str
    name: str = ""
    domain: str = ""
    description: str = ""
    people: tuple[str, ...] = ()  # users with a role, with their address if Keystone has it
    instances: tuple[AffectedInstance, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedHypervisor:
    """One that died, or may have."""

    host: str
    since: str
    state: str  # evacuates, told, evacuated
    witnesses: Mapping[str, str]
    against: tuple[str, ...]  # why it is not evacuated by itself
    remedy: str
    projects: tuple[AffectedProject, ...]


def rows(api: CloudApi, found: Sequence[Suspect], against: Mapping[str, Sequence[str]]) -> list[FailedHypervisor]:
    """Return a row a suspect. Raises what the cloud says, but of projects that are gone."""
    return [_row(api, one, tuple(against[one.host.name])) for one in found]


def _row(api: CloudApi, one: Suspect, against: tuple[str, ...]) -> FailedHypervisor:
    of_project: dict[str, list[AffectedInstance]] = {}
    for server in one.host.servers:
        of_project.setdefault(str(server["project_id"]), []).append(
            AffectedInstance(
                id=str(server["id"]),
                name=printable(str(server["name"])),
                status=str(server["status"]),
                disks="outlive it" if server in one.leaving else "are on it" if one.sure else "are not known",
            )
        )
    return FailedHypervisor(
        host=one.host.name,
        since=one.since,
        state="evacuated" if one.done else "told" if against else "evacuates",
        witnesses={each.name: f"{each.word}: {printable(each.said)}" for each in one.witnesses},
        against=tuple(map(printable, against)),
        remedy=_remedy(one),
        projects=tuple(
            replace(project(api, identity), instances=tuple(instances))
            for identity, instances in sorted(of_project.items())
        ),
    )


def _remedy(one: Suspect) -> str:
    def run(verb: str) -> str:
        return f"ansible-playbook groundup.cloud.{verb} -e machine={one.host.name}"

    if one.begun and not one.silent:
        return f"it answers again: {run('undrain')}"
    if one.done:
        return f"when it is back: {run('undrain')}; when it never comes back: {run('retire')}"
    return f"bring it back, or see that it is off: {run('evacuate')} --check"


def project(api: CloudApi, identity: str) -> AffectedProject:
    """Return a project without its instances; what Keystone does not say about it, it does not have."""
    try:
        return _project(api, identity)
    except HttpException as error:  # such as of a directory that does not answer: instances are told without it
        return AffectedProject(id=identity, people=(printable(f"not known: {said(error)}"),))


def _project(api: CloudApi, identity: str) -> AffectedProject:
    found = (api.call("identity", "GET", f"/projects/{identity}", absent=True) or {}).get("project")
    if not found:
        return AffectedProject(id=identity)
    domain = (api.call("identity", "GET", f"/domains/{found['domain_id']}", absent=True) or {}).get("domain") or {}
    assigned = api.all("identity", f"/role_assignments?scope.project.id={identity}&effective", "role_assignments")
    users = sorted({str(one["user"]["id"]) for one in assigned if "user" in one})
    return AffectedProject(
        id=identity, name=printable(str(found["name"])), domain=printable(str(domain.get("name") or "")),
        description=printable(str(found.get("description") or "")),
        people=tuple(filter(None, (_person(api, one) for one in users))),
    )  # fmt: skip


def _person(api: CloudApi, identity: str) -> str:
    found = (api.call("identity", "GET", f"/users/{identity}", absent=True) or {}).get("user") or {}
    name, mail = str(found.get("name") or ""), str(found.get("email") or "")
    return printable(f"{name} <{mail}>" if mail else name)


def summary(site: str, found: Sequence[FailedHypervisor]) -> str:
    """Return the verdict in one line."""
    words = "; ".join(f"{one.host}: {one.state}" for one in found)
    return f"{site}: {words or 'every hypervisor is heard'}"


def table(site: str, found: Sequence[FailedHypervisor]) -> str:
    """Return the report to read."""
    lines = list[str]()
    for one in found:
        lines.append(f"{one.host}  {one.state}, last heard {one.since or 'never'}")
        lines += [f"  {name} {word}" for name, word in one.witnesses.items()]
        lines += [f"  not evacuated by itself: {why}" for why in one.against if one.state == "told"]
        for each in one.projects:
            named = f"{each.name} ({each.id}), domain {each.domain}" if each.name else each.id
            lines.append(f"  project {named}{f': {each.description}' if each.description else ''}")
            lines.append(f"    tell {few(each.people, most=20) or 'nobody: no user has a role in it'}")
            lines += [f"    {inst.name} ({inst.id})  {inst.status}; its disks {inst.disks}" for inst in each.instances]
        lines.append(f"  remedy: {one.remedy}")
    return "\n".join([*lines, *([""] if lines else []), summary(site, found)])


def document(site: str, time: str, found: Sequence[FailedHypervisor]) -> dict[str, Any]:
    """Return the report as plain data, for JSON."""
    state = "failed" if found else "clean"
    return {"site": site, "time": time, "state": state, "summary": summary(site, found),
            "hypervisors": [asdict(one) for one in found]}  # fmt: skip


def metrics(found: Sequence[FailedHypervisor], *, now: float) -> str:
    """Return the number of instances that are down by hypervisor and project, for the node exporter; no person."""
    lines = [
        f'{DOWN}{{hypervisor="{one.host}",project="{label(each.name or each.id)}",project_id="{label(each.id)}"}} '
        f"{len(each.instances)}"
        for one in found for each in one.projects
    ]  # fmt: skip
    return gauges({LOOKED: (_HELP[LOOKED], [f"{LOOKED} {now:.0f}"]), DOWN: (_HELP[DOWN], lines)})

"""The cloud after a restore, against what is there: told, never deleted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from ...errors import GroundupError
from ...kube.client import Api
from ...kube.types import Object, resource_path
from ...kube.workloads import is_ready, owner_of
from ...plan.types import Plan
from ...services.neutron import sync_command

_AGREED = re.compile(r"Could not load neutron\.cmd\.ovn|Host \S+ found both in OVN SB DB and Neutron")
_SYNC = 600.0  # seconds
# Arguments: a package, then ids of migrations. It prints those that the package has no migration of.
_HEADS = """\
import importlib.util, pathlib, re, sys
root = pathlib.Path(importlib.util.find_spec(sys.argv[1]).submodule_search_locations[0])
texts = [one.read_text(errors="replace") for one in root.rglob("*.py") if "versions" in one.parts]
known = {name for text in texts for name in re.findall(r"^revision\\s*(?::[^=]*)?=\\s*['\\"]([^'\\"]+)", text, re.M)}
print(*(name for name in sys.argv[2:] if name not in known))
"""


def unknown_heads(api: Api, namespace: str, heads: Mapping[str, str]) -> dict[str, str]:
    """Return those of ``heads`` (by database) that the image of the service that runs has no migration of.

    A service of which no pod runs is not asked. Raises ApiError.
    """
    found: dict[str, str] = {}
    for database, head in heads.items():
        service = database.partition("_")[0]
        pods = [one for one in _pods(api, namespace, f"application={service}") if is_ready(one)]
        for pod in pods[:1]:
            named = [one for one in head.split(",") if one != "NULL"]  # former sets: a table without a row
            argv = ["python3", "-c", _HEADS, service, *named]
            done = api.execute(namespace, pod["metadata"]["name"], argv)
            if done.code == 0 and done.stdout.strip():
                found[database] = ",".join(done.stdout.split())
    return found


def compare(plan: Plan, api: Api, domains: Mapping[str, Sequence[str]]) -> list[str]:
    """Return how Nova, Placement and Neutron differ from hypervisors, each other and OVN; a line each."""
    lines = []
    names = {one.name for one in plan.openstack.releases}
    if "nova" in names:
        lines += _asked("Nova and Placement", lambda: _compute(plan, domains))
    if "neutron" in names:
        lines += _asked("Neutron", lambda: _network(api, plan.openstack.namespace))
    return lines


def _asked(what: str, ask: Callable[[], list[str]]) -> list[str]:
    from ...cloud.connection import ERRORS  # late: only this step has a client of the cloud

    try:
        return ask()
    except (GroundupError, *ERRORS) as error:
        return [f"{what}: not compared: {error.what if isinstance(error, GroundupError) else error}"]


def _compute(plan: Plan, domains: Mapping[str, Sequence[str]]) -> list[str]:
    from ...cloud.connection import of_site
    from ...cloud.placement import call

    cloud = of_site(plan)
    hosts = {str(one["id"]): str(one["compute_host"] or "") for one in cloud.compute.servers(all_projects=True)}
    allocations: dict[str, set[str]] = {}
    for provider in call(cloud, "get", "/resource_providers")["resource_providers"]:
        held = call(cloud, "get", f"/resource_providers/{provider['uuid']}/allocations")["allocations"]
        allocations[str(provider["name"])] = set(held)
    return [*instances(hosts, domains), *placement(hosts, allocations)]


def instances(rows: Mapping[str, str], domains: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield how Nova's instances (id -> host, "" for none) differ from those on hypervisors that answered."""
    for host, found in sorted(domains.items()):
        for one in sorted(set(found) - rows.keys()):
            yield f"{host} has the instance {one}, which is in no database (made since the backup): it runs on"
        for one in sorted(set(found) & rows.keys()):
            if rows[one] != host:
                yield f"{host} has the instance {one}, which Nova has on {rows[one] or 'no host'}"
    everywhere = {one for found in domains.values() for one in found}
    for one, host in sorted(rows.items()):
        if host in domains and one not in everywhere:
            yield f"Nova has the instance {one} on {host}, which has it not (deleted or moved since the backup)"


def placement(rows: Mapping[str, str], allocations: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield how Placement's allocations (provider -> consumers) differ from Nova's instances."""
    for provider, consumers in sorted(allocations.items()):
        for one in sorted(set(consumers) - rows.keys()):
            yield f"Placement allots {provider} to {one}, which is no instance (nova-manage placement audit)"
    held = {one for consumers in allocations.values() for one in consumers}
    for one, host in sorted(rows.items()):
        if host and one not in held:
            yield f"Placement has nothing of the instance {one} on {host} (nova-manage placement heal_allocations)"


def differences_of_networks(log: str) -> list[str]:
    """Return what Neutron's comparison with OVN says, without what it says of a cloud where both agree."""
    said = (
        line.split("] ", 1)[-1].strip() for line in log.splitlines() if " WARNING " in line and "ovn_db_sync" in line
    )
    return [line for line in said if not _AGREED.match(line)]


def _network(api: Api, namespace: str) -> list[str]:
    where, _, command = sync_command(namespace, "log").partition(" -- ")
    deployment, argv = where.rpartition("/")[2], shlex.split(command)
    pods = [
        one for one in _pods(api, namespace, "application=neutron")
        if is_ready(one) and (owner := owner_of(one)) and owner.name == deployment
    ]  # fmt: skip
    if not pods:
        return [f"Neutron: not compared with OVN: no pod of {deployment} is Ready"]
    done = api.execute(namespace, pods[0]["metadata"]["name"], argv, timeout=_SYNC)
    told = differences_of_networks(done.stderr + done.stdout)
    failed = [f"Neutron: the comparison with OVN ended with code {done.code}"] if done.code else []
    return [*failed, *(f"Neutron and OVN: {line}" for line in told)]


def _pods(api: Api, namespace: str, selector: str) -> list[Object]:
    found: list[Any] = api.get(resource_path("v1", "pods", namespace=namespace), labelSelector=selector)["items"]
    return found

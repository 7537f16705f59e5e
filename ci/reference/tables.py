"""Tables in the documentation, from records: layers, systems, ports, checks, sizes, services, secrets, pools, keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.checks import CHECKS
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import LAYERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.ports import PORTS, Clients
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.roles import ROLES, Role
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.runtime import NOT_OFFERED
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.scales import SCALES
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.storage import (
    CLIENTS,
    POOLS,
    ClientRecord,
    PoolRecord,
)  # fmt: skip
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.systems import SYSTEMS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.input.field_changes import FIELD_CHANGES
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.layout.profiles import HARDWARE
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.ceph import placement_groups
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS, needs
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.mariadb import WEIGHTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.memcached import MEMORY
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import WORKERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.secrets import secrets

from . import monitoring

_OURS = "groundup.cloud."
_WHO: dict[Clients, str] = {
    "anyone": "users, and every host",
    "hosts": "every host",
    "nodes": "nodes of the cluster",
    "control": "control hosts",
    "monitoring": "the monitoring host",
    "itself": "the host itself (loopback)",
}


def page(path: str, root: Path) -> str:
    """Return the page ``path`` with fresh tables, each between ``<!-- name -->`` and ``<!-- /name -->``."""
    text = (root / path).read_text(encoding="utf-8")
    for name, rows in PAGES[path].items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        header, *lines = rows(root)
        fresh = [header, "|---" * (header.count("|") - 1) + "|", *lines]
        text = text.partition(start)[0] + start + "".join(f"{line}\n" for line in fresh) + end + text.partition(end)[2]
    return text


def layers(root: Path) -> Iterator[str]:
    """Yield the table of layers."""
    modules = {path.stem for path in (root / "plugins/modules").glob("*.py")}
    yield "| layer | starts after | runs on | roles | modules | library | owns |"
    for name, layer in LAYERS.items():
        roles, used = _called(root, root / "playbooks" / f"{name}.yml")
        cells = (
            name, ", ".join(layer.needs) or "-", f"`{layer.group}`", _code(roles),
            _code([one for one in used if one in modules]), layer.library, layer.owns,
        )  # fmt: skip
        yield f"| {' | '.join(cells)} |"


def checks(_: Path) -> Iterator[str]:
    """Yield the table of the checks of preflight."""
    yield "| check | holds a host to |"
    yield from (f"| {name} | {one.says} |" for name, one in CHECKS.items())


def systems(_: Path) -> Iterator[str]:
    """Yield the table of supported systems."""
    yield "| system | architecture | kernel | systemd | Python | containerd | control groups |"
    for one in SYSTEMS.values():
        cells = (
            f"{one.name} ({one.codename})", one.architecture, one.kernel, one.systemd, one.python, one.containerd,
            f"version {one.cgroup}",
        )  # fmt: skip
        yield f"| {' | '.join(cells)} |"


def ports(_: Path) -> Iterator[str]:
    """Yield the table of ports; those that only their own host reaches come last."""
    yield "| port | on | what | who connects |"
    for one in sorted(PORTS.values(), key=lambda record: record.clients == "itself"):
        number = f"IP protocol {one.port}" if one.protocol == "ip" else f"{one.port}/{one.protocol}"
        number = f"{one.port}-{one.last}/{one.protocol}" if one.last else number
        roles = "every host" if len(one.roles) == len(ROLES) else " and ".join(sorted(one.roles)) or "every node"
        roles = "monitoring host" if one.central else roles
        only = f"; with {', '.join(sorted(one.pod_networks))}" if one.pod_networks else ""
        only += f"; with {one.service}" if one.service else ""
        only += f"; with {one.backend} storage" if one.backend else ""
        only += f"; on the {one.network} network" if one.network != "management" else ""
        other = f" (`{one.written}`)" if one.written else ""
        yield f"| {number}{other} | {roles} | {one.what}{only} | {_WHO[one.clients]} |"


def fields(_: Path) -> Iterator[str]:
    """Yield the table of fields of the site file that a version changed, the newest first."""
    yield "| since | field | what | to keep what was |"
    for one in sorted(FIELD_CHANGES, key=lambda one: [-int(part) for part in one.since.split(".")]):
        what = f"{one.happened}: {one.what}" if one.gone else one.what
        keep = f"`{one.write}`" if one.write else "leave it out"
        yield f"| {one.since} | `{one.key.replace('*', '<name>')}` | {what} | {keep} |"


def sizes(_: Path) -> Iterator[str]:
    """Yield the table of machine sizes by role and profile, from what preflight compares."""
    profiles = ("edge", "region")  # a rack has the machines of an edge
    yield "| role | edge, rack | region | room, GiB |"
    for role in ROLES:
        machines = " | ".join(_machine(role, profile) for profile in profiles)
        yield f"| {role} | {machines} | {_room(role)} |"


def inventories(root: Path) -> Iterator[str]:
    """Yield the table of example sites: what the first sentence of each says, and how many machines it has."""
    yield "| site file | profile | machines | what it is |"
    for file in sorted((root / "inventories").glob("*/site.yml")):
        head = file.read_text(encoding="utf-8").partition("\nplugin:")[0]
        says = " ".join(line.lstrip("# ") for line in head.splitlines()[1:])
        plan = make_plan(load_site(file))
        counted = Counter(
            host.roles[0] if len(host.roles) == 1 else "host of several roles" for host in plan.hosts.values()
        )
        machines = ", ".join(f"{number} {role}" for role, number in counted.items())
        profile = load_site(file).profile
        yield f"| `inventories/{file.parent.name}` | {profile} | {machines} | {re.split('[.:]', says)[0]} |"


def scales(_: Path) -> Iterator[str]:
    """Yield the table of what services take, by the smallest machine they run on."""
    yield "| scale | cores and GiB, at least | processes of each API pod | MariaDB's cache, clients | memcached |"
    for name, (cores, memory) in reversed(SCALES.items()):
        least, weight = f"{cores}, {memory}" if cores else "less", WEIGHTS[name]
        database = f"{weight.buffer_pool} MiB, {weight.connections}"
        yield f"| `{name}` | {least} | {WORKERS[name]} | {database} | {MEMORY[name]} MiB |"


def services(_: Path) -> Iterator[str]:
    """Yield the table of services."""
    yield "| name | kind | starts after | public API |"
    for record in RECORDS.values():
        api = f"`https://{record.api.host}.<domain>{record.api.path}`" if record.api else "-"
        after = ", ".join(needs(record)) or "-"
        yield f"| {record.name} | {record.kind} | {after} | {api} |"


def apis(_: Path) -> Iterator[str]:
    """Yield the table of the APIs that tenants ask, by name."""
    yield "| name | type in the catalog | service |"
    found = [
        (api.host, f"`{api.official or api.type}`" if api.in_catalog else "-", record.name)
        for record in RECORDS.values()
        for api in ([record.api] if record.api else []) + list(record.more_apis)
        if not (api.for_hosts or api.for_operators)
    ]
    yield from (f"| `{host}` | {kind} | {name} |" for host, kind, name in sorted(found))


def not_offered(_: Path) -> Iterator[str]:
    """Yield the table of what flavors and images are refused for."""
    yield "| extra spec of a flavor | asks for |"
    for one, what in sorted(NOT_OFFERED.items()):
        yield f"| `{one}` | {what} |"


def names_of_secrets(_: Path) -> Iterator[str]:
    """Yield the table of secrets."""
    yield "| name | what it is |"
    yield from (f"| `{name}` | {what} |" for name, what in secrets().items())


def pools(_: Path) -> Iterator[str]:
    """Yield the table of Ceph's pools, and the placement groups of a site with thirty OSDs."""
    yield "| purpose | holds | share of the data | placement groups of 3 OSDs, of 30 |"
    for purpose, one in POOLS.items():
        groups = ", ".join(str(placement_groups(osds, share=one.share, replicas=3)) for osds in (3, 30))
        only = _only(one)
        yield f"| `{purpose}` | {one.what}{only} | {one.share:.0%} | {groups} |"


def keys(_: Path) -> Iterator[str]:
    """Yield the table of the keys of Ceph's clients."""
    yield "| key (secret) | whose | writes to | reads |"
    for name, one in CLIENTS.items():
        may = f"{_code(list(one.writes))} | {_code(list(one.reads))}"
        only = _only(one)
        yield f"| `client.{name}` (`ceph/client.{name}`) | {one.what}{only} | {may} |"


def _only(one: PoolRecord | ClientRecord) -> str:
    """Return which sites have a pool or key."""
    volumes = f"; with `storage.volumes: {one.volumes}`" if one.volumes else ""
    return f"; with {one.service}" if one.service else volumes


def _machine(role: Role, profile: str) -> str:
    has = HARDWARE[ROLES[role].hardware[profile]]
    disk = ", NVMe" if has.nvme else ""
    return f"{has.cores} cores, {has.memory_gb} GiB, {has.nic_gbps} Gbit/s{disk}"


def _room(role: Role) -> str:
    """Return what the layers write on a machine with this role alone, by directory."""
    sets = [one for layer in LAYERS.values() for one in layer.installs if one.fits((role,), node=ROLES[role].node)]
    return ", ".join(f"{gib} `{place}`" for one in sets for place, gib in one.space.items())


def _called(root: Path, path: Path) -> tuple[list[str], list[str]]:
    """Return the roles a playbook imports, itself or through another, and the modules it and those roles call."""
    roles: dict[str, None] = {}
    modules: dict[str, None] = {}
    for call, name in _calls(yaml.safe_load(path.read_text(encoding="utf-8"))):
        if call == "ansible.builtin.import_playbook":
            more = _called(root, root / "playbooks" / f"{name}.yml")
            roles |= dict.fromkeys(more[0])
            modules |= dict.fromkeys(more[1])
        elif call == "ansible.builtin.import_role":
            roles[name] = None
            for tasks in sorted((root / "roles" / name / "tasks").glob("*.yml")):
                modules |= {one: None for one, _ in _calls(yaml.safe_load(tasks.read_text(encoding="utf-8")))}
        else:
            modules[call] = None
    return list(roles), list(modules)


def _calls(tasks: Any) -> list[tuple[str, str]]:
    """Return what plays or tasks call, each with the name of the playbook or role it imports."""
    found = []
    for item in tasks or ():
        for key, value in item.items():
            if key in ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always"):
                found += _calls(value)
            elif key == "roles":
                found += [("ansible.builtin.import_role", name.removeprefix(_OURS)) for name in value]
            elif key.startswith(("ansible.builtin.import_", _OURS)):
                named = value.get("name", "") if isinstance(value, dict) else value
                found.append((key.removeprefix(_OURS), str(named).removeprefix(_OURS)))
    return found


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "-"


LAYERS_PAGE, HOSTS_PAGE, CHARTS_PAGE = "docs/architecture.md", "docs/bring-your-own-hosts.md", "docs/charts.md"
STORAGE_PAGE = "docs/storage.md"
PAGES: dict[str, dict[str, Callable[[Path], Iterator[str]]]] = {  # by page and name of the table
    LAYERS_PAGE: {"layers": layers},
    HOSTS_PAGE: {"systems": systems, "checks": checks, "ports": ports, "sizes": sizes},
    "docs/profiles.md": {"inventories": inventories, "scales": scales},
    STORAGE_PAGE: {"pools": pools, "keys": keys},
    "docs/product-upgrade.md": {"fields": fields},
    "docs/monitoring.md": {"jobs": monitoring.jobs, "alerts": monitoring.alerts, "panels": monitoring.panels},
    "docs/tenant.md": {"not_offered": not_offered, "apis": apis},
    CHARTS_PAGE: {"services": services, "secrets": names_of_secrets},
}

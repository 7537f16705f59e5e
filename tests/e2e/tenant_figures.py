"""What a tenant waits for: instances from request to SSH by phase, and what many ports cost Neutron and OVN.

ci/lab shell python tests/e2e/tenant_figures.py --instances 20               # one, then 20 at once
ci/lab shell python tests/e2e/tenant_figures.py --ports 1000 --rules 500
ci/run python tests/e2e/tenant_figures.py page                               # into docs/performance.md

The cloud is that of OS_CLOUD and clouds.yaml. Everything is in a project of its own, which is deleted at the end, after
a failure and after Ctrl-C; what a killed run left is deleted by the next. OVN is asked over ssh where OS_CLOUD is the
site of SITE, memory is measured where that is a lab on this machine. Exit code 1 when a request or an instance failed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.ci.memory import MIB
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import TenantOptions
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e import api_latency
from ansible_collections.groundup.cloud.tests.e2e.api_latency import percentile
from ansible_collections.groundup.cloud.tests.e2e.tenant_boots import PHASES, Boots
from ansible_collections.groundup.cloud.tests.e2e.tenant_ports import Ports

BEGIN = "<!-- results: ci/run python tests/e2e/tenant_figures.py page -->"
Found = Mapping[str, Mapping[str, Any]]  # by set of charts
INSTANCES, PORTS, RULES = 20, 1000, 500


def section(found: Found) -> str:
    """Return the tables of all sets of charts, as Markdown."""
    parts = {"instances": _instances, "ports": _ports}
    return "\n\n".join(
        "\n".join(table({charts: said[part] for charts, said in found.items() if part in said}))
        for part, table in parts.items()
        if any(part in said for said in found.values())
    )


def _table(name: str, heads: Sequence[str], rows: Mapping[str, Sequence[str]]) -> list[str]:
    head = f"| {name} | {' | '.join(heads)} |"
    return [head, f"|{'---|' * (len(heads) + 1)}", *(f"| {key} | {' | '.join(row)} |" for key, row in rows.items())]


def _instances(found: Found) -> list[str]:
    batches = [(f"{charts} ({said['day']})", one) for charts, said in found.items() for one in said["batches"]]
    rows = {f"{phase}": [of_phase(one["at"], phase) for _, one in batches] for phase in PHASES}
    rows["on the hypervisor"] = [_two(one["built"], unit="s", digits=0) for _, one in batches]
    rows["failed"] = [failures(one["causes"]) for _, one in batches]
    return _table("seconds since the request", [f"{head}: {one['count']} at once" for head, one in batches], rows)


def of_phase(at: Mapping[str, Sequence[float]], phase: str) -> str:
    """Return when instances reached a phase: the middle one and the last, and the middle one's growth."""
    before = percentile(at[PHASES[PHASES.index(phase) - 1]], 0.5) if phase != PHASES[0] else 0.0
    grown = percentile(at[phase], 0.5) - before
    return _two(at[phase], unit="s") + ("" if math.isnan(grown) else f" (+{grown:.1f})")


def failures(causes: Mapping[str, int]) -> str:
    """Return what failed and how often, as a cell."""
    return "; ".join(f"**{number}**: {cause}" for cause, number in causes.items()).replace("|", "\\|") or "-"


def _two(values: Sequence[float], *, unit: str, digits: int = 1) -> str:
    if not values:
        return "-"
    return f"{percentile(values, 0.5):.{digits}f} / {max(values):.{digits}f} {unit}"


def _ports(found: Found) -> list[str]:
    stages = [(f"{charts} ({said['day']})", one) for charts, said in found.items() for one in said["stages"]]
    known = list(dict.fromkeys(name for _, one in stages for name in one["memory"]))
    rows = {key: list[str]() for key in ("requests", "p50 / p99", "failed", "OVN's northd", "all chassis")}
    for _, one in stages:
        row = api_latency.Row(**one["row"]) if one["row"] else None
        rows["requests"].append(f"{row.sent} in {wall(row):.0f} s, {row.rate:.0f}/s" if row else "-")
        rows["p50 / p99"].append(f"{row.p50 * 1000:.0f} / {row.p99 * 1000:.0f} ms" if row else "-")
        rows["failed"].append(failures(row.causes) if row else "-")
        for key, who in (("OVN's northd", "northd"), ("all chassis", "chassis")):
            sync = one["sync"]
            rows[key].append(f"{sync[who]:.2f} s" if who in sync else sync.get("cause", "-"))
    for name in known:
        rows[name] = [f"{one['memory'][name] / MIB:.0f} MiB" if name in one["memory"] else "-" for _, one in stages]
    return _table("", [f"{head}: {one['name']}" for head, one in stages], rows)


def wall(row: api_latency.Row) -> float:
    """Return the seconds that all requests of a row took."""
    return (row.sent - sum(row.causes.values())) / row.rate if row.rate else math.nan


def place() -> Path:
    """Return where measurements are kept, a file for each set of charts."""
    return api_latency.place().parent / "tenant"


def keep(charts: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Put what was measured beside what was measured before; return all of these charts."""
    path = place() / f"{charts}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {**(json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}), **said}
    path.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    return kept


def site() -> Plan | None:
    """Return the plan of the site of SITE, None when OS_CLOUD is another cloud."""
    plan = site_plan(COLLECTION / os.environ.get("SITE", "inventories/lab/site.yml"))
    return plan if plan.site == os.environ["OS_CLOUD"] else None


def measured(admin: Any, given: argparse.Namespace, plan: Plan | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each measurement that was asked for, when it has ended and nothing of it is left."""
    today = {"day": f"{datetime.now(UTC):%Y-%m-%d}"}
    steps = Steps(lambda line: print(line, flush=True))
    options = TenantOptions(image=Path(), user=given.user, timeout=given.timeout, memory_mb=given.memory_mb,
                            disk_gb=given.disk_gb)  # fmt: skip
    if given.instances:
        booted = replace(options, image=guest_image(given.image, progress=print))
        walk = within(Boots, admin, booted, steps, lambda one: one.walk(given.instances, direct=given.network))
        yield "instances", {**today, **walk}
    if given.ports:
        amounts = {"ports": given.ports, "rules": given.rules, "clients": given.clients}
        stages = within(Ports, admin, options, steps, lambda one: one.walk(**amounts, plan=plan))
        yield "ports", {**today, "stages": stages}


def failed(said: Mapping[str, Any]) -> bool:
    """Return whether a request, an instance or OVN failed in a measurement."""
    rows = [one["row"] for one in said.get("stages", ()) if one["row"]]
    silent = any("cause" in one["sync"] for one in said.get("stages", ()))
    return silent or any(one["causes"] for one in (*said.get("batches", ()), *rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", choices=["measure", "page"], default="measure")
    parser.add_argument("--charts", choices=["builtin", "openstack-helm"], default="builtin")
    parser.add_argument("--instances", type=int, nargs="?", const=INSTANCES, default=0, help="most at once")
    parser.add_argument("--network", default="", help="boot on this network, without floating IPs")
    parser.add_argument("--image", help="a qcow2 file with sshd, by default the site's guest")
    parser.add_argument("--user", default="guest")
    parser.add_argument("--memory-mb", type=int, default=128)
    parser.add_argument("--disk-gb", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for all instances at once to answer")
    parser.add_argument("--ports", type=int, nargs="?", const=PORTS, default=0)
    parser.add_argument("--rules", type=int, default=RULES, help="of one security group, which has all ports")
    parser.add_argument("--clients", type=int, default=4, help="that send requests for ports and rules at once")
    given = parser.parse_args(arguments)
    if given.command == "page":
        return api_latency.page(place(), section, begin=BEGIN)
    if not given.instances and not given.ports:
        parser.error("nothing to measure: --instances, --ports, or both")
    bad = False
    try:
        for part, said in measured(connection.named(os.environ["OS_CLOUD"]), given, site()):
            kept = keep(given.charts, {part: said})
            bad |= failed(said)
            print(section({given.charts: {part: kept[part]}}), flush=True)
    except GroundupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ended by a signal; what could not be deleted is named above", file=sys.stderr)
        return 130
    return int(bad)


if __name__ == "__main__":
    raise SystemExit(main())

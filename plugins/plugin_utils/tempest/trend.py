"""Rally's scenarios: how long a cloud takes to boot an instance and to make a network, run by run. Nothing is judged.

Each is a test of a run that passes when no iteration failed. Its seconds are appended to a file that stays.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...module_utils._base.files import write_file
from .program import Program
from .runs import RALLY, RALLY_LOG
from .settings import Prepared, test_timeout
from .target import Target

SUITE, TREND = "trend", "trend.jsonl"
TIMES = 5  # iterations of a scenario, one after the other
_SHOWN = 10  # last runs of a scenario in the table
_NETWORK: dict[str, Any] = {"network@openstack": {"router": {}}}  # of the project, without a router
_SCENARIOS: dict[str, tuple[str, Mapping[str, int] | None, Mapping[str, Any]]] = {  # arguments: None: a guest
    "rally.boot": ("NovaServers.boot_and_delete_server", None, _NETWORK),
    "rally.network": ("NeutronNetworks.create_and_delete_networks", {}, {}),
    "rally.subnet": ("NeutronNetworks.create_and_delete_subnets", {"subnets_per_network": 1}, _NETWORK),
    "rally.port": ("NeutronNetworks.create_and_delete_ports", {"ports_per_network": 1}, _NETWORK),
}
NAMES = tuple(_SCENARIOS)
_CONF = """[DEFAULT]
log_file = {log}
[database]
connection = sqlite:///{directory}/rally.db
[openstack]
nova_server_boot_timeout = {wait}
nova_server_boot_poll_interval = 0.5
nova_server_delete_timeout = {wait}
nova_server_delete_poll_interval = 0.5
"""


def measure(
    program: Program, made: Prepared, target: Target, chosen: Collection[str], *, place: Path
) -> list[dict[str, Any]]:
    """Run scenarios and append their seconds to the trend of ``place``; return lines as `stream.py` writes them."""
    directory, lines = program.directory / RALLY, []
    directory.mkdir(mode=0o700)
    try:
        found = list(_measured(_report(program, directory, made, target, chosen)))
    finally:
        shutil.rmtree(directory)  # it has the password
    day = f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
    for name, seconds, errors in found:
        row = {"day": day, "scenario": name, "failed": len(errors), "seconds": seconds}
        with (place / TREND).open("a", encoding="utf-8") as trend:
            trend.write(json.dumps(row) + "\n")
        took, why = seconds.get("total", [0.0])[0], errors[0] if errors else ""
        lines.append({"test": name, "status": "fail" if errors else "success", "seconds": took, "why": why})
    return lines


def _report(
    program: Program, directory: Path, made: Prepared, target: Target, chosen: Collection[str]
) -> Mapping[str, Any]:
    conf, cloud, task, report = (directory / name for name in ("rally.conf", "cloud.json", "task.json", "report.json"))
    wait = test_timeout(target)
    text = _CONF.format(log=program.directory / RALLY_LOG, directory=directory, wait=wait)
    for path, content in ((conf, text), (cloud, _cloud(made, target)), (task, _task(made, chosen))):
        write_file(path, content.encode(), mode=0o600)

    def rally(*command: str) -> str:
        return program.told(["rally", "--config-file", str(conf), *command], timeout=3.0 * TIMES * wait)

    rally("db", "create")
    rally("env", "create", "--name", made.prefix, "--spec", str(cloud), "--no-use")
    rally("task", "start", str(task), "--env", made.prefix, "--no-use")
    (identifier,) = rally("task", "list", "--env", made.prefix, "--uuids-only").split()
    rally("task", "report", identifier, "--json", "--out", str(report))
    return dict(json.loads(report.read_text(encoding="utf-8")))


def _cloud(made: Prepared, target: Target) -> str:
    """Return how Rally reaches the cloud: as the run's administrator, whose own project gets everything."""
    domain = made.account["domain_name"]
    names = {name: made.account[name] for name in ("username", "password", "project_name")}
    user = {**names, "user_domain_name": domain, "project_domain_name": domain}
    place = {"auth_url": target.auth_url, "region_name": target.region, "endpoint_type": "public"}
    trust = {"https_cacert": str(target.ca)} if target.ca else {}
    return json.dumps({"existing@openstack": {**place, **trust, "admin": user, "users": [user]}})


def _task(made: Prepared, chosen: Collection[str]) -> str:
    guest = {"image": {"id": made.images[0]}, "flavor": {"id": made.flavors[0]}}
    once = {"runner": {"constant": {"times": TIMES, "concurrency": 1}}, "sla": {"failure_rate": {"max": 100}}}
    subtasks = [
        {"title": name, "scenario": {scenario: guest if arguments is None else arguments}, "contexts": contexts, **once}
        for name, (scenario, arguments, contexts) in _SCENARIOS.items()
        if name in chosen
    ]
    return json.dumps({"version": 2, "title": SUITE, "subtasks": subtasks})


def _measured(report: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, list[float]], list[str]]]:
    """Yield each scenario with the middle and the longest seconds of its parts, and its iterations' errors."""
    for subtask in report["tasks"][0]["subtasks"]:
        (workload,) = subtask["workloads"]
        durations = workload["statistics"]["durations"]
        parts = {one["name"]: one["data"] for one in (*durations["atomics"], durations["total"])}
        # How long a failure took is no figure of the cloud.
        good = {name: [part["median"], part["max"]] for name, part in parts.items() if part["success"] == "100.0%"}
        yield subtask["title"], good, [str(one["error"][1]) for one in workload["data"] if one["error"]]


def table(place: Path) -> str:
    """Return the last runs of each scenario, as a table for a screen."""
    rows = [json.loads(line) for line in (place / TREND).read_text(encoding="utf-8").splitlines()]
    text = ["seconds: middle / longest"]
    for name in NAMES:
        for row in [one for one in rows if one["scenario"] == name][-_SHOWN:]:
            parts = [f"{part} {middle:.2f} / {longest:.2f}" for part, (middle, longest) in row["seconds"].items()]
            parts += [f"{row['failed']} failed"] if row["failed"] else []
            text.append(f"{name:14} {row['day']}  {', '.join(parts)}")
    return "\n".join(text)

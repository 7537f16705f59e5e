#!/usr/bin/env python3
"""Take what a former release wrote to this image's, by the jobs of the charts as rendered.

Usage: former_steps.py OLDEST                 OLDEST: version of a nova-compute that the target still starts with
       former_steps.py SERVICE JOB [IMAGE]    one job; IMAGE: of a pod that serves meanwhile

Prints a line of JSON a step. Pods are played: here is no Kubernetes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

JOBS: dict[str, dict[str, dict[str, Any]]] = json.loads(Path("/mnt/jobs.json").read_text())
SAID = Path("/tmp/termination-log")  # noqa: S108 - in the image's own root
SERVES = "openstack:former"
PORTS = {"keystone": (5000, "keystone.wsgi.api:application"), "placement": (8778, "placement.wsgi.api:application")}


def job(service: str, name: str, *serving: str) -> None:
    """Run a job's program in this process, with what Kubernetes would tell it."""
    given = JOBS[service][name]
    os.environ.update(given["env"])
    sys.argv = given["command"][1:]
    spec = importlib.util.spec_from_file_location("program", sys.argv[0])
    assert spec is not None
    assert spec.loader is not None
    program: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    ready = {"conditions": [{"type": "Initialized", "status": "True"}]}
    pods = [{"metadata": {"name": "former"}, "spec": {"containers": [{"image": one}]}, "status": ready}
            for one in serving]  # fmt: skip
    program.listed, program.SAID = (lambda _path: pods), SAID
    program.main()


def step(service: str, release: str, what: str, *command: str) -> None:
    """Run a command with the programs of a release, and say what became of it."""
    begin = time.monotonic()
    path = ("/opt/former/bin:" if release == "former" else "") + os.environ["PATH"]
    SAID.write_text("")
    done = subprocess.run(
        command, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    lines, seconds = done.stdout.strip().splitlines(), round(time.monotonic() - begin, 1)
    said = SAID.read_text() or ("\n".join(lines[-25:]) if done.returncode else (lines or [""])[-1])
    told = {"service": service, "release": release, "what": what, "code": done.returncode, "seconds": seconds}
    sys.stdout.write(json.dumps({**told, "said": said}) + "\n")
    sys.stdout.flush()


def run_job(service: str, release: str, name: str, *serving: str, what: str = "") -> None:
    """Run a job of the chart; it is left out when the chart has none of that name."""
    if name in JOBS[service]:
        step(service, release, what or name, "python3", __file__, service, name, *serving)


def rows(service: str, release: str, what: str, *words: str) -> None:
    """Write or read rows."""
    step(service, release, what, "python3", "-W", "ignore", "/mnt/former_rows.py", service, *words)


def filled(service: str) -> None:
    """Fill a service's databases by the former release."""
    run_job(service, "former", "db-init")
    run_job(service, "former", "db-sync")
    rows(service, "former", "writes", "before")


def taken(service: str) -> None:
    """Take a service to this image's release while the former one serves."""
    run_job(service, "target", "db-sync", SERVES)
    rows(service, "former", "writes beside", "beside")
    rows(service, "target", "writes", "after")
    rows(service, "former", "reads")
    run_job(service, "target", "db-contract")
    rows(service, "target", "reads")


def serve(service: str) -> None:
    """Start the target's API of a service; after Keystone's, make the accounts that Nova's check asks Placement by."""
    port, module = PORTS[service]
    options = ["--need-app", "--master", "--disable-logging", "--buffer-size", "65535", "--add-header"]
    subprocess.Popen(
        ["uwsgi", *options, "Connection: close", "--http-socket", f"127.0.0.1:{port}", "--module", module],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    step(service, "target", "serves", "bash", "-c", f"until (exec 3<>/dev/tcp/127.0.0.1/{port}); do sleep 0.2; done")
    for name in ("placement", "nova") if service == "keystone" else ():
        step(service, "target", f"accounts of {name}", "python3", "/mnt/identity.py", f"/mnt/{name}.identity.json")


def main() -> None:
    """Do all of it; Nova is refused first, with a hypervisor that is too old, and migrates data when all are new."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(filled, JOBS))
        list(pool.map(taken, [one for one in JOBS if one != "nova"]))  # its check asks two of the others
    for service in PORTS:
        serve(service)
    rows("nova", "target", "a hypervisor gets too old", "version", "before", str(int(sys.argv[1]) - 1))
    rows("nova", "target", "starts beside it", "starts")
    run_job("nova", "target", "db-sync", SERVES, what="db-sync beside it")
    rows("nova", "former", "the hypervisor is the former one", "version", "before")
    taken("nova")
    rows("nova", "target", "starts", "starts")
    run_job("nova", "target", "data-migrations", what="data beside former hypervisors")
    for host in ("before", "beside"):
        rows("nova", "target", f"hypervisor {host} is new", "version", host)
    run_job("nova", "target", "data-migrations")
    rows("nova", "target", "reads again")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        job(*sys.argv[1:])
    else:
        main()

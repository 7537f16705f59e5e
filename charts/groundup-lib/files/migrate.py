#!/usr/bin/env python3
"""Migrate a service's schema while pods of the former image serve.

Usage: migrate.py sync MIGRATION | migrate.py contract MIGRATION

MIGRATION is JSON, each command one text:
  whole     brings an empty or unused schema to this image's version
  checks    run before anything changes while former pods serve, as `nova-status upgrade check`: code 2 ends the job
  beside    what is safe while former pods serve (default: whole)
  then      runs afterwards, in both cases
  contract  removes what only the former code needed

`sync` does `whole` when no pod of another image has begun, and `checks` and `beside` when one has. `contract` waits
until none is there, for ten minutes. NAMESPACE and APPLICATION say whose pods; IMAGES are those of this release. What a
command refuses ends the program, and the former pods go on serving: no new one starts before this job is done.
"""

from __future__ import annotations

import json
import os
import shlex
import ssl
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
WARNED = 1  # code of a status check that found something to know, and nothing that forbids the upgrade
PAUSE = 3.0  # seconds between two looks at the pods
LIMIT = 600.0  # seconds that a contraction waits for former pods
LOST = 60.0  # seconds after which a pod that should have ended is one of a dead host, whose end nobody tells
PODS, SETS = "api/v1/namespaces/{}/pods", "apis/apps/v1/namespaces/{}/replicasets"


def listed(path: str) -> list[dict[str, Any]]:
    """Return the items of ``path`` that are the application's, from the Kubernetes API."""
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    server = f"https://{f'[{host}]' if ':' in host else host}:{os.environ['KUBERNETES_SERVICE_PORT']}"
    asked = urllib.parse.urlencode({"labelSelector": f"application={os.environ['APPLICATION']}"})
    request = urllib.request.Request(  # noqa: S310 - always https
        f"{server}/{path.format(os.environ['NAMESPACE'])}?{asked}",
        headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"},
    )
    trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, context=trust, timeout=30) as answer:  # noqa: S310  # always https
        return list(json.load(answer)["items"])


def former(found: Iterable[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return the names of those with another image than this release's. ``found``: names, each with a pod's spec."""
    images = set(os.environ["IMAGES"].split(","))
    return sorted(name for name, spec in found if {one["image"] for one in spec["containers"]} - images)


def running(*, begun: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield pods of a service that have not ended. One that is being deleted still serves.

    ``begun``: not those that wait in init, but those of dead hosts, which may come back with the former code; else
    nothing waits for them, as nobody tells their end.
    """
    for pod in listed(PODS):
        known = pod["metadata"]
        of_job = any(owner["kind"] == "Job" for owner in known.get("ownerReferences", ()))
        ended = pod["status"].get("phase") in ("Succeeded", "Failed")
        counts = has_begun(pod["status"]) if begun else not is_lost(known)
        if counts and not ended and not of_job:
            yield f"Pod/{known['name']}", pod["spec"]


def is_lost(metadata: dict[str, Any]) -> bool:
    """Return whether a pod should have ended long ago."""
    if not (ends := metadata.get("deletionTimestamp")):  # its time of grace is in it
        return False
    return time.time() - datetime.strptime(ends, "%Y-%m-%dT%H:%M:%S%z").timestamp() > LOST


def wanted() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield sets that make pods: a pod may be missing for a moment."""
    for item in listed(SETS):
        if item["spec"].get("replicas"):
            yield f"ReplicaSet/{item['metadata']['name']}", item["spec"]["template"]["spec"]


def has_begun(status: dict[str, Any]) -> bool:
    """Return whether a pod's programs run, ran, or are about to: it waits in init for nothing.

    A former pod that waits there never serves on this image's schema: what it waits for is its own image's migration,
    which Helm has removed. So it is with one that its ReplicaSet makes later, as after a node's reboot.
    """
    if any(one["type"] == "Initialized" and one["status"] == "True" for one in status.get("conditions", ())):
        return True
    programs = status.get("containerStatuses", ())
    return any(one.get("restartCount") or one.get("lastState") or "running" in one.get("state", {}) for one in programs)


def run(command: str, *, allowed: int = 0) -> None:
    """Run ``command``. Ends the program when its code is above ``allowed``, or it was killed."""
    print(f"+ {command}", flush=True)
    code = subprocess.run(shlex.split(command), check=False).returncode
    if not 0 <= code <= allowed:
        raise SystemExit(f"{command}: ended with code {code}")


def sync(migration: dict[str, Any]) -> None:
    """Bring the schema to this image's version, or as far as former pods allow."""
    if there := former(running(begun=True)):
        print(f"the schema is only expanded: {', '.join(there)} still have the former image", flush=True)
        for command in migration.get("checks", ()):
            run(command, allowed=WARNED)
        for command in migration.get("beside") or [migration["whole"]]:
            run(command)
    else:
        run(migration["whole"])
    for command in migration.get("then", ()):
        run(command)


def contract(migration: dict[str, Any]) -> None:
    """Wait for the last former pod to be gone, then remove what only it needed."""
    said: list[str] = []
    begin = time.monotonic()
    while there := former((*running(), *wanted())):
        if time.monotonic() - begin > LIMIT:
            raise SystemExit(
                f"the contraction failed, as after {LIMIT:.0f} s {', '.join(there)} still had the former image"
            )
        if there != said:
            print(f"waiting for the end of {', '.join(there)}", flush=True)
            said = there
        time.sleep(PAUSE)
    run(migration["contract"])


def main() -> None:
    """Do what the command line says."""
    verb, migration = sys.argv[1:]
    {"sync": sync, "contract": contract}[verb](json.loads(migration))


if __name__ == "__main__":
    main()

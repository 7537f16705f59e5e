#!/usr/bin/env python3
"""Keeps exactly one Galera member labelled as the writer, and stays with it while it serves.

Service `mariadb` selects that label. The label is on a pod, never in the Service, so that what Helm manages stays as
Helm left it. Two copies of this program run, on two hosts, and one of them acts: the one that holds the Lease. Whether
a member serves is asked at its own port, since Kubernetes calls a dead host's pods ready for most of a minute.

NAMESPACE, SELECTOR, WRITER_LABEL and LEASE say where to look; MYSQL_PORT, AUDIT_USERNAME and MYSQL_PWD (the client
reads that one itself) how to ask. Standard library and MariaDB's client only: it runs in the database's own image.
"""

from __future__ import annotations

import os
import subprocess
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from lease import Lease
from shared_object import Api, SharedObject

PAUSE = 2.0  # seconds between looks
ASKING = 2.0  # seconds for a member to answer
SILENCE = 10.0  # seconds after which a writer is given up; Galera itself commits nothing any sooner without it
Pod = dict[str, Any]
QUESTION = "SHOW STATUS WHERE Variable_name = 'wsrep_ready'"


def serves(pod: Pod) -> bool:
    """Return whether the member takes queries now."""
    address = (pod.get("status") or {}).get("podIP")
    if not address:
        return False
    client = [
        "mariadb", "--no-defaults", f"--host={address}", f"--port={os.environ['MYSQL_PORT']}",
        f"--user={os.environ['AUDIT_USERNAME']}", f"--connect-timeout={ASKING:.0f}", "--skip-column-names", "--batch",
        f"--execute={QUESTION}",
    ]  # fmt: skip
    try:
        done = subprocess.run(client, capture_output=True, text=True, timeout=2 * ASKING, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.stdout.split() == ["wsrep_ready", "ON"]


def is_ready(pod: Pod) -> bool:
    """Return whether Kubernetes calls ``pod`` ready, and it is not on its way out."""
    if "deletionTimestamp" in pod["metadata"]:
        return False
    conditions = pod.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


class Patience:
    """A writer that serves, or did so a moment ago, stays the writer: one lost answer moves nobody."""

    def __init__(self, serves: Callable[[Pod], bool], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._serves, self._clock = serves, clock
        self._heard: dict[str, float] = {}

    def __call__(self, pod: Pod) -> bool:
        """Return whether ``pod`` may stay the writer."""
        uid, now = str(pod["metadata"]["uid"]), self._clock()
        if uid not in self._heard or self._serves(pod):
            self._heard = {uid: now}  # the present writer's only: nobody else is waited for
        return self._clock() - self._heard[uid] < SILENCE


def choose(
    pods: list[Pod], label: str, *, may_stay: Callable[[Pod], bool], serves: Callable[[Pod], bool]
) -> tuple[str | None, list[str]]:
    """Return the pod to be the writer, and the pods that wear ``label`` wrongly.

    The present writer stays as long as it is ready and ``may_stay``; else the first ready pod that ``serves`` follows,
    by name. With none of them the label stays where it is.
    """
    by_name = sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))
    labelled = [pod for pod in by_name if pod["metadata"].get("labels", {}).get(label) == "true"]
    best = next((pod for pod in labelled if is_ready(pod) and may_stay(pod)), None)
    if best is None:
        best = next((pod for pod in by_name if pod not in labelled and is_ready(pod) and serves(pod)), None)
    if best is None:
        return None, []
    name = str(best["metadata"]["name"])
    return name, [str(pod["metadata"]["name"]) for pod in labelled if pod["metadata"]["name"] != name]


def main() -> None:
    """Look, put right, pause, for ever."""
    api, label, namespace = Api(), os.environ["WRITER_LABEL"], os.environ["NAMESPACE"]
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    turn = Lease(SharedObject(api, collection=leases, name=os.environ["LEASE"]), own=os.environ["POD_NAME"])
    pods_path = f"/api/v1/namespaces/{namespace}/pods"
    selector = urllib.parse.quote(os.environ["SELECTOR"])
    may_stay, said = Patience(serves), ""
    while True:
        try:
            word = "another copy names the writer"
            if turn.take() is not None:
                writer = look(api, pods_path, selector, label, may_stay=may_stay)
                word = f"writer: {writer or 'no member serves'}"
        except OSError as error:
            word = f"looking again: the Kubernetes API says {error}"
        if word != said:
            print(word, flush=True)
            said = word
        time.sleep(PAUSE)


def look(api: Api, path: str, selector: str, label: str, *, may_stay: Callable[[Pod], bool]) -> str | None:
    """Name the writer anew where that is needed, and return it."""
    pods = api.call("GET", f"{path}?labelSelector={selector}")["items"]
    writer, wrong = choose(pods, label, may_stay=may_stay, serves=serves)
    meta = {str(pod["metadata"]["name"]): pod["metadata"] for pod in pods}

    def mark(name: str, value: str | None) -> None:
        # Only what was seen is changed: a copy of this program that was held up changes nothing the other has changed.
        metadata = {"resourceVersion": meta[name]["resourceVersion"], "labels": {label: value}}
        api.call("PATCH", f"{path}/{name}", {"metadata": metadata})

    # First the old one goes: for a moment there is none, but never two. One on its way out (leave.py) goes last:
    # proxies lead to it only while nobody else is ready; with nobody at all they would refuse clients for a second.
    leaving = [name for name in wrong if "deletionTimestamp" in meta[name]]
    for name in wrong:
        if name not in leaving:
            mark(name, None)
    if writer is not None and meta[writer].get("labels", {}).get(label) != "true":
        mark(writer, "true")
    for name in leaving:
        mark(name, None)
    return writer


if __name__ == "__main__":
    main()

"""Read a control host's static pod manifests, end their containers, and wait until the kubelet runs them."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from .._base import yaml_text
from .._base.errors import GroundupError
from .._base.files import read
from .._base.wait import wait_until
from .._host import units
from .api import NodeApiError
from .files import KUBELET
from .host import NodeHost
from .rolling_restart import hand_over
from .spec import Node, Paths

STATIC = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
WAIT = 300.0  # seconds: etcd, then the API, then its leader elections
API, ETCD = "kube-apiserver", "etcd"
# Seconds to end: the API server answers on for its shutdown delay, then finishes what it was asked.
GRACE = {API: 60}
_GRACE, _ALONE = 30, 5
TELLS = 6.0  # seconds in which a kubelet that hears the API tells of its pods
_TIMEOUT = 180.0


def manifest(name: str, paths: Paths) -> Path:
    return paths.kubernetes / "manifests" / f"{name}.yaml"


def pod(name: str, paths: Paths) -> dict[str, Any]:
    """Return the pod of a manifest; empty when it is missing."""
    return yaml_text.load(read(manifest(name, paths)) or "")


def container(name: str, paths: Paths) -> dict[str, Any]:
    """Return the first container of a manifest; empty when it is missing."""
    found: list[dict[str, Any]] = pod(name, paths).get("spec", {}).get("containers") or [{}]
    return found[0]


def flags(container: Mapping[str, Any]) -> dict[str, str]:
    """Return the flags in a container's command."""
    words = (word for word in container.get("command", ()) if word.startswith("--") and "=" in word)
    return dict(word[2:].split("=", 1) for word in words)


def running(host: NodeHost) -> list[dict[str, Any]]:
    """Return the running containers of the static pods, each with its ``name``. Raises GroundupError."""
    chosen = ["--state", "running", "--label", "io.kubernetes.pod.namespace=kube-system"]
    command = ["crictl", "ps", *chosen, "--output", "json"]
    text = host.run(command, timeout=_TIMEOUT, why="programs read files at start")
    found = json.loads(text or "{}").get("containers") or []
    named = ({**one, "name": one["labels"].get("io.kubernetes.container.name", "")} for one in found)
    return [one for one in named if one["name"] in STATIC]


def end(host: NodeHost, names: Collection[str], *, alone: bool = False) -> None:
    """End containers of static pods, which finish what they do; the kubelet starts them again. Raises GroundupError.

    ``alone``: no other control host takes its clients: while it finishes for some, it answers nobody else.

    The API server goes before its etcd: none of its clients asks it for what it cannot read or write. Then etcd hands
    over its leadership: by now nobody writes by a leader that refuses.
    """
    wanted = {*names, *([API] if ETCD in names else [])}
    for one in sorted(running(host), key=lambda one: one["name"] != API):
        if (name := one["name"]) in wanted:
            if name == ETCD:
                hand_over(host)
            grace = _ALONE if alone else GRACE.get(name, _GRACE)
            command = ["crictl", "stop", "--timeout", str(grace), one["id"]]
            host.run(command, timeout=_TIMEOUT, why=f"{name} ends what it was asked, and reads its files at start")


def wait_until_started(node: Node, host: NodeHost) -> None:
    """Wait until the kubelet has started all static pods that were ended, and each is Ready. Raises GroundupError."""

    def missing() -> str:
        runs = {one["name"] for one in running(host)}
        return ", ".join(name for name in STATIC if name not in runs)

    if late := wait_until(missing, timeout=WAIT, pause=1.0):
        raise _late(node, host, f"not started: {late}")  # what the API says of them may be of before
    wait_until_running(node, host, STATIC)


def wait_until_running(node: Node, host: NodeHost, names: Collection[str]) -> None:
    """Wait until each pod of ``names`` is Ready according to its present manifest. Raises GroundupError.

    A kubelet whose API server was away looks for its pods again after up to a minute (client-go's back-off). Of one
    that it has made anew meanwhile it tells nothing until then. So it is restarted, once; what it runs goes on.
    """
    answers_since, looked_anew = 0.0, False

    def pending() -> str:
        nonlocal answers_since, looked_anew
        try:
            shown = {name: api.get(f"/api/v1/namespaces/kube-system/pods/{name}-{node.name}") for name in names}
        except NodeApiError as error:  # the API server itself is being replaced
            answers_since = 0.0
            return str(error)
        late = [name for name, found in shown.items() if not _runs(found or {}, container(name, host.paths))]
        answers_since = answers_since or time.monotonic()
        if late and not looked_anew and time.monotonic() - answers_since > TELLS:
            looked_anew = True
            units.control("restart", KUBELET)
        return f"{', '.join(late)} not ready" if late else ""

    with host.api(node.api_server) as api:
        reason = wait_until(pending, timeout=WAIT)
    if reason:
        raise _late(node, host, reason)


def _late(node: Node, host: NodeHost, reason: str) -> GroundupError:
    return GroundupError(
        f"the control plane of {node.name} does not come back as it was changed in {WAIT:.0f} s: {reason}",
        where=f"host {node.name}, {host.paths.kubernetes}/manifests",
        why="no other control host is touched before this one works",
        remedy="see crictl ps -a and journalctl -u kubelet on the host; mend it, then run this again",
    )


def _runs(shown: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a static pod is Ready with the image and flags of its manifest."""
    conditions = shown.get("status", {}).get("conditions", [])
    if not any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions):
        return False
    found = shown["spec"]["containers"][0]
    return bool(found["image"] == wanted["image"] and flags(found) == flags(wanted))

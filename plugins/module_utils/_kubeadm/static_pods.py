"""The static pods of a control host: what their manifests say, and whether the kubelet runs them so."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from .access import admin
from .api import ApiError
from .errors import NodeError
from .spec import Node, Paths

STATIC = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
IMAGE = re.compile(r"^(\s+image:\s*)(\S+)", re.MULTILINE)
FLAG = re.compile(r"^\s+- --([a-z0-9-]+)=(.*)$", re.MULTILINE)
WAIT = 300.0  # seconds: etcd, then the API, then who leads through it


def manifest(name: str, paths: Paths) -> Path:
    """Return the manifest of the static pod called ``name``."""
    return paths.kubernetes / "manifests" / f"{name}.yaml"


def read(name: str, paths: Paths) -> str:
    """Return the text of a manifest; empty when there is none."""
    path = manifest(name, paths)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def image(text: str) -> str | None:
    """Return the image of a manifest's container."""
    found = IMAGE.search(text)
    return found.group(2) if found else None


def flags(text: str) -> dict[str, str]:
    """Return the flags a manifest starts its program with."""
    return {name: value.strip("\"'") for name, value in FLAG.findall(text)}


def await_running(node: Node, names: Collection[str], *, host: str, paths: Paths) -> None:
    """Wait until the kubelet shows each pod of ``names`` Ready as its manifest is now.

    Raises:
        NodeError: it does not after five minutes.
    """
    server = f"https://{node.address}:{node.cluster.api_port}"
    until, missing = time.monotonic() + WAIT, "the API does not answer"
    with admin(paths, server=server, host=host) as api:
        while time.monotonic() < until:
            try:
                shown = {
                    name: api.get(f"/api/v1/namespaces/kube-system/pods/{name}-{node.name}") or {} for name in names
                }
            except ApiError as error:  # it is being replaced itself
                missing = str(error)
            else:
                late = [name for name, pod in shown.items() if not _runs(pod, read(name, paths))]
                if not late:
                    return
                missing = f"{', '.join(late)} not ready"
            time.sleep(0.5)
    raise NodeError(
        f"the control plane of {node.name} does not come back as it was changed in {WAIT:.0f} s: {missing}",
        where=f"host {node.name}, {paths.kubernetes}/manifests",
        why="no other control host is touched before this one works",
        remedy="see crictl ps -a and journalctl -u kubelet on the host; mend what does not start and run this again",
    )


def _runs(pod: dict[str, Any], text: str) -> bool:
    """Say whether a static pod, as the kubelet shows it, is Ready with the image and the flags of its manifest."""
    conditions = pod.get("status", {}).get("conditions", [])
    if not any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions):
        return False
    container = pod["spec"]["containers"][0]
    words = (word for word in container.get("command", ()) if word.startswith("--") and "=" in word)
    given = dict(word[2:].split("=", 1) for word in words)
    return bool(container["image"] == image(text) and given == flags(text))

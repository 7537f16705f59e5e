"""The images of a control host's static pods: kubeadm names them by version, a site by content.

What kubeadm writes, it writes with the patches of ``documents.patches``. What it wrote before an image was made again
under its version is changed here: etcd and the API of the host are away meanwhile, so callers take one host at a time.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from .access import admin
from .api import Api, ApiError
from .errors import NodeError
from .host import Host
from .outcome import Outcome
from .spec import Node, Paths

STATIC = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
IMAGE = re.compile(r"^(\s+image:\s*)(\S+)", re.MULTILINE)
WAIT = 300.0  # seconds: etcd, then the API, then who leads through it


def outdated(node: Node, paths: Paths) -> dict[str, tuple[str, str]]:
    """Return the static pods whose manifest names another image than the site's: name -> (found, wanted)."""
    found = {}
    for name in STATIC:
        manifest, wanted = _manifest(name, paths), node.control_images.get(name)
        image = IMAGE.search(manifest.read_text(encoding="utf-8")) if manifest.exists() else None
        if wanted and image and image.group(2) != wanted:
            found[name] = (image.group(2), wanted)
    return found


def replace(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> None:
    """Give static pods the site's images, and wait until they run. Raises NodeError, OSError."""
    changes = outdated(node, paths)
    for name, (before, after) in changes.items():
        outcome.note(
            f"give {name} its image", name=str(_manifest(name, paths)), before=f"{before}\n", after=f"{after}\n"
        )
    if check or not changes:
        return
    for _, image in changes.values():
        host.run(["crictl", "pull", image], timeout=300, why="a static pod stops before its new image is fetched")
    for name, (_, image) in changes.items():
        manifest = _manifest(name, paths)
        text = IMAGE.sub(rf"\g<1>{image}", manifest.read_text(encoding="utf-8"))
        host.write(manifest, text.encode(), 0o600)
    _wait_for(node, {name: image for name, (_, image) in changes.items()}, host=host, paths=paths)


def _manifest(name: str, paths: Paths) -> Path:
    return paths.kubernetes / "manifests" / f"{name}.yaml"


def _wait_for(node: Node, images: dict[str, str], *, host: Host, paths: Paths) -> None:
    server = f"https://{node.address}:{node.cluster.api_port}"
    until, missing = time.monotonic() + WAIT, "the API does not answer"
    with admin(paths, server=server, host=host.name) as api:
        while time.monotonic() < until:
            try:
                late = [name for name, image in images.items() if not _runs(api, f"{name}-{node.name}", image)]
            except ApiError as error:  # it is being replaced itself
                missing = str(error)
            else:
                if not late:
                    return
                missing = f"{', '.join(late)} not ready"
            time.sleep(0.5)
    raise NodeError(
        f"the control plane of {node.name} does not come back with its new images in {WAIT:.0f} s: {missing}",
        where=f"host {node.name}, {paths.kubernetes}/manifests",
        why="no other control host is touched before this one works",
        remedy="see crictl ps -a and journalctl -u kubelet on the host; publish images that start and run this again",
    )


def _runs(api: Api, pod: str, image: str) -> bool:
    """Say whether the static pod called ``pod`` is Ready with ``image``, by what the kubelet shows of it."""
    found = api.get(f"/api/v1/namespaces/kube-system/pods/{pod}") or {}
    conditions = found.get("status", {}).get("conditions", [])
    ready = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return ready and found["spec"]["containers"][0]["image"] == image

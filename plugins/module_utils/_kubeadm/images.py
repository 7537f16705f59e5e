"""Update the images of a control host's static pods: kubeadm names them by version, a site by digest.

kubeadm applies the patches of ``documents.patches`` to new manifests. This module updates existing ones, when an image
was rebuilt under the same version. The host's etcd and API are down meanwhile: callers take one host at a time.
"""

from __future__ import annotations

from collections.abc import Collection

from .._base import yaml_text
from .._base.changes import Changes
from .._base.files import write_file
from . import static_pods
from .host import NodeHost
from .rolling_restart import hand_over
from .spec import Node, Paths


def outdated(node: Node, paths: Paths) -> dict[str, tuple[str, str]]:
    """Return the static pods with another image than the site's: name -> (found, wanted)."""
    found = {}
    for name in static_pods.STATIC:
        image, wanted = static_pods.container(name, paths).get("image"), node.control_images.get(name)
        if image and wanted and image != wanted:
            found[name] = (image, wanted)
    return found


def replace(node: Node, host: NodeHost, changes: Changes, *, names: Collection[str] = static_pods.STATIC) -> set[str]:
    """Set the site's images in the manifests ``names``; return the changed pods. Raises GroundupError, OSError."""
    found = {name: images for name, images in outdated(node, host.paths).items() if name in names}
    for name, (before, after) in found.items():
        manifest = static_pods.manifest(name, host.paths)
        changes.add(f"give {name} its image", name=str(manifest), before=f"{before}\n", after=f"{after}\n")
    if not changes.check:
        for _, image in found.values():
            host.run(["crictl", "pull", image], timeout=300, why="a static pod stops before its new image is fetched")
        if static_pods.ETCD in found:
            static_pods.end(host, [static_pods.API])
            hand_over(host)
        for name, (_, image) in found.items():
            pod = static_pods.pod(name, host.paths)
            pod["spec"]["containers"][0]["image"] = image
            write_file(static_pods.manifest(name, host.paths), yaml_text.dump(pod).encode(), mode=0o600)
    return set(found)

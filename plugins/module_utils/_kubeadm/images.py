"""The images of a control host's static pods: kubeadm names them by version, a site by content.

What kubeadm writes, it writes with the patches of ``documents.patches``. What it wrote before an image was made again
under its version is changed here: etcd and the API of the host are away meanwhile, so callers take one host at a time.
"""

from __future__ import annotations

from . import static_pods
from .host import Host
from .outcome import Outcome
from .spec import Node, Paths


def outdated(node: Node, paths: Paths) -> dict[str, tuple[str, str]]:
    """Return the static pods whose manifest names another image than the site's: name -> (found, wanted)."""
    found = {}
    for name in static_pods.STATIC:
        image, wanted = static_pods.image(static_pods.read(name, paths)), node.control_images.get(name)
        if image and wanted and image != wanted:
            found[name] = (image, wanted)
    return found


def replace(node: Node, *, host: Host, paths: Paths, outcome: Outcome, check: bool) -> set[str]:
    """Give static pods the site's images; return which ones. Raises NodeError, OSError."""
    changes = outdated(node, paths)
    for name, (before, after) in changes.items():
        manifest = static_pods.manifest(name, paths)
        outcome.note(f"give {name} its image", name=str(manifest), before=f"{before}\n", after=f"{after}\n")
    if not check:
        for _, image in changes.values():
            host.run(["crictl", "pull", image], timeout=300, why="a static pod stops before its new image is fetched")
        for name, (_, image) in changes.items():
            text = static_pods.IMAGE.sub(rf"\g<1>{image}", static_pods.read(name, paths))
            host.write(static_pods.manifest(name, paths), text.encode(), 0o600)
    return set(changes)

"""Keep the kubelet from starting without the node's data: etcd would start as a new, empty cluster.

A member's data directories and mounts are recorded beside its configuration, on the boot disk. The kubelet's unit
checks the record before each start, and so does every run.
"""

from __future__ import annotations

from pathlib import Path

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import place, read
from .spec import Paths

FILE = "data-in-place"  # in Paths.site; a line is `exists PATH` or `mounted PATH`
SCRIPT = "/usr/local/lib/groundup/data-in-place"
# A node's persistent data. The last directory is that of the storage class `general`.
DIRECTORIES = ("/var/lib/etcd", "/var/lib/kubelet", "/var/lib/containerd", "/srv/kubernetes-volumes")
SCRIPT_TEXT = f"""\
#!/bin/sh
# Written by groundup.cloud: holds the kubelet back while data of this node are missing.
[ -e /etc/kubernetes/site/{FILE} ] || exit 0
lacks=
while read -r kind path; do
  case $kind in
    # As `keep` tells a mount: `mountpoint` knows no subvolume of btrfs that came with the one above it.
    mounted) [ "$(stat -c %d "$path")" != "$(stat -c %d "$path/..")" ] || lacks="not mounted" ;;
    *) [ -e "$path" ] || lacks="missing: is its disk mounted?" ;;
  esac
  [ -z "$lacks" ] || {{ echo "the kubelet is not started without its data: $path is $lacks" >&2; exit 1; }}
done </etc/kubernetes/site/{FILE}
"""


def keep(paths: Paths, changes: Changes, *, control: bool) -> None:
    """Record the member's mounts and etcd data. Raises OSError."""
    lines = [f"mounted /{mount.relative_to(paths.root)}" for mount in _mounts(paths)]
    lines += [f"exists /{member.relative_to(paths.root)}" for member in [paths.etcd / "member"] if control]
    if lines or (paths.site / FILE).exists():
        place(changes, paths.site / FILE, "".join(f"{line}\n" for line in lines))


def forget(paths: Paths) -> None:
    """Remove the record of a former member. Raises OSError."""
    (paths.site / FILE).unlink(missing_ok=True)


def refuse_missing(paths: Paths, *, host: str) -> None:
    """Refuse a member whose recorded data are missing. Raises GroundupError."""
    for line in (read(paths.site / FILE) or "").splitlines():
        kind, _, path = line.partition(" ")
        target = paths.at(path)
        if not (target.is_mount() if kind == "mounted" else target.exists()):
            raise GroundupError(
                f"{host} is a node, and {path} is not {'mounted' if kind == 'mounted' else 'there'}",
                where=f"host {host}, {path}; written down in {paths.site / FILE}",
                why="its data are missing; started without them, its etcd would be a new and empty cluster",
                remedy="mount its disk (findmnt, /etc/fstab), then run this again; if the data were moved on purpose, "
                "remove the line from the file named above; if they are lost, see docs/kubernetes.md, Recovery by hand",
            )


def _mounts(paths: Paths) -> list[Path]:
    """Return the mounts below the root that hold the node's directories."""
    found = []
    for directory in map(paths.at, DIRECTORIES):
        for place_ in (directory, *directory.parents):
            if place_ == paths.root:
                break
            if place_.is_mount():
                found.append(place_)
                break
    return list(dict.fromkeys(found))

"""Whether Ceph's monitor and manager of this host answer at their sockets: managers' metrics end with the manager."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from . import answers
from .samples import Sample

LIB, RUN = Path("/var/lib/ceph"), Path("/run/ceph")
_ASK = b'{"prefix": "version"}\0'


def daemons() -> Iterator[Sample]:
    """Yield whether each that has its data here answers, under the name of Ceph's own exporter."""
    # Not OSDs: a directory may be left of one that was replaced, and the cluster knows which are up.
    for place in sorted(path for kind in ("mgr", "mon") for path in (LIB / kind).glob("ceph-*")):
        name = f"{place.parent.name}.{place.name.removeprefix('ceph-')}"
        yield Sample("ceph_daemon_socket_up", answers.begun(RUN / f"ceph-{name}.asok", _ASK), {"ceph_daemon": name})

"""Configure nova-compute for instance disks in Ceph. QEMU opens them with libvirt's secret (`volumes`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import HEADER
from .._host.accounts import group_id
from .._host.units import Unit
from . import services

# In Nova's directory, because /etc/ceph may belong to a storage host.
CONF, KEYRING = "/etc/nova/ceph.conf", "/etc/nova/ceph.keyring"
DROP_IN = services.UNITS / f"{services.COMPUTE}.d/ceph.conf"
INSTANCES = Path("/var/lib/nova/instances")
# Debian's Python bindings of Ceph fit its libraries; the environment of Nova sees no other Debian package.
PYTHON = Path("/opt/groundup/ceph")
_PACKAGED = Path("/usr/lib/python3/dist-packages")
_BINDINGS = ("rados", "rbd")
_INSTANCE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(_resize)?")
_FIELD = r"(?m)^{} = (\S+)$"
_UNKNOWN = "nobody knows where"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """Nova's Ceph configuration and key."""

    client: str  # "client.nova"
    uuid: str  # of libvirt's secret
    conf: str  # text of ceph.conf
    key: str = field(repr=False)


def refuse_another(configuration: Mapping[str, str], ceph: str, *, hardware: str, host: str) -> None:
    """Raise GroundupError when a new place for disks would hide those of existing instances from Nova.

    ``configuration``: of Nova, by part. ``ceph``: its ceph.conf, "" without one.
    """
    before = _place(*(files.read(Path(path)) or "" for path in (*services.NOVA, CONF)))
    after = _place(configuration["cluster"], configuration["host"], ceph)
    if after in (before, _UNKNOWN):  # unknown: before the cluster exists
        return
    if found := instances():
        raise GroundupError(
            f"{len(found)} of its instances have disks that are {before}, {found[0]} first, and new ones would be "
            f"{after}",
            where=f"{host}, {INSTANCES}",
            why="Nova looks for all of them in one place: none could start again, move or be deleted",
            remedy=f"put {services.NOVA[1]} back"
            if before == _UNKNOWN
            else f"write hardware.{hardware}.compute.disks and storage of the site file as they were; or shelve the "
            "instances, or drain it to a host with such disks, and run again",
        )


def refuse_renamed(configuration: str, *, host: str) -> None:
    """Raise GroundupError when the host has instances under another name: by the new one Nova would lose them."""
    before, after = _said("host", files.read(services.NOVA[1]) or ""), _said("host", configuration)
    if before and after and before != after and (found := instances()):
        raise GroundupError(
            f"the host is {before} in Nova, with {len(found)} instance(s), {found[0]} first",
            where=f"{host}, {services.NOVA[1]}",
            why=f"they would run on a host that Nova takes for dead, and an evacuation of {before} starts them twice",
            remedy=f"call it {before} in the site file; or drain and retire {before} first, then rename it",
        )


def instances() -> list[str]:
    """Return the instances with a directory on the host, running or not."""
    found = INSTANCES.iterdir() if INSTANCES.is_dir() else ()
    return sorted(one.name for one in found if _INSTANCE.fullmatch(one.name))


def place(changes: Changes, compute: Unit, wanted: Disks | None) -> None:
    """Place nova-compute's Ceph configuration and key, or remove them. Raises OSError."""
    if not wanted:
        for path in (DROP_IN, Path(CONF), Path(KEYRING)):
            files.remove(changes, path, before=compute.mark)
        return
    group = group_id("nova")
    compute.place(Path(CONF), HEADER + wanted.conf)
    text = f"[{wanted.client}]\nkey = {wanted.key}\n"
    compute.place(Path(KEYRING), text, mode=0o640, group=group, secret=True)
    for name in _BINDINGS:
        for library in sorted(_PACKAGED.glob(f"{name}.cpython-*.so")):
            files.link(changes, PYTHON / library.name, str(library))
    compute.place(DROP_IN, f"{HEADER}[Service]\nEnvironment=PYTHONPATH={PYTHON}\n")


def _place(cluster: str, host: str, ceph: str) -> str:
    """Return the place of instances' disks by the text of configuration files."""
    kind = _said("images_type", host)
    if kind != "rbd":
        return "files of the host" if kind else _UNKNOWN
    return f"images in Ceph {_said('fsid', ceph) or '?'}, pool {_said('images_rbd_pool', cluster) or '?'}"


def _said(name: str, text: str) -> str:
    found = re.search(_FIELD.format(name), text)
    return found[1] if found else ""

"""A storage host and a cluster for tests of the storage layer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph.model import OsdDaemon, StorageNode, osd
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephOsd, CephPlan
from ansible_collections.groundup.cloud.plugins.module_utils._plan.decode import from_dict

FSID = "9243c800-bddc-52cc-9302-a243472a09e8"
FOREIGN = "11111111-2222-3333-4444-555555555555"
MONITORS = {f"storage-{number}": f"10.0.0.{number}" for number in (1, 2, 3)}
ENTITIES = ("mon.", "client.admin", "client.bootstrap-osd", "mgr.storage-1", "mgr.storage-2", "client.glance")


PLAN: dict[str, Any] = {
    "backend": "native",
    "fsid": FSID,
    "release": 18,
    "public_network": "10.0.0.0/24",
    "monitors": [{"name": name, "address": address} for name, address in MONITORS.items()],
    "mon_host": "",
    "managers": ["storage-1", "storage-2"],
    "rules": [],
    "pools": {},
    "clients": {},
    "osds": {},
    "locations": {name: {"host": name, "rack": "r1"} for name in MONITORS},
    "secrets": [],
    "settings": {},
    "backups": "pool",
    "gateway": None,
}
POOL: dict[str, Any] = {
    "name": "images", "application": "rbd", "replicas": 3, "min_size": 2, "pg_num": 32, "rule": "host-ssd",
}  # fmt: skip
GLANCE: dict[str, Any] = {
    "name": "client.glance", "secret": "ceph/client.glance", "uuid": "", "writes": ["images"], "reads": [],
    "caps": {"mon": "profile rbd"},
}  # fmt: skip
GATEWAY = {"client": "client.rgw", "port": 8088, "password": "", "health_path": "/health", "settings": {}}


def plan(**other: Any) -> CephPlan:
    """Return the plan of a cluster."""
    return from_dict(CephPlan, PLAN | other, "plan")


def node(name: str = "storage-1", **other: Any) -> StorageNode:
    """Return what a storage host is to run."""
    own = {each: other.pop(each) for each in ("osds", "keys") if each in other}
    if monitors := other.pop("monitors", None):
        other["monitors"] = [{"name": each, "address": address} for each, address in monitors.items()]
    hosts = dict.fromkeys((*other.pop("hosts", MONITORS), name))
    other["locations"] = {each: {"host": each, "rack": "r1"} for each in hosts}
    file = CephOsd(name="osd", device=None, size_gb=1, device_class="ssd", memory=1 << 30)
    fields: dict[str, Any] = {
        "ceph": plan(**{"pools": {"images": POOL}, "clients": {"glance": GLANCE}} | other),
        "name": name,
        "osds": (osd(FSID, name, file),),
        "packages": ["ceph-mon"],
        "keys": {entity: f"key of {entity}" for entity in ENTITIES},
    }
    return StorageNode(**fields | own)


def on_device(device: Path) -> OsdDaemon:
    """Return an OSD on a device of storage-1."""
    planned = CephOsd(name=str(device), device=str(device), size_gb=None, device_class="hdd", memory=1 << 30)
    return osd(FSID, "storage-1", planned)


def quorum(monitors: Mapping[str, str]) -> dict[str, Any]:
    """Return the map of monitors, as Ceph has it."""
    return {"mons": [{"name": name, "public_addr": f"{address}:6789/0"} for name, address in monitors.items()]}


class Host:
    """The programs of a storage host: they leave the files that Ceph's leave, and systemd starts what is asked for."""

    def __init__(self) -> None:
        self.called: list[list[str]] = []
        self.verbs: list[str] = []
        self.running: set[str] = set()
        self.off: list[list[str]] = []
        self.failed = ""  # unit
        self.breaks = ""  # the program that is killed in the middle

    def run(self, argv: Sequence[str], **_: object) -> str:
        self.called.append(list(argv))
        if argv[0] == "ceph-mon":
            store = Path(argv[argv.index("--mon-data") + 1])
            (store / "store.db").write_text("paxos")
        elif argv[0] == "monmaptool":
            Path(argv[-1]).write_text("monmap")
        elif argv[0] == "ceph-osd":
            data = Path(argv[argv.index("--osd-data") + 1])
            (data / "fsid").write_text(argv[argv.index("--osd-uuid") + 1] + "\n")
            (data / "ceph_fsid").write_text(FSID + "\n")
        if self.breaks == argv[0]:
            raise KeyboardInterrupt
        return "key of an osd\n" if argv[0] == "ceph-authtool" else ""

    def programs(self) -> list[str]:
        return [call[0] for call in self.called if call[0] not in ("install", "systemctl")]

    def properties(self, unit: str, *_: str) -> dict[str, str]:
        state = "failed" if unit == self.failed else "active" if unit in self.running else "inactive"
        return {"ActiveState": state, "UnitFileState": "enabled" if unit in self.running else "disabled"}

    def control(self, verb: str, unit: str) -> None:
        self.verbs.append(f"{verb} {unit}")
        self.running.add(unit)


class Monitors:
    """Monitors that answer from a table, and note what they are told."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.numbers: dict[str, tuple[int, str]] = {}

    def ask(self, prefix: str, **arguments: Any) -> Any:
        if prefix == "osd new":
            return self._new(**arguments)
        return self.answers[prefix]

    def attempt(self, prefix: str, **_: Any) -> tuple[int, Any, str]:
        return 0, self.answers.get(prefix), ""

    def manage(self, prefix: str, **arguments: Any) -> None:
        self.told.append((prefix, arguments))

    def send(self, prefix: str, **arguments: Any) -> bytes:
        self.told.append((prefix, arguments))
        return b"monmap of the quorum"

    def _new(self, *, uuid: str, content: str) -> Mapping[str, int]:
        number, known = self.numbers.setdefault(uuid, (len(self.numbers) + 5, content))
        if json.loads(known)["cephx_secret"] != json.loads(content)["cephx_secret"]:
            raise GroundupError("the monitors refuse `osd new`: EEXIST", where="osd new", why="-", remedy="-")
        return {"osdid": number}


def finished(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Return how a program ended that had nothing to say."""
    return subprocess.CompletedProcess(argv, 0, "", "")

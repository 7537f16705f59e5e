"""Ask this host for the state of every layer that has something on it. A fault of one part hides no other part."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .._base import tls
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import attempt
from .._ceph import disk
from .._ceph.model import LIB
from .._edge.admin import statistics
from .._host import environment, ownership, sources, verification, watched
from .._host.interfaces import carrying
from .._hypervisor import converge as hypervisor
from .._hypervisor.pki import OURS
from .._hypervisor.services import COMPUTE, UNITS
from .._ironic import configuration as ironic
from .._kubeadm.host import NodeHost
from .._kubeadm.membership import membership
from .._kubeadm.spec import Node
from .._monitoring import verify
from .._ovn import status as raft
from .._ovn import verify as ovn
from .._ovn.converge import Central
from .._ovn.databases import DATABASES, MEMBER, NB
from .._plan.decode import from_dict
from .._plan.kubernetes import KubernetesPlan, NodeSupply
from .._seed.converge import REGISTRY
from .._seed.converge import UNITS as SEED
from . import storage

OK, WARNING, NOT_MADE, BROKEN = "ok", "warning", "not made", "broken"
HAPROXY = Path("/etc/haproxy/haproxy.cfg")
Found = dict[str, Any]  # a part's state, why, and facts


def of_host(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return the state of the parts that the options ``given`` name, each on its own."""
    parts = {
        "host": _host, "seed": _seed, "ironic": _ironic, "kubernetes": _kubernetes, "edge": _edge, "storage": _storage,
        "ceph": storage.cluster, "network": _network, "hypervisor": _hypervisor, "monitoring": _monitoring,
    }  # fmt: skip
    release = dict(line.split("=", 1) for line in _text("/etc/os-release").splitlines() if "=" in line)
    return {
        "changed": False,
        "parts": {name: _asked(parts[name], wanted) for name, wanted in given["wanted"].items()},
        "debian": release.get("VERSION_ID", "").strip('"'),
        "kernel": platform.release(),
        "snapshot": sources.snapshot(),
        "uptime": int(float(_text("/proc/uptime").partition(" ")[0] or 0)),
    }


def _asked(ask: Callable[[Mapping[str, Any]], Found], wanted: Mapping[str, Any]) -> Found:
    try:
        return {"state": OK, "why": "", **ask(wanted)}
    except GroundupError as error:
        return {"state": BROKEN, "why": error.what, "remedy": error.remedy}
    except Exception as error:  # noqa: BLE001  # a part that nobody foresaw is a row, and the others are told
        return {"state": "unknown", "why": f"{type(error).__name__}: {error}"}


def _not_made() -> Found:
    return {"state": NOT_MADE}


def _host(wanted: Mapping[str, Any]) -> Found:
    if not ownership.FILE.exists():
        return _not_made()
    ownership.refuse_other(wanted["site"])
    changes = Changes(check=True)
    verification.verify(changes, dict(wanted))
    return {"state": WARNING, "why": "; ".join(changes.warnings)} if changes.warnings else {}


def _seed(_: Mapping[str, Any]) -> Found:
    return _running(SEED) if REGISTRY.exists() else _not_made()


def _ironic(_: Mapping[str, Any]) -> Found:
    return _running((ironic.UNIT.name, ironic.CONTACT_UNIT.name)) if ironic.UNIT.exists() else _not_made()


def _kubernetes(wanted: Mapping[str, Any]) -> Found:
    node = Node(
        name=wanted["name"],
        control=wanted["control"],
        address=wanted["address"],
        site=wanted["site"],
        cluster=from_dict(KubernetesPlan, wanted["cluster"], "options.cluster"),
        supply=NodeSupply(registry="", registry_tls=True),
        sandbox_image="",
    )
    found = membership(NodeHost(name=node.name), node)
    said = {"certificates": found["certificates"], "etcd": found["etcd"]}
    if found["membership"] == "blank":
        return _not_made()
    if found["membership"] == "partial":
        return said | {"state": BROKEN, "why": "its join is not finished", "remedy": _again("kubernetes")}
    if found["etcd_data"] and not found["etcd"]:
        return said | {"state": BROKEN, "why": "its etcd does not answer", "remedy": "crictl ps -a on the host"}
    return said | _running(("kubelet.service", "containerd.service"))


def _edge(wanted: Mapping[str, Any]) -> Found:
    if not HAPROXY.exists():
        return _not_made()
    asked = {"holds_address": wanted["virtual_ip"], "holds_public": wanted["public_ip"]}
    held = {key: carrying(address) is not None for key, address in asked.items() if address}
    listeners, servers = statistics()
    return {**held, "listeners": listeners, "servers": servers}


def _storage(_: Mapping[str, Any]) -> Found:
    kinds = {"osd": disk.OSDS, "mon": LIB / "mon", "mgr": LIB / "mgr"}
    daemons = [
        f"ceph-{kind}@{one.name.removeprefix('ceph-')}.service"
        for kind, home in kinds.items()
        for one in sorted(home.glob("ceph-*"))
    ]
    return _running(daemons) if daemons else _not_made()


def _network(wanted: Mapping[str, Any]) -> Found:
    if not NB.file.exists():
        return _not_made()
    central = Central(**wanted)
    faults = list(ovn.faults(central))
    said = {one.short: raft.ask(one) for one in DATABASES}
    members = {
        short: {"role": now.role, "servers": sorted(now.servers), "cluster": now.cluster}
        for short, now in said.items()
        if now
    }
    found = {"members": members, "northd": raft.northd(), "certificate": _days(MEMBER)}
    return found | ({"state": BROKEN, "why": "; ".join(faults), "remedy": _again("network")} if faults else {})


def _hypervisor(wanted: Mapping[str, Any]) -> Found:
    if not (UNITS / COMPUTE).exists():
        return _not_made()
    found = {"environment": environment.current(), "certificate": _days(OURS / "certificate.pem")}
    try:
        hypervisor.verify(**wanted)
    except GroundupError as error:
        return found | {"state": BROKEN, "why": error.what, "remedy": error.remedy}
    return found


def _monitoring(wanted: Mapping[str, Any]) -> Found:
    if not watched.unit_file(watched.STORE).exists():
        return _not_made()
    return {"silent": list(verify.silent(wanted["targets"])), "unjudged": verify.unjudged()}


def _running(units: tuple[str, ...] | list[str]) -> Found:
    stopped = list(_stopped(units))
    return {"state": BROKEN, "why": "; ".join(stopped), "remedy": _log(units)} if stopped else {}


def _stopped(units: tuple[str, ...] | list[str]) -> Iterator[str]:
    said = attempt(["systemctl", "is-active", "--", *units]).stdout.split()
    yield from (f"{unit} is {state}" for unit, state in zip(units, said, strict=False) if state != "active")


def _log(units: tuple[str, ...] | list[str]) -> str:
    return "on the host: journalctl -n 50 " + " ".join(f"-u {unit}" for unit in units)


def _again(layer: str) -> str:
    return f"run the playbook groundup.cloud.{layer}"


def _days(path: Path) -> int | None:
    try:
        return tls.days_left(path, why="", remedy="")
    except GroundupError:
        return None


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""

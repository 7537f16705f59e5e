"""Parts that hosts hand over: Kubernetes' keys, OVN's northbound database, the seed, Ceph's maps and keys."""

from __future__ import annotations

import base64
import io
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ....module_utils._ceph import backup as ceph
from ....module_utils._kubeadm.keys import NEEDED
from ...errors import GroundupError
from ...layers.storage import ADMIN
from ...plan.types import Plan
from ...vault import open_store
from .. import find
from . import state
from .parts import CEPH, KEYS, OVN, SEED, of_host, parts

RESULT = "backup_said"  # the hosts' results in the playbook
OnHost = Callable[..., dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """One part of one host. Its content is empty when it was only looked at."""

    part: str
    host: str
    said: Mapping[str, Any]  # by its host
    content: bytes = field(default=b"", repr=False)

    @property
    def source(self) -> str:
        """Return where it comes from."""
        return f"host {self.host}"

    def about(self, plan: Plan) -> dict[str, Any]:
        """Return what set.json says of the content. Raises GroundupError for a damaged one."""
        if self.part == KEYS:
            return {"files": len(self.said["files"]), "networks": self.said["networks"]}
        if self.part == CEPH:
            _, counts = ceph.judge(_unpacked([self.content]), fsid=self.said["fsid"])
            return {"fsid": self.said["fsid"], "counts": counts}
        part = find(self.part)(plan, dict)
        content = part.parse(self.content, where=f"what {self.host} handed over of {self.part}")
        part.refuse_lost(self.said)
        return part.about(content, self.said)

    def told(self) -> str:
        """Return what was found, for a person."""
        if self.part == KEYS:
            return f"{len(self.said['files'])} files"
        if self.part == SEED:
            return f"{len(self.said['nodes'])} machines"
        if self.part == OVN:
            return ", ".join(f"{number} {table}" for table, number in self.said["counts"].items())
        return f"cluster {self.said['fsid']}"


def hand(plan: Plan, host: str, on_host: OnHost) -> dict[str, Any]:
    """Ask a host for each part that it may have; return them, and why it hands over none. It fails for no part."""
    given, refused = dict[str, Any](), dict[str, str]()
    for part in of_host(plan, host):
        done = on_host(part, {"name": host, **_options(plan, part)})
        if done.get("failed") or done.get("unreachable"):
            refused[part] = str(done.get("msg") or "it did not answer").strip()
        elif done.get("leader", True):
            given[part] = done
    return {"changed": False, "parts": given, "refused": refused}


def _options(plan: Plan, part: str) -> dict[str, Any]:
    if part == KEYS:
        return {}
    if part == CEPH and plan.ceph:
        return {"ceph": asdict(plan.ceph), "key": open_store(plan.site, write=False).get(ADMIN)}
    return find(part)(plan, dict).options()


def collect(plan: Plan, said: Mapping[str, Mapping[str, Any]]) -> dict[str, Handed]:
    """Return the parts from the hosts' results of `hand`, by host. Raises GroundupError when nobody has one."""
    found: dict[str, Handed] = {}
    for host, result in said.items():
        for part, one in (result.get("parts") or {}).items():
            content = base64.b64decode(one.get("content", ""))
            found.setdefault(part, Handed(part=part, host=host, said=one, content=content))
    wanted = [part for part in parts(plan) if any(part in of_host(plan, host) for host in plan.hosts)]
    if missing := [part for part in wanted if part not in found]:
        told = [f"{host}, {part}: {text}" for host, one in said.items()
                for part, text in (one.get("refused") or {}).items() if part in missing]  # fmt: skip
        told += [f"{host}: {one.get('msg', 'no answer')}" for host, one in said.items() if one.get("unreachable")]
        raise GroundupError(
            f"no host hands over {', '.join(missing)}{': ' if told else ''}{' | '.join(sorted(told))}",
            where="the hosts of the roles control, seed and storage",
            why="a set without them restores no cloud; nothing of this set is kept",
            remedy="run the playbooks kubernetes, network, ironic, storage, tag verify: they say what is wrong",
        )
    return found


def judge(plan: Plan, part: str, about: Mapping[str, Any], pieces: Iterable[bytes]) -> tuple[list[str], str]:
    """Return what a part of a set lacks, read whole, and what it has. Raises GroundupError, tarfile.TarError."""
    if part == KEYS:
        found = state.names(pieces)
        return state.judge(NEEDED, dict(about), found), f"{len(found)} files"
    if part == CEPH:
        faults, counts = ceph.judge(_unpacked(pieces), fsid=about["fsid"])
    else:
        kind = find(part)(plan, dict)
        counts, faults = kind.parse(b"".join(pieces), where=f"part {part}").counts, []
    told = ", ".join(f"{number} {what}" for what, number in counts.items())
    faults += [f"it has {told}, at the backup there were {about['counts']}"] if counts != about["counts"] else []
    return faults, told


def _unpacked(pieces: Iterable[bytes]) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as archive:
        streams = {one.name: archive.extractfile(one) for one in archive if one.isfile()}
        return {name: stream.read() for name, stream in streams.items() if stream}

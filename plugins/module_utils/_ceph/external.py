"""A Ceph that others operate (an external owner, cephadm, Rook): create pools and users if allowed, test every key.

Existing pools are not altered; they, their copies and the cluster's health are the owner's responsibility.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._plan.ceph import CephPlan
from . import faults, pools, proof
from .cluster import CephCluster, connected, installed
from .model import ADMIN, rights, watching

AES = 1  # the only key type that clients of the plan's release support
# A documentation address (RFC 5737): a key that may blocklist it may fence a dead hypervisor.
NOBODY, SHORTLY = "192.0.2.1:0/1", 1.0
_OWNER = "who runs it"


def converge(changes: Changes, *, ceph: CephPlan, keys: Mapping[str, str], timeout: int, **_: object) -> dict[str, Any]:
    """Create missing pools and users, with `make: true` in the site file. Raises GroundupError."""
    _check_keys(ceph, keys)
    if not ceph.make:
        return changes.result()
    if changes.check and not installed():  # a dry run before the layer `host` installs it
        for one in (
            *(f"pool {pool.name}" for pool in ceph.pools.values()),
            *(one.name for one in ceph.clients.values()),
        ):
            changes.add(f"make {one}")
        return changes.result()
    with connected(ADMIN, keys[f"ceph/{ADMIN}"], watching(ceph), timeout=timeout) as cluster:
        _same(cluster, ceph)
        there = pools.found(cluster)
        names = {one.name: one for one in ceph.pools.values() if one.name not in there}
        used = {one.rule for one in names.values()}  # not of Rook's pools, which have Rook's rules
        wanted = pools.PoolPlan(
            rules={one.name: one for one in ceph.rules if one.name in used},
            pools=names,
            keys={one.name: keys[one.secret] for one in ceph.clients.values()},
            caps=rights(ceph),
        )
        pools.converge(cluster, changes, wanted)
    return changes.result()


def verify(changes: Changes, *, ceph: CephPlan, keys: Mapping[str, str], timeout: int, **_: object) -> dict[str, Any]:
    """Test every key in each pool: allowed access must work, other access be refused. Raises GroundupError."""
    _check_keys(ceph, keys)
    monitors, planned = watching(ceph), [one.name for one in ceph.pools.values()]
    if ceph.make:
        with connected(ADMIN, keys[f"ceph/{ADMIN}"], monitors, timeout=timeout) as cluster:
            _same(cluster, ceph)
            # Only warnings: the owner must repair it, but operators must know before they blame services.
            changes.warnings += [str(card) for card in faults.cards(cluster)]
    mark = uuid.uuid4().hex[:12]
    for client in ceph.clients.values():
        key = keys[client.secret]
        with connected(client.name, key, monitors, timeout=timeout) as cluster:
            _same(cluster, ceph)
            there = cluster.handle.list_pools()
            if absent := [name for name in (*client.writes, *client.reads) if name not in there]:
                raise _no_pool(absent, client.name, make=ceph.make)
            _may_fence(cluster, client.name)
        others = [name for name in there if name not in planned]
        proof.prove(client, key, monitors, [*(name for name in planned if name in there), *others], mark)
    return {"changed": False, "proven": [one.name for one in ceph.clients.values()]}


def _check_keys(ceph: CephPlan, keys: Mapping[str, str]) -> None:
    """Refuse invalid keys and unsupported key types: librados reports both unclearly. Raises GroundupError."""
    admin = (f"ceph/{ADMIN}",) if ceph.make else ()
    for secret in (*admin, *(one.secret for one in ceph.clients.values())):
        try:
            kind = int.from_bytes(base64.b64decode(keys[secret], validate=True)[:2], "little")
        except ValueError:
            kind = 0
        if kind != AES:
            what = f"a key of kind {kind} (aes256k)" if kind > AES else "no key of Ceph"
            raise GroundupError(
                f"{secret} is {what}",
                where="the secrets store; storage.external of the site file",
                why=f"clients of Ceph {ceph.release} know keys of kind {AES} (aes) alone, of 40 letters: AQ...",
                remedy=f"ask {_OWNER} for a key of that kind (`ceph auth get-key <user>`); put it into the store with "
                "`ansible-vault edit`",
            )


def _same(cluster: CephCluster, ceph: CephPlan) -> None:
    found = str(cluster.handle.get_fsid())
    if found != ceph.fsid:
        raise GroundupError(
            f"the cluster's id is {found}, and the site file says {ceph.fsid}",
            where=f"storage.external.fsid; monitors {ceph.mon_host}",
            why="another cluster's pools would be used as if they were these",
            remedy="correct fsid or monitors in the site file (`ceph fsid`, `ceph mon dump`)",
        )


def _no_pool(absent: Collection[str], client: str, *, make: bool) -> GroundupError:
    made = "the playbook groundup.cloud.storage makes it" if make else f"ask {_OWNER} to make it, or write make: true"
    return GroundupError(
        f"the cluster has no pool {', '.join(absent)}",
        where=f"layer {faults.LAYER}: " + ", ".join(f"pool {name}" for name in absent),
        why=f"clients see: {client} cannot open it (No such file or directory)",
        remedy=f"{made}; a pool of another name: storage.pools.<purpose>.name",
    )


def _may_fence(cluster: CephCluster, client: str) -> None:
    """Refuse a user who may not blocklist a dead client, whose locks would outlive it. Raises GroundupError."""
    code, _, said = cluster.attempt("osd blocklist", blocklistop="add", addr=NOBODY, expire=SHORTLY)
    if code:
        raise GroundupError(
            f"{client} may not fence a dead client: {said or f'error {code}'}",
            where=f"layer {faults.LAYER}: {client}; `osd blocklist`",
            why="clients see: nothing yet; an instance whose hypervisor died could not open its disk elsewhere",
            remedy=f"ask {_OWNER} for: ceph auth caps {client} mon 'profile rbd', and its other rights as they are",
        )

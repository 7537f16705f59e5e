"""Test a service's key: write, read and delete where it is allowed, and be refused elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from .._base.errors import GroundupError
from .._plan.ceph import CephClient
from .cluster import connected

CONTENT = os.urandom(64 * 1024)


def prove(client: CephClient, key: str, monitors: Mapping[str, str], pools: Sequence[str], mark: str) -> None:
    """Test the ``key`` of ``client`` in each of ``pools``; ``mark`` names this run's objects. Raises GroundupError."""
    with connected(client.name, key, monitors) as cluster:
        for pool in pools:
            if pool in client.writes:
                _writes(cluster.handle, client.name, pool, mark)
            else:
                if readable := pool in client.reads:
                    _reads(cluster.handle, client.name, pool, mark)
                _refused(cluster.handle, client.name, pool, mark, readable=readable)


def _writes(handle: Any, name: str, pool: str, mark: str) -> None:
    import rados  # type: ignore[import-not-found]  # of the host: a package of this layer brings it

    thing = f"groundup-{mark}-{name}"
    step = "open"
    try:
        with handle.open_ioctx(pool) as data:
            step = "write"
            data.write_full(thing, CONTENT)
            step = "read"
            try:
                back = data.read(thing, len(CONTENT) + 1)
            except rados.Error:
                _clean(data, thing)
                raise
            step = "delete"
            data.remove_object(thing)
    except rados.Error as error:
        raise _wrong(f"{name} cannot {step} in pool {pool}: {error}") from None
    if back != CONTENT:
        raise _wrong(f"{name} reads something else from pool {pool} than it wrote")


def _reads(handle: Any, name: str, pool: str, mark: str) -> None:
    import rados  # of the host: a package of this layer brings it

    try:
        with handle.open_ioctx(pool) as data:
            data.read(f"groundup-{mark}-nothing")
    except rados.ObjectNotFound:
        return  # reading is allowed: the object does not exist
    except rados.Error as error:
        raise _wrong(f"{name} cannot read from pool {pool}: {error}") from None


def _refused(handle: Any, name: str, pool: str, mark: str, *, readable: bool) -> None:
    import rados  # of the host: a package of this layer brings it

    thing = f"groundup-{mark}-{name}"

    def write(data: Any) -> None:
        data.write_full(thing, CONTENT)
        _clean(data, thing)

    def read(data: Any) -> None:
        data.read(thing)

    with handle.open_ioctx(pool) as data:
        for what, use in (("write to", write), *([] if readable else [("read from", read)])):
            try:
                use(data)
            except rados.PermissionError:
                continue
            except rados.ObjectNotFound:
                pass  # reading is allowed: the object does not exist
            except rados.Error as error:
                raise _wrong(f"{name} is to be refused by pool {pool}, and gets another answer: {error}") from None
            raise _wrong(f"{name} can {what} pool {pool}, and must not")


def _clean(data: Any, thing: str) -> None:
    """Remove a test object, if possible."""
    import rados  # of the host: a package of this layer brings it

    with suppress(rados.Error):
        data.remove_object(thing)


def _wrong(what: str) -> GroundupError:
    return GroundupError(
        what,
        where="the cluster, with the key of the secrets store",
        why="a service with too few rights fails late, one with too many is a way to everybody's data",
        remedy="ceph auth ls; `--tags apply` of groundup.cloud.storage sets the rights of the plan",
    )

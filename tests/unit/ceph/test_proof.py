"""What a key may do is proven by doing it, and what it may not, too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import proof, stand_in
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephClient

CLIENT = CephClient(
    name="client.cinder", secret="", uuid="", writes=("volumes",), reads=("images",), caps={}
)  # fmt: skip
POOLS = ["volumes", "images", "backups", ".mgr"]


class Rados(ModuleType):
    """Ceph's library, by the names that are used of it."""

    Error = type("Error", (Exception,), {})
    PermissionError = type("PermissionError", (Error,), {})
    ObjectNotFound = type("ObjectNotFound", (Error,), {})


class Pool:
    """A pool that lets a client write, read or nothing."""

    def __init__(self, allowed: str) -> None:
        self.allowed, self.objects = allowed, dict[str, bytes]()

    def write_full(self, name: str, content: bytes) -> None:
        self._may("w")
        self.objects[name] = content

    def read(self, name: str, length: int = 0) -> bytes:
        self._may("r")
        if name not in self.objects:
            raise Rados.ObjectNotFound
        return self.objects[name][:length]

    def remove_object(self, name: str) -> None:
        self._may("w")
        del self.objects[name]

    def _may(self, what: str) -> None:
        if what not in self.allowed:
            raise Rados.PermissionError


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> dict[str, Pool]:
    found = {name: Pool({"volumes": "rw", "images": "r"}.get(name, "")) for name in POOLS}
    monkeypatch.setitem(sys.modules, "rados", Rados("rados"))

    @contextmanager
    def open_ioctx(name: str) -> Iterator[Pool]:
        yield found[name]

    @contextmanager
    def connected(*_: object) -> Iterator[Any]:
        yield SimpleNamespace(handle=SimpleNamespace(open_ioctx=open_ioctx))

    monkeypatch.setattr(proof, "connected", connected)
    return found


def prove() -> None:
    proof.prove(CLIENT, "key", {}, POOLS, "mark")


def test_a_key_with_the_rights_of_the_plan_leaves_nothing_behind(cluster: dict[str, Pool]) -> None:
    prove()
    assert not any(pool.objects for pool in cluster.values())


@pytest.mark.parametrize(
    ("pool", "allowed", "said"),
    [
        ("volumes", "r", "client.cinder cannot write in pool volumes"),
        ("volumes", "w", "client.cinder cannot read in pool volumes"),
        ("images", "", "client.cinder cannot read from pool images"),
        ("images", "rw", "client.cinder can write to pool images, and must not"),
        ("backups", "rw", "client.cinder can write to pool backups, and must not"),
    ],
)
def test_too_few_rights_and_too_many_are_named(cluster: dict[str, Pool], pool: str, allowed: str, said: str) -> None:
    cluster[pool].allowed = allowed
    with pytest.raises(GroundupError, match=said):
        prove()
    assert not any(one.objects for one in cluster.values()), "it may be somebody else's pool"


def test_the_manager_s_bcrypt_makes_and_checks_what_others_do() -> None:
    module: dict[str, Any] = {}
    exec(stand_in.SOURCE, module)  # noqa: S102 - as ceph-mgr does
    # Of the reference vectors of bcrypt.
    known = b"$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
    assert module["hashpw"](b"U*U", known) == known
    assert module["checkpw"](b"secret", module["hashpw"](b"secret", module["gensalt"](5)))
    assert not module["checkpw"](b"other", known)

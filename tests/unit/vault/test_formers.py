"""Passwords that the store had before: each is kept, and on the disk before the store needs the next one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store


@pytest.fixture
def source(tmp_path: Path) -> PasswordSource:
    return PasswordSource(path=tmp_path / "config/lab.vault-password", ours=True)


def test_a_password_is_kept_though_an_earlier_one_was_removed(tmp_path: Path, source: PasswordSource) -> None:
    """The page says to remove a former one that no set needs any longer."""
    store, sealed = Store.open(tmp_path / "state", source), dict[bytes, bytes]()
    store.ensure(["nova/db"])
    for number in range(4):
        sealed[source.read()] = store.seal(b"key of a set")
        store.reseal()
        if number == 1:
            source.formers()[0].unlink()
            sealed.pop(next(iter(sealed)))
    assert [one.read_bytes().strip() for one in source.formers()] == list(sealed)
    assert {store.unseal(one, where="a set") for one in sealed.values()} == {b"key of a set"}


def test_the_next_password_is_on_the_disk_before_the_store_is_encrypted_with_it(
    tmp_path: Path, source: PasswordSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when a run was killed before it saw to that: else a power cut leaves a store that nothing opens."""
    store, done, fsync, move = Store.open(tmp_path / "state", source), list[str](), os.fsync, Path.replace
    store.ensure(["nova/db"])

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: None)
        patched.setattr(Store, "_save", killed)
        with pytest.raises(KeyboardInterrupt):
            store.reseal()

    def synced(handle: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    def moved(self: Path, target: Path) -> Path:
        done.append(f"replace {target.name}")
        return move(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", moved)
    store.reseal()
    assert str(source.path.parent) in done[: done.index("replace secrets.yml")]

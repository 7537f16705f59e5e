"""What a power cut leaves of a set: its name is on the disk after all that is in it, and so is the way to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import WRITING, SetBackup, SetShelf


def test_a_set_has_its_name_after_all_of_it_is_on_the_disk(
    shelf: SetShelf, made: Callable[..., SetBackup], monkeypatch: pytest.MonkeyPatch
) -> None:
    done, rename, fsync = list[str](), Path.rename, os.fsync
    base = shelf.home.parents[1]

    def told(path: Path) -> str:
        words = [WRITING if word.startswith(WRITING) else word for word in path.relative_to(base).parts]
        return "/".join(words) or "."

    def renamed(self: Path, target: Path) -> Path:
        done.append(f"rename {told(self)}")
        return rename(self, target)

    def synced(handle: int) -> None:
        place = Path(f"/proc/self/fd/{handle}").readlink()
        if base in (place, *place.parents):
            done.append(f"sync {told(place)}")
        fsync(handle)

    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(os, "fsync", synced)
    made(parts=("state", "etcd"))
    home = "backups/sets"
    last = done.index(f"rename {home}/{WRITING}")
    before = done[:last]
    assert {f"sync {home}/{WRITING}/{name}.sealed" for name in ("state", "etcd")} <= set(before)
    assert [one for one in before if "set.json" in one]
    assert before[-1] == f"sync {home}/{WRITING}"
    assert done[last + 1] == f"sync {home}"
    assert {"sync .", "sync backups"} <= set(done), "the directories that the first set made"

"""A cache that other users may write to is refused: its programs run as root on every host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import cache_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.store import ArtifactStore


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "cache"
    monkeypatch.setenv("GROUNDUP_CACHE", str(place))
    return place


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777, 0o1777, 0o2770])
@pytest.mark.parametrize("folder", ["", "artifacts", "unpacked", "venv"])
def test_a_cache_that_others_may_write_to_is_refused_by_name(cache: Path, folder: str, mode: int) -> None:
    place = cache / folder
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(mode)
    with pytest.raises(GroundupError) as refused:
        cache_dir()
    assert str(place) in str(refused.value)


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o750])
def test_a_cache_that_others_may_only_read_is_taken(cache: Path, mode: int) -> None:
    cache.mkdir(mode=mode)
    assert cache_dir() == cache


def test_a_new_cache_is_its_owners_alone_whatever_the_umask(cache: Path) -> None:
    former = os.umask(0)
    try:
        ArtifactStore()
    finally:
        os.umask(former)
    assert cache.stat().st_mode & 0o777 == 0o700
    assert cache_dir() == cache

"""The disk of the sets fills while one is written: the error says so, no half counts, and the next run goes on."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.job import site_shelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.write import SetWriter, writing
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.piped import PodContainer
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.unit.backup.websocket_pods import kubeconfig

_SIZE = 2 << 20  # bytes of the disk
_TIMES = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=one) for one in itertools.count())  # of sets
_FULL = "of the set .* cannot be written: No space left on device .0 of 2 MiB are free"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("a file system of its own needs root")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def plan(tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    (tmp_path / "password").write_text("of this test")
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "states"))
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    plan = make_plan(load_site(COLLECTION / "inventories/lab/site.yml"))
    open_store(plan.site).ensure(["pki/ca-key"])
    return replace(plan, backup_directory=str(disk))


def _write(plan: Plan, shelf: SetShelf, fill: Callable[[Callable[[bytes], object]], dict[str, Any]]) -> None:
    with writing(shelf, site=plan.site, store=open_store(plan.site, write=False), now=next(_TIMES)) as writer:
        writer.part("mariadb", fill, source="a test")
        writer.finish(versions={}, heads={}, counts={}, fingerprints={})


def _bytes(number: int) -> Callable[[Callable[[bytes], object]], dict[str, Any]]:
    def fill(write: Callable[[bytes], object]) -> dict[str, Any]:
        for _ in range(number >> 16):
            write(os.urandom(1 << 16))
        return {}

    return fill


def test_a_full_disk_is_told_as_one_whoever_sends_the_part(plan: Plan, tmp_path: Path) -> None:
    shelf = site_shelf(plan)
    with kubeconfig(tmp_path) as path:
        api: Any = SimpleNamespace(_path=path)
        api.streams = lambda *pod, **said: Api.streams(api, *pod, **said)
        pod = PodContainer(api=api, namespace="openstack", pod="mariadb-server-1", container="mariadb")

        def sent(write: Callable[[bytes], object]) -> dict[str, Any]:
            pod.run(["sh", "-c", f"head -c {3 * _SIZE} /dev/urandom"], sink=write)
            return {}

        for fill in (sent, _bytes(3 * _SIZE)):
            with pytest.raises(GroundupError, match=f"part mariadb {_FULL}") as told:
                _write(plan, shelf, fill)
            assert told.value.where == str(shelf.home)
            assert "make room there" in told.value.remedy
            assert (shelf.names(), list(shelf.home.iterdir())) == ([], []), "all of it is gone"


def test_a_good_set_stays_and_the_next_run_goes_on(plan: Plan) -> None:
    shelf = site_shelf(plan)
    _write(plan, shelf, _bytes(_SIZE // 4))
    (good,) = shelf.names()
    with pytest.raises(GroundupError, match=_FULL):
        _write(plan, shelf, _bytes(_SIZE))
    assert shelf.names() == [good]
    backup, place = shelf.find("newest")
    shelf.check(backup, place)
    _write(plan, shelf, _bytes(_SIZE // 4))
    assert len(shelf.names()) == 2


@pytest.mark.parametrize("filled", ["directory", "end", "description"])
def test_a_disk_that_is_full_at_another_moment_leaves_no_set_either(plan: Plan, disk: Path, filled: str) -> None:
    """Full before the directory is made, when the last bytes of a part are written, when the set is described."""
    shelf, ballast = site_shelf(plan), disk / "ballast"
    shelf.home.mkdir()

    def fill_up() -> None:
        with ballast.open("wb", buffering=0) as stream, suppress(OSError):
            while stream.write(bytes(1 << 12)):
                pass
        assert shutil.disk_usage(disk).free == 0

    def run() -> None:
        with writing(shelf, site=plan.site, store=open_store(plan.site, write=False), now=next(_TIMES)) as writer:
            _step(writer)

    def _step(writer: SetWriter) -> None:
        writer.part("mariadb", _last if filled == "end" else _bytes(1 << 16), source="a test")
        if filled == "description":
            fill_up()
        writer.finish(versions={}, heads={}, counts={}, fingerprints={"x": "y" * 100_000})

    def _last(write: Callable[[bytes], object]) -> dict[str, Any]:
        write(b"all there is")
        fill_up()
        return {}

    if filled == "directory":
        fill_up()
    with pytest.raises(GroundupError, match=_FULL):
        run()
    assert shelf.names() == []
    assert shelf.remains() == []
    ballast.unlink()
    filled = "no more"
    run()
    assert len(shelf.names()) == 1

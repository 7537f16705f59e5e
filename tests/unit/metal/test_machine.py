"""What labs change on the machine beyond their own namespaces."""

from __future__ import annotations

import json
import shutil
import threading
import time
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.locks import locked
from ansible_collections.groundup.cloud.plugins.module_utils._container import forwarding, machine
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import RUN
from ansible_collections.groundup.cloud.plugins.module_utils._host.units import MARKS

WATCHERS = "fs/inotify/max_user_instances"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A tree like /proc/sys with the limits at the kernel's defaults."""
    for name, value in {WATCHERS: "128", "fs/inotify/max_user_watches": "1048576"}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    for top in machine.SHARED:
        (tmp_path / top).mkdir(exist_ok=True)
    return tmp_path


def test_limits_that_hosts_share_are_raised_and_never_lowered(kernel: Path) -> None:
    machine.raise_limits(kernel)
    assert (kernel / WATCHERS).read_text() == "8192\n"
    assert (kernel / "fs/inotify/max_user_watches").read_text() == "1048576\n"


def test_raised_limits_are_put_back_to_what_they_were(kernel: Path) -> None:
    before = machine.settings(kernel)
    machine.raise_limits(kernel)
    assert machine.restore(before, kernel) == [WATCHERS]
    assert (kernel / WATCHERS).read_text() == "128\n"


def blocked(threads: int = 1) -> bool:
    """Say whether as many threads of this process wait for a lock of a directory."""
    waiting = [line for line in Path("/proc/locks").read_text().splitlines() if "->" in line and "FLOCK" in line]
    own = str(threading.get_native_id()), str(Path("/proc/self").readlink())
    return sum(line.split()[5] in own for line in waiting) >= threads


def test_who_waits_for_the_lock_of_a_directory_that_goes_meanwhile_gets_that_of_the_new_one(tmp_path: Path) -> None:
    place, held = tmp_path / "run", list[bool]()

    def second() -> None:
        with locked(place, directory=True):
            (place / "lab-b").mkdir()
            held.append(True)

    thread = threading.Thread(target=second)
    with locked(place, directory=True):
        thread.start()
        while not blocked():
            assert thread.is_alive()
            time.sleep(0.01)
        shutil.rmtree(place)
    thread.join()
    assert held == [True]
    assert (place / "lab-b").is_dir()


@pytest.fixture
def run(tmp_path: Path, kernel: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of all labs of a machine with the kernel settings of ``kernel``, and no control group of a lab."""
    settings, restore = machine.settings, machine.restore
    monkeypatch.setattr(machine, "RUN", tmp_path / "groundup")
    monkeypatch.setattr(machine, "settings", lambda root=kernel: settings(root))
    monkeypatch.setattr(machine, "restore", lambda wanted: restore(wanted, kernel))
    monkeypatch.setattr(machine, "remove_groups", lambda *_, **__: None)
    return tmp_path / "groundup"


def test_the_last_lab_takes_the_record_of_the_machine_along(run: Path, kernel: Path) -> None:
    machine.record(run / "lab-a")
    machine.raise_limits(kernel)
    assert json.loads((run / "machine.json").read_text())["settings"][WATCHERS] == "128"
    (run / "lab-a").rmdir()
    assert machine.restore_machine() == [WATCHERS]
    assert not run.exists()


@pytest.mark.parametrize("was_there", [True, False])
def test_the_last_lab_takes_along_the_kernel_module_that_it_brought(
    run: Path, monkeypatch: pytest.MonkeyPatch, was_there: bool
) -> None:
    gone: list[bool] = []
    monkeypatch.setattr(forwarding, "loaded", lambda: was_there)
    monkeypatch.setattr(forwarding, "unload", lambda: gone.append(True))
    machine.record(run / "lab-a")
    monkeypatch.setattr(forwarding, "loaded", lambda: True)
    machine.record(run / "lab-b")
    for lab in ("lab-a", "lab-b"):
        assert gone == []
        (run / lab).rmdir()
        machine.restore_machine()
    assert gone == ([] if was_there else [True])


def test_a_lab_that_is_about_to_start_keeps_what_it_has_raised_when_another_goes(run: Path, kernel: Path) -> None:
    for lab in ("lab-a", "lab-b"):
        machine.record(run / lab)
    machine.raise_limits(kernel)
    (run / "lab-a").rmdir()
    assert machine.restore_machine() == []
    assert (kernel / WATCHERS).read_text() == "8192\n"
    assert (run / "machine.json").exists(), "the machine as it was is known until the last lab goes"


def test_marks_of_a_host_are_not_where_labs_are_removed() -> None:
    assert not MARKS.is_relative_to(RUN)

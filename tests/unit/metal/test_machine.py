"""What labs change on the machine beyond their own namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._container import machine

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

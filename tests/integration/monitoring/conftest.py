"""Artifacts of the supply for tests of monitoring, and a host that tells what runs on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import host_root
from ansible_collections.groundup.cloud.tests.integration.images.conftest import artifact, image, root

from .told import Told, exporter

__all__ = ["artifact", "image", "root"]


@pytest.fixture
def told(tmp_path: Path, root: Callable[[str], Path]) -> Iterator[Told]:
    with host_root(tmp_path, "10.90.0.41/24") as host:
        exporter(host, root("root-monitoring"))
        found = Told(host)
        until(lambda: host.run("curl", "-sf", "http://127.0.0.1:9100/metrics").returncode == 0, seconds=30)
        yield found

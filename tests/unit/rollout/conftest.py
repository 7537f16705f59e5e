"""Clouds that tests of several services ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.unit.tls import serving

from .fake_cloud import Cloud
from .fake_keystone import Keystone


@pytest.fixture
def keystone(tmp_path: Path) -> Iterator[Keystone]:
    running = Keystone(tmp_path)
    with serving(running.server):
        yield running


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()

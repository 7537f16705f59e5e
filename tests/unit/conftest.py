"""Unit tests run without root; the few marked ``root`` are skipped then."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs root for everybody else."""
    if os.geteuid() != 0:
        for item in items:
            if item.get_closest_marker("root"):
                item.add_marker(pytest.mark.skip(reason="namespaces, mounts and skopeo's archives need root"))

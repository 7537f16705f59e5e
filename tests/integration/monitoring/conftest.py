"""Artifacts of the supply for tests of monitoring."""

from __future__ import annotations

from ansible_collections.groundup.cloud.tests.integration.images.conftest import artifact, root

__all__ = ["artifact", "root"]

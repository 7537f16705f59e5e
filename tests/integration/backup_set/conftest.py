"""Images as they were built, and programs in them as in the containers of pods."""

from __future__ import annotations

from ansible_collections.groundup.cloud.tests.integration.images.conftest import artifact, image

__all__ = ["artifact", "image"]

"""What tests of one host share."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes


@pytest.fixture
def changes() -> Changes:
    return Changes(check=False)

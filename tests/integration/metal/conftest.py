"""One seed with fake machines for all tests that need no more of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ansible_collections.groundup.cloud.tests.integration.metal.fake import FakeSeed, fake_seed


@pytest.fixture(scope="session")
def seed_of_fakes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeSeed]:
    """A seed's Ironic with fake hardware, and its page of machines."""
    with fake_seed(tmp_path_factory.mktemp("fakes")) as found:
        yield found

"""One seed with fake machines for all tests that need no more of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.tests.integration.metal.fake import FakeSeed, fake_seed
from ansible_collections.groundup.cloud.tests.integration.metal.stranger import Stranger, forget


@pytest.fixture(scope="session")
def seed_of_fakes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeSeed]:
    """A seed's Ironic with fake hardware, and its page of machines."""
    with fake_seed(tmp_path_factory.mktemp("fakes")) as found:
        yield found


@pytest.fixture(scope="module")
def stranger(seed_of_fakes: FakeSeed) -> Iterator[Stranger]:
    """Somebody else on the network of that seed; what is enrolled meanwhile goes with them."""
    for last in range(7, 12):
        seed_of_fakes.host.run("ip", "address", "add", f"10.0.2.{last}/32", "dev", "lo", outside=True)
    found = Stranger(seed_of_fakes)
    before = set(seed_of_fakes.inside(found.ironic.nodes))
    yield found
    left = wait_until(partial(forget, found, before), timeout=120, pause=1)
    assert not left, left

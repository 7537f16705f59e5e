"""A seed's site whose network a test works in, by a thread that has entered it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.integration.metal.fake_site import fake_site
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import _enter

Inside = Callable[[Callable[[], Any]], Any]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plan, Inside]]:
    """A site of one seed, and what does a piece of work in its network."""
    if missing := supply.missing(["ironic-13"]):
        pytest.skip(f"not built on this machine: {', '.join(missing)}")
    patch = pytest.MonkeyPatch()
    for name in ("GROUNDUP_STATE", "ANSIBLE_VAULT_PASSWORD_FILE"):
        patch.setenv(name, "")  # the site writes its own
    with fake_site(tmp_path_factory.mktemp("site"), 1) as (host, plan), ThreadPoolExecutor(1) as thread:
        (pid,) = [word for word in host.argv("true") if word.isdigit()]
        thread.submit(_enter, int(pid)).result()
        yield plan, lambda work: thread.submit(work).result()
    patch.undo()

"""A Ceph on loopback for the tests of a module; skips where its packages are not built, or this is not root."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import stand_in
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.store import ArtifactStore
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.unpack import unpacked
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import load_lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.keys import keys

from .loopback import Loopback

ROOTFS = "rootfs-storage-13"


@pytest.fixture(scope="module")
def ceph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    """A running cluster; a module's ``MONITORS`` and ``OSDS`` say how many."""
    if os.geteuid() != 0:
        pytest.skip("a Ceph in namespaces needs root")
    lock = load_lock()
    found = ArtifactStore().find(lock.artifacts[ROOTFS], keys(lock, lock.closure((ROOTFS,)))[ROOTFS])
    if found is None:
        pytest.skip(f"{ROOTFS} is not built on this machine")
    sizes = {
        name.lower(): getattr(request.module, name) for name in ("MONITORS", "OSDS") if hasattr(request.module, name)
    }
    with Loopback(
        unpacked(found), tmp_path_factory.mktemp("ceph"), bcrypt=(stand_in.PATH, stand_in.SOURCE), **sizes
    ) as running:
        yield running

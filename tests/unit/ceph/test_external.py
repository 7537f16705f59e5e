"""A Ceph that somebody else runs: what was given as its keys is looked at before it is used."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import external

CEPH: dict[str, Any] = {"release": 18, "make": False, "clients": {"glance": {"secret": "ceph/client.glance"}}}


@pytest.mark.parametrize("given", ["hunter2", "AQkey==\n", "Schlüssel", ""])
def test_what_is_no_key_is_named_and_not_shown(given: str) -> None:
    with pytest.raises(GroundupError, match=r"ceph/client\.glance is no key of Ceph") as caught:
        external.converge(Changes(check=True), ceph=CEPH, keys={"ceph/client.glance": given}, timeout=1)
    assert not given or given not in str(caught.value)

"""A Ceph that somebody else runs: what was given as its keys is looked at before it is used."""

from __future__ import annotations

import base64
import sys
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import external

from .host import GLANCE, POOL, plan

CEPH: dict[str, Any] = {"make": False, "clients": {"glance": GLANCE}}


@pytest.mark.parametrize("given", ["hunter2", "AQkey==\n", "Schlüssel", ""])
def test_what_is_no_key_is_named_and_not_shown(given: str) -> None:
    with pytest.raises(GroundupError, match=r"ceph/client\.glance is no key of Ceph") as caught:
        external.converge(Changes(check=True), ceph=plan(**CEPH), keys={"ceph/client.glance": given}, timeout=1)
    assert not given or given not in str(caught.value)


def test_a_host_without_ceph_s_client_is_named_and_a_prediction_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rados", None)  # it cannot be imported
    key = base64.b64encode(b"\1" + bytes(27)).decode()
    ceph = plan(**CEPH | {"make": True, "pools": {"images": POOL | {"name": "cloud-images"}}})
    keys = {f"ceph/client.{name}": key for name in ("glance", "admin")}
    predicted = Changes(check=True)
    external.converge(predicted, ceph=ceph, keys=keys, timeout=1)
    assert predicted.done == ["make pool cloud-images", "make client.glance"]
    with pytest.raises(GroundupError, match="has no client of Ceph") as caught:
        external.converge(Changes(check=False), ceph=ceph, keys=keys, timeout=1)
    assert "groundup.cloud.host" in caught.value.remedy

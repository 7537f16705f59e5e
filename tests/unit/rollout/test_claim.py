"""A cluster refuses the secrets of another store, and takes new values of those that somebody else made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.session import Session
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutError
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Redactor, Store


class Cluster:
    """One ConfigMap."""

    def __init__(self) -> None:
        self.item: dict[str, Any] | None = None

    def find(self, _path: str) -> dict[str, Any] | None:
        return self.item

    def get(self, _path: str, **_query: str) -> dict[str, Any]:
        return {"items": []}  # no other namespace has one

    def apply(self, _path: str, item: dict[str, Any], *, manager: str) -> None:
        assert manager
        self.item = item


@pytest.mark.parametrize(("name", "refused"), [("edge/key", False), ("edge/next-key", False), ("nova/database", True)])
def test_a_new_key_of_the_operators_certificate_is_no_other_store(tmp_path: Path, name: str, refused: bool) -> None:
    store = Store.open(tmp_path / "state", PasswordSource(path=tmp_path / "password", ours=True))
    store.ensure(["pki/ca-key", "keystone/admin"])
    store.take({name: "of spring"})
    plan = make_plan(load_site(COLLECTION / "inventories/lab/site.yml"))
    given: dict[str, Any] = {"rollout": None, "api": Cluster()}
    session = Session(
        site_file="site.yml", plan=plan, redactor=Redactor({}), directory=tmp_path / "state", store=store, **given
    )
    session.claim(write=True)
    store.take({name: "of summer"}, replacing=[name])
    if refused:
        with pytest.raises(RolloutError, match=name):
            session.claim(write=True)
    else:
        assert session.claim(write=True) == ()

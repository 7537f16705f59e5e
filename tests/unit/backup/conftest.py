"""A site with a secrets store, and sets of it without a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup, SetShelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.job import site_shelf
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.parts import parts
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.write import writing
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    (tmp_path / "password").write_text("of this test")
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "states"))
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    plan = make_plan(load_site(COLLECTION / "inventories/lab/site.yml"))
    open_store(plan.site).ensure(["pki/ca-key", "keystone/admin"])
    return replace(plan, kubernetes=replace(plan.kubernetes, endpoint_address="127.0.0.1", endpoint_port=9))


@pytest.fixture
def shelf(plan: Plan) -> SetShelf:
    return site_shelf(plan)


@pytest.fixture
def made(plan: Plan, shelf: SetShelf) -> Callable[..., SetBackup]:
    """Return what writes a set; each part has its own name as content."""

    def make(
        now: datetime | None = None, *, site: str = plan.site, parts: tuple[str, ...] = parts(plan),
        contents: Mapping[str, bytes] = MappingProxyType({}), versions: Mapping[str, str] = MappingProxyType({}),
        networks: Mapping[str, str] = MappingProxyType({}),
    ) -> SetBackup:  # fmt: skip
        store = open_store(plan.site, write=False)
        with writing(shelf, site=site, store=store, now=now or datetime.now(UTC)) as writer:
            for name in parts:

                def fill(write: Callable[[bytes], object], name: str = name) -> dict[str, Any]:
                    write(contents.get(name, name.encode()))
                    return {"files": 1, "counts": {}, "keys": [1, 1], "revision": [1, 1], "networks": dict(networks)}

                writer.part(name, fill, source="a test")
            return writer.finish(
                versions={"etcd": "3.6.8", **versions}, heads={"keystone": "a"}, counts={"keys": 1}, fingerprints={}
            )

    return make

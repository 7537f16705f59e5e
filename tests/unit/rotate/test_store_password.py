"""The store's password is rotated where nothing else keeps a copy of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.base import RotationAsked
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.kinds.store_password import StorePassword
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store


def kind(tmp_path: Path, password_file: str) -> StorePassword:
    store = Store.open(tmp_path / "state", PasswordSource(path=tmp_path / "password", ours=True))
    store.ensure(["nova/db"])
    plan: Any = SimpleNamespace(site="test", backups=SimpleNamespace(password_file=password_file))
    return StorePassword(RotationAsked(plan=plan, site_file="site.yml", store=store, changes=Changes(check=False)))


def test_a_copy_of_the_password_that_timers_read_stops_the_rotation(tmp_path: Path) -> None:
    """Before, each timer and the copy of the binary logs failed from then on."""
    with pytest.raises(GroundupError, match=r"backups.password_file names another file, /copy: .* no unit opens"):
        kind(tmp_path, "/copy").run("check")
    for same in ("", str(tmp_path / "password")):
        assert not kind(tmp_path, same).run("check")["open"]


def test_what_to_do_then_names_all_that_the_former_password_opens(tmp_path: Path) -> None:
    said = kind(tmp_path, "").next_steps()
    assert "no set and no stream of binary logs" in said

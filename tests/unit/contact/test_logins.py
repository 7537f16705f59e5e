"""Which logins are tried, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.contact import logins

VARIABLES = {"groundup_site": {"site": "edge", "access": {"user": "ops", "port": 22}}}


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "_configured_user", lambda *_: "me")


def tried(**how: Any) -> list[logins.Login]:
    known: dict[str, Any] = {"address": "10.0.0.1", "port": 22, "user": "ops"}
    return logins.operator_logins(**{**known, "wished": None, "key": None, "password": False, **how})


def test_the_sites_account_comes_before_the_one_of_the_operators_ssh() -> None:
    assert [login.user for login in tried()] == ["ops", "me"]
    assert [login.user for login in tried(user="me")] == ["me"]
    assert [login.user for login in tried(wished="root")] == ["root"], "-u is an order"


def test_no_login_asks_on_the_terminal() -> None:
    assert all("BatchMode=yes" in login.options["ssh_extra_args"] for login in tried(key="/k"))
    with_password = tried(password=True)[0].options["ssh_extra_args"]
    assert "PreferredAuthentications=password," in with_password


def test_a_named_key_is_not_lost_behind_those_of_an_agent() -> None:
    assert "IdentitiesOnly=yes" in tried(key="/k", password=True)[0].options["ssh_extra_args"]
    assert "IdentitiesOnly" not in tried()[0].options["ssh_extra_args"]


def test_every_login_has_a_connection_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Else the site's key would seem to work through the operator's open connection."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    paths = [login.options["control_path"] for login in (logins.site_login(VARIABLES), *tried())]
    assert len(set(paths)) == 3


def test_the_sites_login_uses_its_key_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    found = logins.site_login(VARIABLES).variables()
    assert found["ansible_ssh_private_key_file"] == str(tmp_path / "edge/ssh/id_ed25519")
    for option in ("IdentitiesOnly=yes", "IdentityAgent=none", "PreferredAuthentications=publickey"):
        assert option in found["ansible_ssh_extra_args"]


def test_root_needs_no_sudo() -> None:
    assert tried(wished="root")[0].variables()["ansible_become"] is False
    assert tried()[0].variables()["ansible_become"] is True

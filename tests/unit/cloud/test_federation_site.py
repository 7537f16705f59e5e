"""Providers of logins of a site: before its cloud is there, and the secret that nobody can generate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.action import identity_providers
from ansible_collections.groundup.cloud.plugins.inventory import site as inventory
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_secrets
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import federation
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.connection import UnreachedError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.input.load import with_files
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.site import NamedFile
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import SecretsError
from ansible_collections.groundup.cloud.tests.unit.certificates import NOW
from ansible_collections.groundup.cloud.tests.unit.plan.certificate_cases import LEAF, MIDDLE, served
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed

ROOT = Path(__file__).resolve().parents[3]
CORP = {
    "oidc": {"issuer": "https://sso.test", "client_id": "cloud"},
    "mapping": [{"group": "users", "projects": [{"project": "demo", "roles": ["member"]}]}],
}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def data(**providers: Any) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "inventories/lab/site.yml").read_text())
    return found | ({"identity": {"providers": providers}} if providers else {})


def plan_of(**providers: Any) -> Plan:
    return make_plan(build_site(data(**providers)))


def test_a_dry_run_before_the_cloud_predicts_and_a_run_is_an_error() -> None:
    changes = Changes(check=True)
    assert identity_providers._converge(plan_of(corp=CORP), changes, write=True) == []
    assert changes.done == ["create provider corp"]
    with pytest.raises(UnreachedError):
        identity_providers._converge(plan_of(corp=CORP), Changes(check=False), write=True)


def test_a_site_that_has_none_and_had_none_asks_nobody() -> None:
    changes = Changes(check=False)
    assert identity_providers._converge(plan_of(), changes, write=True) == []
    assert identity_providers._asked(plan_of(), fail=True) == []
    assert changes.done == []


def test_a_site_that_had_one_is_asked_and_its_inventory_says_so(tmp_path: Path) -> None:
    file = tmp_path / "site.yml"
    file.write_text(yaml.safe_dump(data()))
    site = plan_of().site

    def variables() -> dict[str, Any]:
        from ansible.inventory.data import InventoryData
        from ansible.parsing.dataloader import DataLoader

        found, plugin = InventoryData(), inventory.InventoryModule()
        plugin.parse(found, DataLoader(), str(file))
        return dict(found.groups["all"].get_vars())

    assert "groundup_former_providers" not in variables()
    federation.record(site, federation.Given(providers=("corp",)))
    assert variables()["groundup_former_providers"] is True
    with pytest.raises(UnreachedError):
        identity_providers._converge(plan_of(), Changes(check=False), write=True)
    federation.record(site, federation.Given())
    assert "groundup_former_providers" not in variables()


def test_keystones_public_name_is_asked_with_the_cas_that_its_certificate_is_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def broken(_: Plan, ask: Any) -> dict[str, str]:
        asked.append(ask.keywords["authority"].name)
        return {}

    monkeypatch.setattr(federation, "broken", broken)
    own, changes = plan_of(corp=CORP), served(LEAF.pem, MIDDLE.pem)
    files = {name: NamedFile(text=text) for name, text in changes.pop("files").items()}
    written = changed(data(corp=CORP), changes)
    company = make_plan(with_files(build_site(written), files, now=NOW))
    for plan in (own, company):
        identity_providers._asked(plan, fail=True)
    assert asked == ["ca.crt", "trust.pem"]


def test_a_clients_secret_is_given_and_never_generated() -> None:
    with pytest.raises(SecretsError, match="keystone/oidc-corp") as error:
        site_secrets.create(plan_of(corp=CORP), {}, write=False)
    assert "secrets_given: {keystone/oidc-corp: ...}" in str(error.value)
    for wrong in ("wo\nrd", "wo${PATH}rd"):
        with pytest.raises(SecretsError, match="keystone/oidc-corp has a line end") as refused:
            site_secrets.create(plan_of(corp=CORP), {"keystone/oidc-corp": wrong}, write=False)
        assert wrong not in str(refused.value)
    made = site_secrets.create(plan_of(corp=CORP), {"keystone/oidc-corp": "word"}, write=False)
    assert {"keystone/oidc-corp", "keystone/login-sessions"} <= set(made["created"])
    assert "keystone/login-sessions" not in site_secrets.create(plan_of(), {}, write=False)["created"]

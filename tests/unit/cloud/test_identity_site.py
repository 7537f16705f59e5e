"""Users of directories and providers of a site: before its cloud is there, and the secret that nobody can generate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.action import identity as action
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import https, site_secrets
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import administrator, federation, keystone
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.administrator import UnreachedError
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.grants import MARK
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.input.load import with_files
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.site import NamedFile
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import SecretsError
from ansible_collections.groundup.cloud.tests.unit.certificates import NOW
from ansible_collections.groundup.cloud.tests.unit.plan.certificate_cases import LEAF, MIDDLE, served
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed

from .identity_api import Server

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
    action._converge(plan_of(corp=CORP), changes, write=True)
    given = "give role member on project demo of domain Default to group users of corp"
    assert changes.done == ["create provider corp", given]
    with pytest.raises(UnreachedError):
        action._converge(plan_of(corp=CORP), Changes(check=False), write=True)


def test_a_site_that_has_none_is_asked_too_for_what_it_had_before(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnreachedError):
        action._converge(plan_of(), Changes(check=False), write=True)
    server = Server()
    server.objects["/domains"]["c"][MARK] = {"/domains/c/groups/g/roles/r": "role reader on domain corp"}
    server.given.add("/domains/c/groups/g/roles/r")
    monkeypatch.setattr(keystone, "of_site", lambda _: server.keystone)
    changes = Changes(check=False)
    action._converge(plan_of(), changes, write=False)
    assert (changes.done, server.written) == (["take back role reader on domain corp"], [])
    action._converge(plan_of(), Changes(check=False), write=True)
    assert server.given == set()
    assert action._unasked(plan_of(), fail=True) == []


def test_an_edge_without_keystone_is_unreached_and_a_wrong_password_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    way = administrator.Administrator(url="https://identity.test/v3", authority=tmp_path, password="p")
    monkeypatch.setattr(keystone, "administrator", lambda _: way)
    for status, kind in ((503, UnreachedError), (401, GroundupError)):
        monkeypatch.setattr(https, "request", lambda *_, at=status, **__: https.Answer(status=at, headers={}, body={}))
        with pytest.raises(kind) as caught:
            keystone.of_site(plan_of())
        assert type(caught.value) is kind


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
        action._unasked(plan, fail=True)
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

"""Secrets that somebody else made are never generated: a run stops, and tells whose they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.site_secrets import create, never_generated
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import SecretsError, open_store
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed, example
from ansible_collections.groundup.cloud.tests.unit.plan.identity_cases import domain


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Plan]:
    """Return a function that plans an example site with changes, in a state directory of its own."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("GROUNDUP_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    (tmp_path / "password").write_text("word of a test\n")

    def plan(name: str, changes: dict[str, Any] | None = None) -> Plan:
        return make_plan(build_site(changed(example(name), changes or {})))

    return plan


@pytest.mark.parametrize("write", [True, False])
def test_a_bmcs_password_is_not_generated_for_a_production_profile(planned: Callable[..., Plan], write: bool) -> None:
    plan = planned("region")
    with pytest.raises(SecretsError) as caught:
        create(plan, {}, write=write)
    said = str(caught.value)
    assert "the secrets store has no bmc/" in said
    assert "bmc/hypervisors: " in said
    assert "and 312 more" in said or " more" in said
    assert "secrets_given: {bmc/" in said
    assert not open_store(plan.site, write=False).names()


def test_a_mistyped_name_is_refused_though_the_others_are_given(planned: Callable[..., Plan]) -> None:
    plan = planned("region", {"machines/hypervisor/bmc/credentials": "bmc/hypervisor"})
    known = {str(host.bmc["credentials"]) for host in plan.hosts.values() if host.bmc} - {"bmc/hypervisor"}
    given = dict.fromkeys({*known, "bmc/hypervisors"}, "a-word-of-theirs")
    with pytest.raises(SecretsError, match="has no bmc/hypervisor\n"):
        create(plan, given, write=True)
    create(plan, {"bmc/hypervisor": "another-word"}, write=True)
    assert open_store(plan.site, write=False).get("bmc/hypervisor") == "another-word"


def test_a_lab_goes_on_generating_them(planned: Callable[..., Plan]) -> None:
    create(planned("lab-metal"), {}, write=True)


def test_a_directorys_password_is_given(planned: Callable[..., Plan]) -> None:
    plan = planned("cloud", domain())
    with pytest.raises(SecretsError, match="has no keystone/ldap-corp\n"):
        create(plan, {}, write=True)
    create(plan, {"keystone/ldap-corp": "their-word"}, write=True)
    assert "keystone/ldap-corp" in never_generated(plan), "a new one is no other store"
    create(planned("cloud", domain(bind_dn=None, cleartext=True, url="ldap://ldap.corp.test")), {}, write=True)


def test_what_alerts_and_metrics_are_sent_by_is_given(planned: Callable[..., Plan]) -> None:
    pager = {"monitoring/enabled": True, "monitoring/pagerduty": {}}
    mail = {"to": ["a@b.test"], "sender": "c@d.test", "smarthost": "mail.b.test:587"}
    store = {"monitoring/remote_write": {"url": "https://metrics.b.test/write", "token": True}}
    all_three = planned("cloud", {**pager, **store, "monitoring/mail": {**mail, "username": "alerts"}})
    with pytest.raises(SecretsError, match="has no monitoring/pagerduty, monitoring/mail, monitoring/remote_write\n"):
        create(all_three, {}, write=True)
    names = {"monitoring/mail", "monitoring/pagerduty", "monitoring/remote_write"}
    create(all_three, dict.fromkeys(names, "their-word"), write=True)
    assert names <= never_generated(all_three)
    create(planned("lab", {"monitoring/enabled": True, "monitoring/mail": mail}), {}, write=True)


def test_what_somebody_else_made_is_replaced_on_purpose_alone(planned: Callable[..., Plan]) -> None:
    plan, name = planned("cloud", domain()), "keystone/ldap-corp"
    create(plan, {name: "first"}, write=True)
    with pytest.raises(SecretsError, match="has another value for keystone/ldap-corp") as caught:
        create(plan, {name: "second"}, write=True)
    assert "secrets_replace" in caught.value.remedy
    generated = open_store(plan.site, write=False).get("keystone/admin")
    for given, wrong in (({name: "second"}, "keystone/admin"), ({"keystone/admin": "x"}, "keystone/admin"), ({}, name)):
        with pytest.raises(SecretsError, match=f"{wrong} cannot be replaced"):
            create(plan, given, write=True, replace=[wrong])
    assert create(plan, {name: "second"}, write=False, replace=[name])["created"] == [name]
    assert open_store(plan.site, write=False).get(name) == "first"
    assert create(plan, {name: "second"}, write=True, replace=[name])["created"] == [name]
    assert not create(plan, {name: "second"}, write=True, replace=[name])["changed"]
    after = open_store(plan.site, write=False)
    assert (after.get(name), after.get("keystone/admin")) == ("second", generated)


def test_everything_that_is_not_given_is_told_at_once(planned: Callable[..., Plan]) -> None:
    changes = {**domain(), "proxy": {"http": "http://proxy.test:3128", "login": True}}
    with pytest.raises(SecretsError, match="has no keystone/ldap-corp, proxy/login\n") as caught:
        create(planned("cloud", changes), {}, write=True)
    assert "secrets_given: {keystone/ldap-corp: ..., proxy/login: 'user:password'}" in caught.value.remedy
    assert "identity.domains.corp.ldap.bind_dn; proxy.login of the site file" in caught.value.where

"""Tokens and passwords as the plan has them, and as Keystone reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.keystone_logins import AFTERLIFE, ROTATION, keys
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import password
from ansible_collections.groundup.cloud.tests.unit.oslo import read

PlanOf = Callable[..., Plan]


def keystone(plan: Plan) -> Any:
    return next(one.values["conf"]["keystone"] for one in plan.openstack.releases if one.name == "keystone")


def test_keys_are_kept_until_the_last_token_that_they_signed_has_ended(plan_of: PlanOf) -> None:
    for life in (300, 3600, 43200, 43201, 604800):
        # Signed at the end of a key's turn, a token is read until that key goes: one rotation a key that is kept.
        assert (keys(life) - 2) * ROTATION >= life + AFTERLIFE > (keys(life) - 3) * ROTATION
        conf = keystone(plan_of("cloud", {"identity/token_life": life}))
        assert (conf["token"]["expiration"], conf["fernet_tokens"]["max_active_keys"]) == (life, keys(life))


def test_wrong_passwords_lock_accounts_where_those_of_services_are_exempt(plan_of: PlanOf) -> None:
    assert keystone(plan_of("cloud"))["security_compliance"]["lockout_failure_attempts"] == 5
    real = plan_of("cloud", {"openstack/charts": "/srv/charts"})
    assert "lockout_failure_attempts" not in keystone(real)["security_compliance"]
    assert not [one for one in real.findings if one.name in ("lockout-off", "lockout-of-services")]


@pytest.mark.parametrize(
    ("rules", "good", "bad"),
    [
        ({}, "a" * 12, "a" * 11),
        ({"length": 16}, "a" * 16, "a" * 15),
        ({"regex": "(?=.*[0-9])", "explanation": "with a digit"}, "a" * 11 + "1", "a" * 12),
        ({"regex": "[a-zA-Z0-9]+$", "explanation": "letters and digits"}, "a" * 12, "a" * 12 + "-"),
        ({"regex": r"[^\$]+$", "explanation": "no $word"}, "a" * 12, "a" * 12 + "$"),
    ],
)
def test_a_password_has_its_length_and_matches_the_expression(
    plan_of: PlanOf, rules: dict[str, Any], good: str, bad: str
) -> None:
    plan = plan_of("cloud", {"identity/passwords": rules})
    assert [one for one in plan.findings if one.name.startswith("password-")] == []
    written = keystone(plan)["security_compliance"]
    expression = read(written["password_regex"])
    assert expression.endswith(rules.get("regex", ""))
    assert read(written["password_regex_description"]).endswith(rules.get("explanation", ""))
    assert re.match(expression, good)
    assert not re.match(expression, bad)
    assert all(re.match(expression, password() + "a") for _ in range(20))


def test_the_dashboards_logins_end_with_their_token(plan_of: PlanOf) -> None:
    plan = plan_of("cloud", {"identity/token_life": 7200})
    horizon = next(one for one in plan.openstack.releases if one.name == "horizon")
    assert horizon.values["conf"]["horizon"]["local_settings"]["config"]["raw"]["SESSION_TIMEOUT"] == 7200

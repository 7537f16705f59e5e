"""Who hears what follows from the site file; secrets are in files of their own on the monitoring host."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._host.watched import PROOF
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import HOME
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.routing import secrets_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed, example
from ansible_collections.groundup.cloud.tests.unit.plan.refusal import refused

from .sites import planned

HOOK = "https://pager.corp.test/hook"
MAIL: dict[str, Any] = {
    "to": ["ops@corp.test", "night@corp.test"], "sender": "cloud@corp.test", "smarthost": "mail.corp.test:587",
}  # fmt: skip


def routed(plan: Plan) -> dict[str, Any]:
    """Return Alertmanager's configuration."""
    found: dict[str, Any] = yaml.safe_load(files(plan)["alertmanager.yml"])
    return found


def receivers(plan: Plan) -> dict[str, set[str]]:
    """Return the ways by which each receiver is told."""
    return {one["name"]: {*one} - {"name"} for one in routed(plan)["receivers"]}


def only(plan: Plan, receiver: str, way: str) -> dict[str, Any]:
    """Return the one setting of a way."""
    (found,) = (one for each in routed(plan)["receivers"] if each["name"] == receiver for one in each[way])
    return dict(found)


def test_alerts_go_to_the_webhook_of_the_site_file() -> None:
    receiver, _ = routed(planned("ha", monitoring__webhook=HOOK))["receivers"]
    assert [one["url"] for one in receiver["webhook_configs"]] == [HOOK]
    silent, nobody = routed(planned("ha"))["receivers"]
    assert "webhook_configs" not in silent
    assert nobody == {"name": "nobody"}


def test_the_alert_that_always_fires_is_sent_to_nobody() -> None:
    plan = planned("ha", monitoring__webhook=HOOK)
    (route,) = routed(plan)["route"]["routes"]
    assert route == {"receiver": "nobody", "matchers": [f'alertname="{PROOF}"']}


def test_critical_alerts_go_to_the_pager_warnings_to_mail_and_all_to_the_webhook() -> None:
    plan = planned("ha", monitoring__webhook=HOOK, monitoring__pagerduty={}, monitoring__mail=MAIL)
    assert receivers(plan) == {
        "site": {"webhook_configs", "email_configs"},
        "critical": {"webhook_configs", "pagerduty_configs"}, "nobody": set(),
    }  # fmt: skip
    assert routed(plan)["route"]["routes"] == [
        {"receiver": "nobody", "matchers": [f'alertname="{PROOF}"']},
        {"receiver": "critical", "matchers": ['severity="critical"']},
    ]


def test_without_a_pager_mail_gets_all() -> None:
    assert receivers(planned("ha", monitoring__mail=MAIL)) == {"site": {"email_configs"}, "nobody": set()}


def test_a_pager_is_told_by_the_key_in_a_file() -> None:
    plan = planned("ha", monitoring__pagerduty={"url": "https://events.corp.test/v2/enqueue"})
    found = only(plan, "critical", "pagerduty_configs")
    assert (found["routing_key_file"], found["url"]) == (
        f"{HOME}/receivers/pagerduty",
        "https://events.corp.test/v2/enqueue",
    )
    assert "url" not in only(planned("ha", monitoring__pagerduty={}), "critical", "pagerduty_configs")
    assert plan.monitoring
    assert secrets_of(plan.monitoring) == {"receivers/pagerduty": "monitoring/pagerduty"}


def test_mail_is_sent_with_tls_and_by_the_password_in_a_file_where_there_is_a_login() -> None:
    found = only(planned("ha", monitoring__mail=MAIL), "site", "email_configs")
    assert (found["to"], found["from"], found["smarthost"]) == (
        "ops@corp.test, night@corp.test",
        *list(MAIL.values())[1:],
    )
    assert found["require_tls"] is True
    assert not {"auth_username", "auth_password_file"} & set(found)
    plan = planned("ha", monitoring__mail=MAIL | {"username": "alerts"})
    found = only(plan, "site", "email_configs")
    assert (found["auth_username"], found["auth_password_file"]) == ("alerts", f"{HOME}/receivers/mail")
    assert plan.monitoring
    assert secrets_of(plan.monitoring) == {"receivers/mail": "monitoring/mail"}


def test_a_server_that_begins_with_tls_is_not_asked_for_it_again() -> None:
    plan = planned("ha", monitoring__mail=MAIL | {"smarthost": "mail.corp.test:465"})
    assert only(plan, "site", "email_configs")["require_tls"] is False


@pytest.mark.parametrize(
    ("mail", "key"),
    [
        ({"username": "alerts", "require_tls": False}, "monitoring.mail"),
        ({"smarthost": "mail.corp.test"}, "monitoring.mail.smarthost"),
        ({"to": []}, "monitoring.mail.to"),
        ({"to": ["a@b.test, c"]}, "monitoring.mail.to"),
    ],
)
def test_mail_that_could_not_be_sent_is_refused(mail: dict[str, Any], key: str) -> None:
    site = changed(example("lab"), {"monitoring/enabled": True, "monitoring/mail": MAIL | mail})
    (problem,) = refused(json.dumps(site)).problems
    assert problem.key.startswith(key)


def test_what_is_told_by_its_cause_is_not_told_again() -> None:
    assert routed(planned("ha"))["inhibit_rules"] == [
        {
            "source_matchers": ['alertname="RackDown"'],
            "target_matchers": ['alertname="HostDown"'],
            "equal": ["site", "rack"],
        },
        {
            "source_matchers": ['alertname="HostDown"'],
            "target_matchers": ['alertname!~"HostDown|RackDown"'],
            "equal": ["site", "object"],
        },
        {
            "source_matchers": ['alertname="UnitEnded"', 'unit="neutron-ovn-agent.service"'],
            "target_matchers": ['alertname="OvnAgentSilent"'],
            "equal": ["site", "object"],
        },
    ]

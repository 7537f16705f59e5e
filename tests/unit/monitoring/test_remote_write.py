"""Another store of metrics: where it is, its login, and what is refused."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import HOME, log_unit_texts, unit_texts
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.routing import secrets_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.targets import targets
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed, example
from ansible_collections.groundup.cloud.tests.unit.plan.refusal import refused

from .sites import planned

URL = "https://metrics.corp.test:443/api/v1/write"
OWN = "-remoteWrite.url=http://127.0.0.1:8428/api/v1/write"
BASIC = "-remoteWrite.basicAuth"
SECRET = f"{HOME}/remote-write/secret"


def options(**login: Any) -> list[str]:
    """Return what vmagent is told of stores and logins."""
    monitoring = planned("lab", monitoring__remote_write={"url": URL, **login}).monitoring
    assert monitoring
    assert monitoring.remote_write
    assert secrets_of(monitoring) == ({"remote-write/secret": "monitoring/remote_write"} if login else {})
    text = unit_texts(days=1, hosts=1, remote=asdict(monitoring.remote_write))[watched.METRICS_AGENT]
    return [word for word in text.replace("\\\n", " ").split() if word.startswith("-remoteWrite.")][:-2]


@pytest.mark.parametrize(("login", "more"), [
    ({}, []),
    ({"username": "cloud"}, [f"{BASIC}.username=cloud,", f"{BASIC}.passwordFile={SECRET},"]),
    ({"token": True}, [f"-remoteWrite.bearerTokenFile={SECRET},"]),
])  # fmt: skip
def test_the_login_is_for_the_other_store_alone_and_the_own_one_gets_metrics_too(
    login: dict[str, Any], more: list[str]
) -> None:
    assert options(**login) == [f"-remoteWrite.url={URL}", OWN, *more]


def test_the_signs_of_a_url_are_not_systemds() -> None:
    remote = {"url": "https://metrics.corp.test/a%2Fb", "username": None, "secret": None}
    assert "/a%%2Fb \\\n" in unit_texts(days=1, hosts=1, remote=remote)[watched.METRICS_AGENT]


def test_what_rules_find_goes_to_both_stores() -> None:
    remote = {"url": URL, "username": None, "secret": None}
    text = unit_texts(days=1, hosts=1, remote=remote)[watched.RULES]
    assert "-remoteWrite.url=http://127.0.0.1:8429 " in text
    assert "-remoteRead.url=http://127.0.0.1:8428 " in text
    assert "-remoteWrite.url=http://127.0.0.1:8428 " in unit_texts(days=1, hosts=1)[watched.RULES]
    logs = log_unit_texts(hosts=1, days=1, gib=1)[watched.LOG_RULES]
    assert "-remoteWrite.url=http://127.0.0.1:8428 " in logs


def test_a_site_without_it_has_no_agent() -> None:
    assert watched.METRICS_AGENT not in unit_texts(days=1, hosts=1)
    assert not [one for one in targets(planned("lab"))["monitoring"] if one["labels"]["job"] == "agent"]
    written = files(planned("lab", monitoring__remote_write={"url": URL}))
    assert '"job": "agent"' in written["targets/monitoring.json"]
    assert "RemoteWriteFails" in written["rules/monitoring.yml"]


@pytest.mark.parametrize(("more", "key"), [
    ({"username": "a", "token": True}, "monitoring.remote_write"),
    ({"url": "http://metrics.corp.test/write", "username": "a"}, "monitoring.remote_write"),
    ({"username": "a,b"}, "monitoring.remote_write.username"),
    ({"url": "https://a:b@metrics.corp.test/write"}, "monitoring.remote_write.url"),
])  # fmt: skip
def test_a_login_that_would_be_told_to_others_or_that_no_option_can_say_is_refused(
    more: dict[str, Any], key: str
) -> None:
    site = changed(example("lab"), {"monitoring/enabled": True, "monitoring/remote_write": {"url": URL} | more})
    (problem,) = refused(json.dumps(site)).problems
    assert problem.key.startswith(key)

"""Settings that the built-in charts of Horizon and Heat write."""

from __future__ import annotations

import base64
import configparser
import json
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

from .conftest import name_of


def settings_of(rendered: dict[str, Any]) -> dict[str, Any]:
    """Return Horizon's settings as its pod reads them."""
    secret = next(item for item in rendered["horizon"] if name_of(item) == "Secret/horizon-etc")
    found: dict[str, Any] = {}
    fake = "import sys, types; sys.modules['pymysql'] = types.SimpleNamespace(install_as_MySQLdb=lambda: None)\n"
    exec(fake + base64.b64decode(secret["data"]["local_settings"]).decode(), found)  # noqa: S102  # it is what our chart wrote
    return found


def test_the_dashboard_is_for_https_under_its_own_name_alone(plan: Plan, rendered: dict[str, Any]) -> None:
    found = settings_of(rendered)
    assert found["ALLOWED_HOSTS"][0] == f"dashboard.{plan.domain}"
    assert "*" not in found["ALLOWED_HOSTS"]
    assert found["SECURE_PROXY_SSL_HEADER"] == ("HTTP_X_FORWARDED_PROTO", "https")
    on = ("CSRF_COOKIE_SECURE", "SESSION_COOKIE_SECURE", "SESSION_COOKIE_HTTPONLY", "DISALLOW_IFRAME_EMBED")
    assert [found[name] for name in (*on, "DEBUG", "OPENSTACK_SSL_NO_VERIFY")] == [*[True] * 4, False, False]
    assert found["SECRET_KEY"] == "secrethorizonsecretkey"


def test_every_pod_of_the_dashboard_knows_every_session_and_needs_no_cache(rendered: dict[str, Any]) -> None:
    found = settings_of(rendered)
    assert found["SESSION_ENGINE"] == "django.contrib.sessions.backends.db"
    database = found["DATABASES"]["default"]
    assert (database["HOST"], database["PORT"], database["NAME"]) == (
        "mariadb.openstack.svc.cluster.local", "3306", "horizon",
    )  # fmt: skip
    assert "memcached" not in str(found["CACHES"])


def test_the_dashboard_frames_the_consoles_of_its_site_alone(plan: Plan, rendered: dict[str, Any]) -> None:
    secret = next(item for item in rendered["horizon"] if name_of(item) == "Secret/horizon-etc")
    text = base64.b64decode(secret["data"]["horizon.conf"]).decode()
    assert f"frame-src 'self' https://console.{plan.domain};" in text


def test_heats_trustee_has_no_scope_but_its_trust_and_its_domain_an_administrator(rendered: dict[str, Any]) -> None:
    secret = next(item for item in rendered["heat"] if name_of(item) == "Secret/heat-etc")
    config = configparser.ConfigParser(interpolation=None)
    config.read_string(base64.b64decode(secret["data"]["heat.conf"]).decode())
    assert not [option for option in config["trustee"] if option.startswith("project")]
    assert config["trustee"]["password"] == "secretheattrustee"
    assert config["DEFAULT"]["auth_encryption_key"] == "secretheatsecretkey"
    accounts = json.loads(base64.b64decode(secret["data"]["identity.json"]))
    admin = next(user for user in accounts["users"] if "project" not in user)
    assert (admin["name"], admin["domain"]) == (
        config["DEFAULT"]["stack_domain_admin"], config["DEFAULT"]["stack_user_domain_name"],
    )  # fmt: skip
    assert accounts["roles"] == ["heat_stack_user"]
    assert {user["name"] for user in accounts["users"]} == {"heat", "heat-trust", "heat-domain"}

"""The proxy of the plan: nothing of the site goes there, and only what goes out gets it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

URL = "http://proxy.example.org:3128"


def test_a_site_without_the_field_has_no_proxy(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab")
    assert (plan.proxy, plan.host.packages_proxy) == (None, None)


def test_what_is_the_sites_is_reached_past_it(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("lab", {"proxy": {"http": URL, "no_proxy": [".Corp.Example", "192.0.2.0/24", "lab.test"]}})
    assert plan.proxy
    own = {network.cidr for network in plan.networks.values() if network.cidr}
    assert own < set(plan.proxy.no_proxy)
    assert {"localhost", "127.0.0.0/8", "::1", "lab.test", ".lab.test", "10.90.0.2"} < set(plan.proxy.no_proxy)
    assert {"10.233.0.0/18", "10.233.64.0/18", ".svc", ".cluster.local"} < set(plan.proxy.no_proxy)
    assert plan.proxy.no_proxy[-2:] == (".corp.example", "192.0.2.0/24")
    assert len(plan.proxy.no_proxy) == len(set(plan.proxy.no_proxy))
    assert plan.findings == plan_of("lab").findings


def test_own_registry_files_and_mirror_are_reached_past_it(plan_of: Callable[..., Plan], gone: object) -> None:
    plan = plan_of(
        "lab",
        {
            "proxy": {"http": URL},
            "supply/registry": "images.example.org:443",
            "supply/files_url": "https://files.example.org:8443/x",
            "hosts/packages_url": "https://mirror.example.org/debian",
            "machines/seed": gone,
        },
    )
    assert plan.proxy
    assert {"images.example.org", "files.example.org", "mirror.example.org"} < set(plan.proxy.no_proxy)


@pytest.mark.parametrize(
    ("written", "http", "https"),
    [
        ({"http": URL}, URL, URL),
        ({"https": "HTTP://Proxy.example.org:3128/"}, URL, URL),
        ({"http": URL, "https": "http://192.0.2.7:8080"}, URL, "http://192.0.2.7:8080"),
    ],
)
def test_one_url_is_for_both_schemes(
    written: dict[str, Any], http: str, https: str, plan_of: Callable[..., Plan]
) -> None:
    proxy = plan_of("lab", {"proxy": written}).proxy
    assert proxy
    assert (proxy.http, proxy.https, proxy.login) == (http, https, None)


@pytest.mark.parametrize(
    ("changes", "through"),
    [
        ({"hosts/packages": "host"}, True),
        ({}, False),
        ({"hosts/packages_url": "http://mirror.example.org/debian"}, False),
    ],
)
def test_only_hosts_with_sources_of_their_own_get_it(
    changes: dict[str, Any], through: bool, plan_of: Callable[..., Plan]
) -> None:
    plan = plan_of("lab", {"proxy": {"http": URL, "login": True}, **changes})
    assert plan.host.packages_proxy == (plan.proxy if through else None)
    assert plan.proxy
    assert plan.proxy.login == "proxy/login"

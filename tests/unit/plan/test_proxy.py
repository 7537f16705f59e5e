"""The proxy of the plan: nothing of the site goes there, and only what goes out gets it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.unit.plan.refusal import LAB, refused

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


def test_the_address_of_users_is_the_sites_too(plan_of: Callable[..., Plan]) -> None:
    users = {"networks/users": {"purpose": "public", "cidr": "192.0.2.0/24"}}
    plan = plan_of("lab", {**users, "proxy": {"http": URL}})
    assert plan.proxy
    assert {"192.0.2.0/24", "192.0.2.2"} < set(plan.proxy.no_proxy)
    (found,) = [one for one in plan_of("lab", {**users, "proxy": {"http": "http://192.0.2.2:3128"}}).findings
                if one.name == "proxy-is-the-sites"]  # fmt: skip
    assert "the virtual IP for users" in found.what


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


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("proxy: {}", "proxy"),
        ("proxy: {no_proxy: [.example.org]}", "proxy"),
        ("proxy: proxy.example.org", "proxy"),
        ("proxy: {http: proxy.example.org:3128}", "proxy.http"),
        ("proxy: {http: 'http://proxy.example.org'}", "proxy.http"),
        ("proxy: {http: 'http://proxy.example.org:0'}", "proxy.http"),
        ("proxy: {http: 'http://proxy.example.org:99999'}", "proxy.http"),
        ("proxy: {http: 'http://proxy.example.org:3128/x'}", "proxy.http"),
        ("proxy: {http: 'http://:3128'}", "proxy.http"),
        ("proxy: {http: 'http://[fd00::1]:3128'}", "proxy.http"),
        ("proxy: {http: 'http://10.0.0.300:3128'}", "proxy.http"),
        ("proxy: {http: 'http://pro_xy:3128'}", "proxy.http"),
        ("proxy: {http: ''}", "proxy.http"),
        ("proxy: {http: 3128}", "proxy.http"),
        ("proxy: {https: 'https://proxy.example.org:3128'}", "proxy.https"),
        ("proxy: {https: 'socks5://proxy.example.org:1080'}", "proxy.https"),
        ("proxy: {https: 'ftp://proxy.example.org:21'}", "proxy.https"),
        ("proxy: {http: 'http://user:word@proxy.example.org:3128'}", "proxy.http"),
        ("proxy: {http: 'http://p:3128', no_proxy: .example.org}", "proxy.no_proxy"),
        ("proxy: {http: 'http://p:3128', no_proxy: ['https://example.org']}", "proxy.no_proxy.0"),
        ("proxy: {http: 'http://p:3128', no_proxy: ['*']}", "proxy.no_proxy.0"),
        ("proxy: {http: 'http://p:3128', no_proxy: ['*.example.org']}", "proxy.no_proxy.0"),
        ("proxy: {http: 'http://p:3128', no_proxy: [a, 10.0.0.1/8]}", "proxy.no_proxy.1"),
        ("proxy: {http: 'http://p:3128', no_proxy: ['example.org:8080']}", "proxy.no_proxy.0"),
        ("proxy: {http: 'http://p:3128', no_proxy: ['.']}", "proxy.no_proxy.0"),
        ("proxy: {http: 'http://p:3128', login: 'user:word'}", "proxy.login"),
        ("proxy: {http: 'http://p:3128', ca: x}", "proxy.ca"),
    ],
)
def test_what_no_client_would_understand_is_refused_at_its_key(change: str, key: str) -> None:
    error = refused(LAB + change)
    assert [problem.key for problem in error.problems] == [key]
    assert all(problem.remedy for problem in error.problems)


@pytest.mark.parametrize(
    "change",
    [
        "proxy: {http: 'http://user:sesame@proxy.example.org:3128'}",
        "proxy: {http: 'http://user:ses/sesame@proxy.example.org:3128'}",
        "proxy: {http: 'user:sesame@proxy.example.org:3128'}",
        "proxy: {http: 'http://p:3128', login: 'user:sesame@p'}",
        "supply: {files_url: 'http://user:sesame@files.example.org/x'}",
        "supply: {registry: 'user:sesame@files.example.org:5000'}",
    ],
)
def test_a_login_in_an_address_is_not_repeated_in_its_error(change: str) -> None:
    assert "sesame" not in str(refused(LAB + change))

"""Names of secrets: kinds of values, references in chart values, what a plan needs."""

from __future__ import annotations

import base64
import re
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import SecretsError, references, required
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import (
    INFRASTRUCTURE,
    NOVA_SSH_KEY,
    PACKAGES_KEY,
    generate,
    password,
)


def test_a_password_satisfies_rules_that_want_small_letters_capitals_and_digits() -> None:
    words = [password(length) for length in (8, 32) for _ in range(500)]
    assert all(re.match(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[a-zA-Z][a-zA-Z0-9]+$", word) for word in words)


def test_a_password_is_a_string_to_every_yaml_reader() -> None:
    for _ in range(500):
        value = generate("keystone/admin")
        assert yaml.safe_load(value) == value
        assert yaml.safe_load(f"key: {value}") == {"key": value}
        assert value.isalnum()
        assert len(value) == 32


def test_two_values_of_one_name_differ() -> None:
    assert generate("keystone/admin") != generate("keystone/admin")


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("kubernetes/encryption-key", lambda value: len(base64.b64decode(value, validate=True)) == 32),
        ("barbican/kek", lambda value: len(base64.urlsafe_b64decode(value)) == 32),
        ("heat/fernet-key", lambda value: len(base64.urlsafe_b64decode(value)) == 32),
        ("rabbitmq/erlang-cookie", lambda value: value.isalpha() and value.isupper()),
        ("kubernetes/certificate-key", lambda value: len(bytes.fromhex(value)) == 32),
        ("pki/ca-key", lambda value: value.startswith("-----BEGIN PRIVATE KEY-----")),
        ("nova/ssh-key", lambda value: value.startswith("-----BEGIN PRIVATE KEY-----")),
        ("keepalived/auth", lambda value: len(value) == 8 and value.isalnum()),
        ("heat/secret-key", lambda value: len(value) == 32),  # Heat refuses any other length
        ("memcached/secret-key", lambda value: len(value) == 32 and value.isalnum()),
    ],
)
def test_a_name_stands_for_a_value_of_its_kind(name: str, holds: Any) -> None:
    assert holds(generate(name))


@pytest.mark.parametrize(
    "name", ["admin", "Keystone/admin", "keystone/", "/admin", "keystone/ad min", "", "a/../b", 7, None]
)
def test_a_malformed_name_is_refused_with_its_key_path(name: object) -> None:
    with pytest.raises(SecretsError, match=r"endpoints\.identity\.auth\[0\]"):
        references({"endpoints": {"identity": {"auth": [{"$secret": name}]}}})


def test_references_are_found_at_any_depth() -> None:
    values = {
        "a": {"$secret": "x/one"},
        "b": [{"c": {"$secret": "x/two"}}, {"$secret": "x/one"}],
        "d": "$secret",
        "e": 3,
    }
    assert references(values) == {"x/one", "x/two"}


def test_a_reference_with_something_beside_it_is_refused() -> None:
    with pytest.raises(SecretsError, match="other keys"):
        references({"a": {"$secret": "x/one", "more": 1}})


def test_a_plan_needs_what_its_releases_refer_to_and_what_the_infrastructure_needs() -> None:
    releases = [
        SimpleNamespace(values={"a": {"$secret": "keystone/admin"}}),
        SimpleNamespace(values={"a": {"$secret": "keystone/admin"}, "b": {"$secret": "mariadb/root"}}),
    ]
    wanted = (*INFRASTRUCTURE, "keystone/admin", "mariadb/root")
    for packages, more in (("host", ()), ("seed", (PACKAGES_KEY,))):
        plan = SimpleNamespace(
            openstack=SimpleNamespace(releases=releases), host=SimpleNamespace(packages=packages),
            hypervisor=SimpleNamespace(compute={}), ceph=None, metal=None, resources=(),
        )  # fmt: skip
        assert required(cast("Any", plan)) == tuple(sorted((*wanted, *more)))
        plan.hypervisor.compute = {"lab-container": {}}
        assert required(cast("Any", plan)) == tuple(sorted((*wanted, *more, NOVA_SSH_KEY)))


def test_a_site_with_dark_machines_needs_ironic_s_password_and_those_of_their_controllers() -> None:
    hosts = {"a": SimpleNamespace(bmc={"credentials": "bmc/rack-1"}), "seed": SimpleNamespace(bmc=None)}
    plan = SimpleNamespace(
        openstack=SimpleNamespace(releases=[]), host=SimpleNamespace(packages="host"),
        hypervisor=SimpleNamespace(compute={}), ceph=None, metal=object(), hosts=hosts, resources=(),
    )  # fmt: skip
    assert {"ironic/groundup", "bmc/rack-1"} <= set(required(cast("Any", plan)))

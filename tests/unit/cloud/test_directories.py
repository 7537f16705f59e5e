"""Directories of domains: which step fails, with its remedy, and Keystone's own word."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import directories

from .identity_api import Server, plan

ONE = plan(corp=())


@pytest.mark.parametrize("step", list(directories._FAULTS))
def test_each_step_that_fails_has_a_remedy(step: str) -> None:
    found = {"corp": {"fault": step, "said": "what the library says", "subject": "ldaps://ldap.test"}}
    fault = directories.faults(Server().keystone, ONE, lambda: found)["corp"]
    assert "directory of domain corp" in fault.what
    assert "what the library says" in fault.what
    assert "{" not in fault.remedy
    assert fault.where == "site file key identity.domains.corp.ldap"


def test_keystone_has_the_last_word_and_the_only_one_with_other_charts() -> None:
    server = Server()
    assert directories.faults(server.keystone, ONE, None) == {}
    server.down.add("c")
    assert "Keystone answers 500: An unexpected error" in directories.faults(server.keystone, ONE, None)["corp"].what
    del server.objects["/domains"]["c"]
    assert "Keystone has no domain corp" in directories.faults(server.keystone, ONE, None)["corp"].what
    other = SimpleNamespace(openstack=SimpleNamespace(charts="https://charts.test"))
    assert directories.probe_of(other, None) is None  # type: ignore[arg-type]

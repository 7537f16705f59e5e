"""The playbook drops no old account that a hypervisor still has."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

PLAYS = {play["name"]: play for play in yaml.safe_load((COLLECTION / "playbooks/rotate.yml").read_text())}


def without(taken: list[str], *, absent: list[str]) -> Any:
    """Return the hypervisors that keep the old account valid, when ``taken`` have the new one."""
    (task,) = PLAYS["Hypervisors without the new"]["tasks"]
    variables = {name: trust_as_template(text) for name, text in task["vars"].items()}
    hosts = ["hypervisor-1", "hypervisor-2"]
    said = {name: {"inventory_hostname": name, **({"rotate_taken": True} if name in taken else {})} for name in hosts}
    variables |= {"groups": {"compute": hosts, "absent": absent}, "hostvars": said}
    return Templar(loader=DataLoader(), variables=variables).template(trust_as_template("{{ rotate_without }}"))


@pytest.mark.parametrize("absent", [[], ["hypervisor-2"]])
def test_a_hypervisor_without_the_new_account_is_named_though_it_was_set_aside(absent: list[str]) -> None:
    assert without(["hypervisor-1"], absent=absent) == ["hypervisor-2"]
    assert without(["hypervisor-1", "hypervisor-2"], absent=absent) == []


def test_a_hypervisor_that_was_set_aside_does_not_count_as_one_with_the_new_account() -> None:
    assert "compute:!absent" in PLAYS["Hypervisors with the new"]["hosts"]

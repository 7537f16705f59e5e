"""Status asks each host by what the layer's own verification takes: the values of both are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_secrets
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.status import hosts
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

ROLES = COLLECTION / "roles"
# Part of a host: its role, the role's variable or the module that verifies, and the keys that status fills itself.
PARTS: dict[str, tuple[str, str, set[str]]] = {
    "host": ("host", "groundup.cloud.host", {"site"}),
    "edge": ("edge", "groundup.cloud.edge", set()),
    "kubernetes": ("kubernetes", "kubernetes_node_options", {"control"}),
    "ceph": ("storage", "storage_cluster", {"name", "keys"}),
    "network": (
        "ovn_central",
        "ovn_central_options",
        # What a verification that changes nothing does not read: no key of a host is anywhere but there.
        {
            "step", "clusters", "create", "packages", "certificate", "private_key", "ca_certificate", "hypervisor_ca",
        },
    ),
    "hypervisor": ("hypervisor", "hypervisor_node_options", {"cards"}),  # the plan's, by the action
}  # fmt: skip


def of_role(part: str, key: str) -> Any:
    """Return the template of the option in the role: of its variable, or of its task."""
    role, source, _ = PARTS[part]
    if "." not in source:
        return f"{{{{ {source}.{key} }}}}"
    tasks = yaml.safe_load((ROLES / role / "tasks/verify.yml").read_text())
    (options,) = (one[source] for one in tasks if one.get(source, {}).get("step") == "verify")
    return options[key]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A cloud with secrets and certificates."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    plan = site_plan(COLLECTION / "inventories/cloud/site.yml")
    site_secrets.create(plan, {}, write=True)
    return plan


def test_each_part_is_asked_by_the_options_of_its_role(plan: Plan, tmp_path: Path) -> None:
    asked = {name: hosts.wanted(plan, host) for name, host in plan.hosts.items()}
    assert {part for one in asked.values() for part in one} - PARTS.keys() == {"seed", "storage"}, "asked by no option"
    options = {
        name: {
            part: {key: of_role(part, key) for key in given if key not in PARTS[part][2]}
            for part, given in one.items()
            if part in PARTS
        }
        for name, one in asked.items()
    }
    files = [str(path) for role, _, _ in PARTS.values() for path in (ROLES / role).glob("[dv]*/main.yml")]
    said = "{{ options[inventory_hostname] | to_json }}"
    write = {"content": said, "dest": f"{tmp_path}/{{{{ inventory_hostname }}}}"}
    tasks = [{"ansible.builtin.copy": write, "delegate_to": "localhost", "connection": "local"}]
    play = {"hosts": "all", "gather_facts": False, "vars_files": files, "vars": {"options": options}, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    done = run("ansible-playbook", "-i", ROOT / "inventories/cloud/site.yml", tmp_path / "play.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    for name, parts in asked.items():
        wanted = {
            part: {key: value for key, value in given.items() if key not in PARTS[part][2]}
            for part, given in parts.items()
            if part in PARTS
        }
        assert json.loads((tmp_path / name).read_text()) == json.loads(json.dumps(wanted)), name

"""Every way into a role that a playbook takes is in the role's argument specs."""

from __future__ import annotations

import re

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION

TAKEN = re.compile(r"name: groundup\.cloud\.(\w+)\n\s+tasks_from: (\w+)")


def test_entry_points_that_playbooks_take_have_argument_specs() -> None:
    taken = {found for path in (COLLECTION / "playbooks").glob("*.yml") for found in TAKEN.findall(path.read_text())}
    assert ("storage", "member") in taken
    for role, entry in sorted(taken):
        specs = yaml.safe_load((COLLECTION / f"roles/{role}/meta/argument_specs.yml").read_text())["argument_specs"]
        assert entry in specs, f"role {role}: {entry}"

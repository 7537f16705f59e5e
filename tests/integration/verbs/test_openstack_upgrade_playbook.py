"""The playbook groundup.cloud.openstack_upgrade of a cloud that is not made: it says so, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run


@pytest.mark.parametrize("arguments", [("--tags", "check"), ("--check",), ()])
def test_a_cloud_that_is_not_made_goes_to_no_other_release(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    state, text = tmp_path / "state", (ROOT / "inventories/cloud/site.yml").read_text()
    site = tmp_path / "site.yml"
    # Addresses that no lab has: hypervisors do not answer there.
    site.write_text(text.replace('release: "2026.1"', 'release: "2026.2"').replace("10.79.", "127.79."))
    done = run("ansible-playbook", "-i", site, "groundup.cloud.openstack_upgrade", *arguments, GROUNDUP_STATE=state)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, said
    assert "# OpenStack none to 2026.2: cloud" in said
    assert "openstack_upgrade cloud: cloud: not made yet (run the playbook groundup.cloud.site)" in said
    assert "nothing was changed" in said
    assert "changed=0" in said or "changed" not in said
    assert ("not known: what hypervisor-1, hypervisor-2 need" in said) == bool(arguments), (
        "they were asked, and are away"
    )
    assert not [*state.rglob("openstack-upgrade.json")]


@pytest.mark.parametrize("verb", ["kubernetes_upgrade", "openstack_upgrade", "rotate", "restore", "backup"])
@pytest.mark.parametrize("arguments", [(), ("--tags", "verify")])
def test_a_verb_that_decides_on_the_control_node_refuses_a_part_of_the_site(
    tmp_path: Path, verb: str, arguments: tuple[str, ...]
) -> None:
    """What decides is on the control node, which a limit leaves out: nothing would be done, and nothing said."""
    site = tmp_path / "site.yml"
    site.write_text((ROOT / "inventories/cloud/site.yml").read_text().replace("10.79.", "127.79."))
    limit = ("--limit", "control-1")
    done = run(
        "ansible-playbook", "-i", site, f"groundup.cloud.{verb}", *limit, *arguments, GROUNDUP_STATE=tmp_path / "state"
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "run it without --limit" in done.stdout + done.stderr

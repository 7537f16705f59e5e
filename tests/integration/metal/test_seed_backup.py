"""A seed is lost and made anew: its machines are what they were, by a backup that was taken while Ironic worked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import netboot
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.seed import SeedPart
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import WayStep
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.tests.integration.metal.fake import FakeSeed
from ansible_collections.groundup.cloud.tests.integration.metal.kept import (
    ACTIVE,
    LEASE,
    MIDWAY,
    Lab,
    kept_site,
    load,
    node,
)

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root"), pytest.mark.long]


@pytest.fixture(scope="module")
def lab(seed_of_fakes: FakeSeed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with kept_site(seed_of_fakes, tmp_path_factory.mktemp("kept")) as found:
        yield found


def test_a_lost_seed_is_what_it_was_and_no_machine_is_touched(lab: Lab) -> None:
    before, calls = lab.nodes(), lab.calls()
    assert sorted(one["provision_state"] for one in before.values()) == [
        *["active"] * 3, "enroll", "wait call-back",
    ]  # fmt: skip
    with load(lab) as done:
        assert not wait_until(lambda: done["enrolled"] < 2, timeout=60)
        taken = lab.playbook("groundup.cloud.seed_backup")
        assert taken.returncode == 0
    backup, found, _ = kept(lab).load("newest")
    assert (backup.counts["active"], backup.counts["calls"], backup.counts["leases"]) == (3, 3, 1)
    assert before.keys() <= found.nodes.keys()
    home = state_dir(lab.plan.site) / "backups/seed"
    sealed = b"".join(path.read_bytes() for path in home.iterdir())
    assert b"$ANSIBLE_VAULT" in sealed
    assert b"of-the-bmc" not in sealed
    assert "of-the-bmc" not in taken.stdout + taken.stderr

    lab.lose()
    assert lab.nodes() == {}
    again = lab.playbook("groundup.cloud.seed_backup")
    assert again.returncode == 2
    assert "the seed does not know worker-1, worker-2, worker-3, installed by their journals" in _said(again)

    lab.ask(lab.ironic.create, node("stranger-1"), mac="52:54:04:00:00:01")
    refused = lab.playbook("groundup.cloud.seed_restore")
    assert refused.returncode == 2
    assert "the seed would forget, or set back, stranger-1 (enroll) (overwrite)" in _said(refused)
    assert {one["name"] for one in lab.nodes().values()} == {"stranger-1"}
    lab.ask(lab.ironic.delete, "stranger-1")

    done_now = lab.restore()
    assert done_now["held"] == [MIDWAY], done_now
    lab.answers()
    after = lab.nodes()
    midway = next(identity for identity, one in before.items() if one["name"] == MIDWAY)
    assert after.pop(midway)["provision_state"] == "deploy failed"
    held = lab.ask(lab.ironic.node, MIDWAY)
    assert held["maintenance"] is True
    assert f"the backup {backup.name} was taken while it was wait call-back" in held["maintenance_reason"]
    assert after == {identity: one for identity, one in before.items() if identity != midway}
    assert all(one["power_state"] == "power on" for one in after.values() if one["name"] in ACTIVE)
    assert lab.calls() == calls
    assert lab.seed.host.at(netboot.STATE / "leases").read_text() == LEASE
    log = lab.seed.host.at("/tmp/ironic.service.log").read_text()  # noqa: S108  # of the seed
    assert "power off" not in log.lower()

    assert lab.restore()["held"] == [MIDWAY], "killed, it is run again, and needs no consent for what it did itself"
    lab.answers()


def test_what_was_done_since_is_only_set_back_with_consent_and_saved_before(lab: Lab) -> None:
    lab.ask(lab.ironic.create, node("stranger-2"), mac="52:54:04:00:00:02")
    assert "stranger-2 (enroll) (overwrite)" in lab.restore()["msg"]
    Journal(file_of(home_of(lab.plan.site), "worker-3")).note(WayStep(state="retired", verb="done", doing="erased"))
    said = lab.restore(force=["overwrite"])["msg"]
    assert "worker-3 left since, and would count as installed (outdated" in said
    assert "held" in lab.restore(force=["overwrite", "outdated"])
    lab.answers()
    assert "stranger-2" not in {one["name"] for one in lab.nodes().values()}
    replaced = kept(lab).shelf(replaced=True)
    assert replaced.names(), "what was there is saved"


def kept(lab: Lab) -> SeedPart:
    """Return the backups of the lab's seed."""
    return SeedPart(lab.plan, lambda *_, **__: pytest.fail("the seed is asked by playbooks"))


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stdout + done.stderr).split())

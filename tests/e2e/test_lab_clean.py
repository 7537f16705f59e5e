"""A lab leaves the machine as it was, heals what was killed, and minds its own things only."""

from __future__ import annotations

import json
import os
import shlex
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
from ansible_collections.groundup.cloud.tests.e2e.machine import NOTHING, alone, output, settings, traces

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")]

NETWORK = "10.95.128.0/24"
SITE = f"""\
plugin: groundup.cloud.site
site: labclean
domain: clean.test
profile: lab
networks:
  management: {{cidr: {NETWORK}}}
machines:
  seed: {{count: 1, rack: r1}}
  control: {{count: 1, rack: r1}}
  worker: {{count: 1, rack: r1}}
kubernetes: {{version: 1.36.3, cni: flannel}}
storage: {{backend: none}}
openstack: {{release: "2026.1", services: [keystone], charts: builtin}}
supply: {{source: build}}
"""
RUNC = Path("/run/groundup/labclean/runc")


@dataclass(frozen=True)
class Lab:
    """A small lab of the test's own."""

    site: Path
    state: Path

    def play(self, playbook: str, *arguments: str) -> dict[str, Any]:
        """Run a playbook and return its statistics by host. Fails the test when the playbook fails."""
        environment = {
            "GROUNDUP_STATE": str(self.state),
            "XDG_CONFIG_HOME": str(self.state.parent / "config"),
        }
        with tempfile.TemporaryDirectory(prefix="groundup-run-") as directory:
            run = ansible_runner.run(
                private_data_dir=directory, project_dir=directory, inventory=str(self.site), quiet=True, timeout=900,
                playbook=f"groundup.cloud.{playbook}", cmdline=shlex.join(arguments) or None, envvars=environment,
            )  # fmt: skip
            assert run.rc == 0, run.stdout.read()[-4000:]
            return {host: {"changed": run.stats["changed"].get(host, 0)} for host in run.stats["processed"]}

    def init(self, host: str) -> int:
        """Return the process that is PID 1 of ``host``."""
        record = json.loads((RUNC / f"groundup.labclean.{host}" / "state.json").read_text())
        return int(record["init_process_pid"])

    def run(self, host: str, *command: str) -> str:
        """Run a command inside ``host``."""
        return output("runc", "--root", str(RUNC), "exec", f"groundup.labclean.{host}", *command)


@pytest.fixture
def lab(tmp_path: Path) -> Any:
    site = tmp_path / "site.yml"
    site.write_text(SITE)
    lab = Lab(site=site, state=tmp_path / "state")
    yield lab
    lab.play("lab_destroy")


def test_a_killed_lab_heals_on_its_volumes_and_a_destroyed_one_leaves_the_machine_as_it_was(lab: Lab) -> None:
    own = settings()

    lab.play("metal")
    assert lab.play("metal")["localhost"]["changed"] == 0, "an unchanged lab was changed"
    lab.play("secrets")
    assert list((lab.state.parent / "config").rglob("labclean.vault-password"))

    lab.run("worker-1", "sh", "-c", "echo kept > /var/log/volume; echo kept > /etc/root")
    lab.run("worker-1", "sysctl", "-w", f"vm.swappiness={(int(own['vm/swappiness']) + 7) % 100}")
    control = lab.init("control-1")
    os.kill(lab.init("worker-1"), signal.SIGKILL)
    assert lab.play("metal", "--check")["localhost"]["changed"] == 1, "a dead host was not noticed"
    assert lab.play("metal")["localhost"]["changed"] == 1, "more than the dead host was changed"
    assert lab.run("worker-1", "cat", "/var/log/volume", "/etc/root") == "kept\nkept\n"
    assert lab.init("control-1") == control, "a host that was well was started again"

    for host in ("control-1", "worker-1"):
        os.kill(lab.init(host), signal.SIGKILL)
    (RUNC / "groundup.labclean.control-1" / "state.json").unlink()  # half of the records is gone too
    lab.play("lab_destroy")
    assert traces("labclean", NETWORK) == NOTHING
    assert not (lab.state / "labclean").exists()
    assert not list((lab.state.parent / "config").rglob("*.vault-password")), "the password of a store that is gone"
    if alone():  # with another lab running, the machine's settings are put back when that one goes
        assert settings() == own

    assert lab.play("lab_destroy")["localhost"]["changed"] == 0, "nothing was left, and yet something was removed"


def test_the_state_of_a_site_is_kept_when_asked_for_but_for_the_access_to_a_cluster_that_is_gone(lab: Lab) -> None:
    lab.play("metal")
    key = lab.state / "labclean" / "ssh" / "id_ed25519"
    made = key.read_bytes()
    kubeconfig = lab.state / "labclean" / "kubeconfig"
    kubeconfig.write_text("of the cluster on these hosts")

    lab.play("lab_destroy", "-e", "lab_keep_state=true")

    assert key.read_bytes() == made
    assert not (lab.state / "labclean" / "lab").exists()
    assert not kubeconfig.exists(), "a new lab of that name would be taken for a part of the old cluster"


def test_a_restarted_machine_is_recognised_by_what_it_left_on_disk(lab: Lab) -> None:
    lab.play("metal")
    for host in ("control-1", "worker-1"):
        os.kill(lab.init(host), signal.SIGKILL)
    for link in json.loads(output("ip", "-j", "link")):
        if link.get("ifalias", "") == "groundup/labclean/management":
            output("ip", "link", "delete", link["ifname"])
    for host in ("control-1", "worker-1"):
        namespace = f"groundup.labclean.{host}"
        output("ip", "netns", "delete", namespace)
        (Path("/run/netns") / namespace).touch()  # /run on disk: the file stays, the namespace does not
        output("umount", str(lab.state / "labclean" / "lab" / host / "rootfs"))

    lab.play("metal")

    assert lab.run("control-1", "systemctl", "is-system-running", "--wait").strip() == "running"

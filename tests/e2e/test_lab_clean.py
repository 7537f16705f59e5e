"""A lab leaves the machine as it was, heals what was killed, and minds its own things only (L1)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")]

SITE = """\
plugin: groundup.cloud.site
site: labclean
domain: clean.test
profile: lab
networks:
  management: {cidr: 10.95.128.0/24}
machines:
  seed: {count: 1, rack: r1}
  control: {count: 1, rack: r1}
  worker: {count: 1, rack: r1}
kubernetes: {version: 1.36.3, cni: flannel}
storage: {backend: none}
openstack: {release: "2026.1", services: [keystone], charts: builtin}
supply: {source: build}
"""
RUNC = Path("/run/groundup/labclean/runc")
# Settings a kubelet changes, and one any host can.
SETTINGS = ("kernel/panic", "vm/overcommit_memory", "vm/swappiness")


@dataclass(frozen=True)
class Machine:
    """What a lab could leave behind."""

    links: frozenset[str]
    namespaces: frozenset[str]
    mounts: frozenset[str]
    groups: frozenset[str]
    listening: frozenset[str]
    directories: frozenset[str]
    processes: frozenset[str]

    @classmethod
    def now(cls) -> Machine:
        """Look. What other labs of this machine own is theirs."""
        links = json.loads(_output("ip", "-j", "link"))
        netns = Path("/run/netns")
        return cls(
            links=frozenset(link["ifname"] for link in links if _ours(link.get("ifalias", ""))),
            namespaces=frozenset(path.name for path in netns.glob("*") if _ours(path.name)),
            mounts=frozenset(
                point for point in (line.split()[4] for line in _lines("/proc/self/mountinfo")) if _ours(point)
            ),
            groups=frozenset(str(path) for path in Path("/sys/fs/cgroup").glob("**/groundup/**/") if _ours(str(path))),
            listening=frozenset(" ".join(line.split()[:5:4]) for line in _output("ss", "-Hltun").splitlines()),
            directories=frozenset(str(path) for path in Path("/run").glob("groundup/*") if _ours(str(path))),
            processes=frozenset(_processes()),
        )


def _ours(name: str) -> bool:
    if name.startswith("groundup/"):  # a link's alias
        return name.startswith("groundup/labclean/")
    others = {path.name for path in Path("/run/groundup").glob("*") if path.is_dir()} - {"labclean"}
    shared = {"/run/netns", "/run/groundup/machine.json"} if others else set()
    return (
        name not in shared
        and not name.endswith("/groundup/")
        and not any(f"groundup{mark}{other}" in name or f"/{other}/lab/" in name for other in others for mark in "./")
    )


def _processes() -> list[str]:
    """Every process that has to do with the site: in its control group, or kept by ssh to its hosts."""
    pids = [
        pid
        for path in Path("/sys/fs/cgroup").glob("*/groundup/labclean/**/cgroup.procs")
        for pid in path.read_text().split()
    ]
    return [*pids, *_output("ss", "-Htnp", "dst", "10.95.128.0/24").splitlines()]


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class Lab:
    """A small lab of the test's own."""

    site: Path
    state: Path

    def play(self, playbook: str, *arguments: str) -> dict[str, Any]:
        """Run a playbook and return its statistics by host. Fails the test when the playbook fails."""
        environment = os.environ | {
            "GROUNDUP_STATE": str(self.state),
            "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        }
        done = subprocess.run(
            ["ansible-playbook", "-i", self.site, f"groundup.cloud.{playbook}", *arguments],
            env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr
        report, _ = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("{") :])
        stats: dict[str, Any] = report["stats"]
        return stats

    def init(self, host: str) -> int:
        """Return the process that is PID 1 of ``host``."""
        record = json.loads((RUNC / f"groundup.labclean.{host}" / "state.json").read_text())
        return int(record["init_process_pid"])

    def run(self, host: str, *command: str) -> str:
        """Run a command inside ``host``."""
        return _output("runc", "--root", str(RUNC), "exec", f"groundup.labclean.{host}", *command)


@pytest.fixture
def lab(tmp_path: Path) -> Any:
    site = tmp_path / "site.yml"
    site.write_text(SITE)
    lab = Lab(site=site, state=tmp_path / "state")
    yield lab
    lab.play("lab_destroy")


def test_a_killed_lab_heals_on_its_volumes_and_a_destroyed_one_leaves_the_machine_as_it_was(lab: Lab) -> None:
    before, settings = Machine.now(), {name: (Path("/proc/sys") / name).read_text() for name in SETTINGS}

    lab.play("metal")
    assert lab.play("metal")["localhost"]["changed"] == 0, "an unchanged lab was changed"

    lab.run("worker-1", "sh", "-c", "echo kept > /var/log/volume; echo kept > /etc/root")
    lab.run("worker-1", "sysctl", "-w", f"vm.swappiness={(int(settings['vm/swappiness']) + 7) % 100}")
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
    alone = not any(path.is_dir() for path in Path("/run/groundup").glob("*"))
    after = Machine.now()
    for kind in ("links", "namespaces", "mounts", "groups", "directories", "processes"):
        assert getattr(after, kind) - getattr(before, kind) == frozenset(), f"{kind} were left behind"
    assert not {line for line in after.listening - before.listening if "10.95.128." in line}
    assert not (lab.state / "labclean").exists()
    if alone:  # with another lab running, the machine's settings are put back when that one goes
        assert {name: (Path("/proc/sys") / name).read_text() for name in SETTINGS} == settings

    assert lab.play("lab_destroy")["localhost"]["changed"] == 0, "nothing was left, and yet something was removed"


def test_the_state_of_a_site_is_kept_when_asked_for(lab: Lab) -> None:
    lab.play("metal")
    key = lab.state / "labclean" / "ssh" / "id_ed25519"
    made = key.read_bytes()

    lab.play("lab_destroy", "-e", "lab_keep_state=true")

    assert key.read_bytes() == made
    assert not (lab.state / "labclean" / "lab").exists()


def test_a_restarted_machine_is_recognised_by_what_it_left_on_disk(lab: Lab) -> None:
    lab.play("metal")
    for host in ("control-1", "worker-1"):
        os.kill(lab.init(host), signal.SIGKILL)
    for link in json.loads(_output("ip", "-j", "link")):
        if link.get("ifalias", "") == "groundup/labclean/management":
            _output("ip", "link", "delete", link["ifname"])
    for host in ("control-1", "worker-1"):
        namespace = f"groundup.labclean.{host}"
        _output("ip", "netns", "delete", namespace)
        (Path("/run/netns") / namespace).touch()  # /run on disk: the file stays, the namespace does not
        _output("umount", str(lab.state / "labclean" / "lab" / host / "rootfs"))

    lab.play("metal")

    assert lab.run("control-1", "systemctl", "is-system-running").strip() == "running"

"""Units that ended on a host: which are looked at, and how one that runs is known."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import daemons
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import text

from .sites import WHOLE, planned
from .test_rules import expressions

# Why a unit that layers name is not in the table.
TOLD_BY_OTHERS = {
    "containerd", "kubelet", "haproxy", "libvirtd", "openvswitch-switch", "ovn-central", "ovn-controller", "ovn-host",
    "ovn-northd", "ovs-vswitchd", "ovsdb-server", "prometheus-alertmanager", "prometheus-node-exporter",
    "ceph-radosgw@rgw", "systemd-journald",
    *(f"groundup-{name}" for name in (
        "alert-rules", "log-agent", "log-journal", "log-rules", "logs", "logs-door", "metrics", "metrics-agent",
    )),
}  # fmt: skip
ENDS = {
    "groundup-host-metrics", "groundup-log-beat", "groundup-monitoring-ports", "groundup-network-guard",
    "groundup-node-ports", "groundup-ovn-ports", "groundup-public", "groundup-redfish", "groundup-shared-mounts",
    "groundup-sriov", "groundup-underlay", "groundup-workloads", "nftables", "systemd-modules-load",
    "systemd-networkd-wait-online", "systemd-udev-settle", "systemd-udev-trigger",
}  # fmt: skip
NOT_RUN_BY_US = {
    "NetworkManager", "ceph-crash", "console-getty", "dbus", "getty-static", "nvmf-autoconnect", "ovs-record-hostname",
    "systemd-logind", "systemd-udevd",
}  # fmt: skip


class Tree:
    """The trees of a host that are looked at."""

    def __init__(self, place: Path, *, groups: str = "system.slice") -> None:
        """Make them below ``place``."""
        self.units, self.groups, self.processes = place / "units", place / "cgroup" / groups, place / "proc"
        self.wants = self.units / "multi-user.target.wants"
        for one in (self.wants, self.groups, self.processes):
            one.mkdir(parents=True)

    def enable(self, name: str) -> None:
        (self.wants / name).symlink_to(f"/usr/lib/systemd/system/{name}")

    def run(self, name: str, *, state: str = "S", begun: int = 4200, **commands: str) -> None:
        """Have ``commands`` run, by process, in the cgroup of the unit ``name``, since ``begun`` ticks."""
        (self.groups / name).mkdir(exist_ok=True)
        (self.groups / name / "cgroup.procs").write_text("".join(f"{one.removeprefix('p')}\n" for one in commands))
        for one, command in commands.items():
            (self.processes / one.removeprefix("p")).mkdir(exist_ok=True)
            stat = f"{one.removeprefix('p')} (a) Z (b) {state} 1 {'0 ' * 17}{begun} 0 0\n"
            (self.processes / one.removeprefix("p") / "stat").write_text(stat)
            (self.processes / one.removeprefix("p") / "cmdline").write_text(command.replace(" ", "\0"))


def ups() -> str:
    """Return whether each runs, as text."""
    return text(one for one in daemons.enabled() if one.name == "groundup_unit_up")


@pytest.fixture(params=["system.slice", "systemd/system.slice"], ids=["cgroup 2", "cgroup 1"])
def tree(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    made = Tree(tmp_path, groups=request.param)
    monkeypatch.setattr(daemons, "UNITS", made.units)
    groups = [tmp_path / "cgroup" / one.relative_to("/sys/fs/cgroup") for one in daemons.GROUPS]
    monkeypatch.setattr(daemons, "GROUPS", groups)
    monkeypatch.setattr(daemons, "CONTAINER", tmp_path / "container")
    monkeypatch.setattr(daemons, "PROCESSES", made.processes)
    return made


def test_one_that_starts_with_the_host_and_has_no_process_is_told(tree: Tree) -> None:
    for name in ("keepalived.service", "nginx.service", "ironic.service", "kubelet.service"):
        tree.enable(name)
    tree.run("nginx.service", p7="nginx: master process")
    tree.run("ironic.service")
    tree.run("docker-registry.service", p8="docker-registry")
    assert ups() == (
        'groundup_unit_up{unit="ironic.service"} 0\ngroundup_unit_up{unit="keepalived.service"} 0\n'
        'groundup_unit_up{unit="nginx.service"} 1\n'
    )


def test_one_that_was_disabled_or_masked_is_not_missed(tree: Tree) -> None:
    tree.enable("nova-compute.service")
    (tree.units / "nova-compute.service").symlink_to("/dev/null")
    assert list(daemons.enabled()) == []


@pytest.mark.parametrize(
    ("unit", "own", "left"),
    [
        ("neutron-ovn-agent", "/opt/v/bin/python /opt/v/bin/neutron-ovn-agent --config-file /etc/neutron/a.conf",
         "haproxy -f /var/lib/neutron/ovn-metadata-proxy/7.conf"),
        ("ssh", "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", "sshd-session: operator [priv]"),
        ("nova-ssh", "/usr/sbin/sshd -D -e -f /etc/groundup/nova-ssh.conf", "sshd: nova@notty"),
    ],
)  # fmt: skip
def test_what_a_daemon_leaves_behind_is_not_taken_for_it(tree: Tree, unit: str, own: str, left: str) -> None:
    tree.enable(f"{unit}.service")
    for commands, up in (({"p1": own, "p2": left}, 1), ({"p2": left}, 0)):
        tree.run(f"{unit}.service", **commands)
        assert ups() == f'groundup_unit_up{{unit="{unit}.service"}} {up}\n'


def test_a_process_that_is_stopped_is_none(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemons, "PROCESSES", Path("/proc"))
    tree.enable("keepalived.service")
    with subprocess.Popen(["sleep", "60"]) as process:
        tree.run("keepalived.service", **{f"p{process.pid}": "sleep"})
        up, since = (one.value for one in daemons.enabled())
        assert up
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        assert uptime - 60 < since <= uptime
        for sent, value in ((signal.SIGSTOP, 0), (signal.SIGCONT, 1)):
            process.send_signal(sent)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WCONTINUED)
            assert ups() == f'groundup_unit_up{{unit="keepalived.service"}} {value}\n'
        process.kill()


def test_it_runs_since_the_oldest_of_its_processes_that_do_something(tree: Tree) -> None:
    tree.enable("nginx.service")
    tree.run("nginx.service", begun=700, p7="nginx: master process")
    (tree.groups / "nginx.service/cgroup.procs").write_text("7\n8\n")
    (tree.processes / "8").mkdir()
    for state, since in (("R", 5.0), ("D", 7.0)):
        (tree.processes / "8/stat").write_text(f"8 (nginx) {state} 7 {'0 ' * 17}500 0\n")
        assert [one.value for one in daemons.enabled()] == [1, since]


def test_a_process_that_ends_meanwhile_is_none(tree: Tree) -> None:
    tree.enable("ssh.service")
    tree.run("ssh.service", p9="/usr/sbin/sshd -D")
    (tree.processes / "9/stat").unlink()
    assert ups() == 'groundup_unit_up{unit="ssh.service"} 0\n'


def test_a_container_keeps_no_clock(tree: Tree) -> None:
    tree.enable("chrony.service")
    assert ups() == 'groundup_unit_up{unit="chrony.service"} 0\n'
    daemons.CONTAINER.touch()
    assert list(daemons.enabled()) == []


def test_a_host_without_systemd_tells_nothing(tree: Tree) -> None:
    tree.enable("nginx.service")
    tree.groups.rmdir()
    assert list(daemons.enabled()) == []


def test_each_unit_that_layers_name_is_looked_at_or_known_why_not() -> None:
    place = Path(daemons.__file__).parents[2]
    texts = (path.read_text(encoding="utf-8") for path in place.rglob("*.py"))
    named = {one for each in texts for one in re.findall(r"(?<![\w@.*}-])([a-zA-Z][\w@-]*)\.service\b", each)}
    table = {name.removesuffix(".service") for name in daemons.DAEMONS}
    assert named == table | TOLD_BY_OTHERS | ENDS | NOT_RUN_BY_US
    assert not table & (TOLD_BY_OTHERS | ENDS | NOT_RUN_BY_US)


def test_what_reports_to_the_cloud_is_told_by_its_silence_where_that_is_seen() -> None:
    (found,) = expressions(planned("ha", **WHOLE), "UnitEnded")
    assert 'unit!~"nova-compute.service|neutron-sriov-nic-agent.service"' in found
    for other in (planned("lab"), planned("ha", openstack__charts="https://charts.example.com")):
        assert expressions(other, "UnitEnded") == ["groundup_unit_up == 0"]

"""Units of a host that ended, stand still, start again or hang: which are looked at, and how it is known."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration as ironic
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import page
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import answers, daemons, edge
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import text
from ansible_collections.groundup.cloud.plugins.module_utils._seed import configuration as seed
from ansible_collections.groundup.cloud.plugins.module_utils._seed import converge
from ansible_collections.groundup.cloud.tests.unit.edge.rendering import render

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
    "groundup-smart", "groundup-sriov", "groundup-underlay", "groundup-workloads", "nftables",
    "systemd-modules-load", "systemd-networkd-wait-online",
    "systemd-udev-settle", "systemd-udev-trigger",
}  # fmt: skip
NOT_RUN_BY_US = {
    "NetworkManager", "ceph-crash", "console-getty", "dbus", "getty-static", "nvmf-autoconnect", "ovs-record-hostname",
    "smartmontools", "systemd-logind", "systemd-udevd",
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

    def run(self, name: str, *, state: str = "S", **commands: str) -> None:
        """Have ``commands`` run, by process, in the cgroup of the unit ``name``, since as many ticks as its number."""
        (self.groups / name).mkdir(exist_ok=True)
        (self.groups / name / "cgroup.procs").write_text("".join(f"{one.removeprefix('p')}\n" for one in commands))
        for one, command in commands.items():
            (self.processes / one.removeprefix("p")).mkdir(exist_ok=True)
            (self.processes / one.removeprefix("p") / "cmdline").write_text(command.replace(" ", "\0"))
            words = [one.removeprefix("p"), "(a ) R name)", state, *("0" for _ in range(18)), f"{one[1:]}00", "0"]
            (self.processes / one.removeprefix("p") / "stat").write_text(" ".join(words))


def told(name: str = "groundup_unit_up") -> dict[str, float]:
    """Return what is told by units, without their ending, or by addresses."""
    return {
        next(iter(one.labels.values())).removesuffix(".service"): one.value
        for one in daemons.enabled()
        if one.name == name
    }


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
    assert text(daemons.enabled()) == (
        'groundup_unit_started_seconds{unit="nginx.service"} 7\n'
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
        assert told() == {unit: up}


def test_a_process_that_ends_meanwhile_is_none(tree: Tree) -> None:
    tree.enable("ssh.service")
    tree.run("ssh.service", p9="/usr/sbin/sshd -D")
    (tree.processes / "9/cmdline").unlink()
    assert text(daemons.enabled()) == 'groundup_unit_up{unit="ssh.service"} 0\n'


@pytest.mark.parametrize("state", [*"DTtZX"])
def test_one_whose_processes_all_stand_still_does_not_run(tree: Tree, state: str) -> None:
    tree.enable("nginx.service")
    tree.run("nginx.service", p7="nginx: master process", p8="nginx: worker process", state=state)
    assert told() == {"nginx": 0}
    tree.run("nginx.service", p7="nginx: master process", p8="nginx: worker process")
    assert told() == {"nginx": 1}


def test_a_real_process_that_is_stopped_and_one_that_is_new_are_known(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemons, "PROCESSES", Path("/proc"))
    tree.enable("keepalived.service")
    with subprocess.Popen(["sleep", "60"]) as process:
        tree.run("keepalived.service", **{f"p{process.pid}": "keepalived"})
        assert told() == {"keepalived": 1}
        process.send_signal(signal.SIGSTOP)
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        assert told() == {"keepalived": 0}
        begun = told("groundup_unit_started_seconds")["keepalived"]
        process.send_signal(signal.SIGCONT)
        assert os.WIFCONTINUED(os.waitpid(process.pid, os.WCONTINUED)[1])
        assert told() == {"keepalived": 1}
        assert told("groundup_unit_started_seconds") == {"keepalived": begun}
        process.kill()
    tree.run("keepalived.service", **{f"p{os.getpid()}": "keepalived"})
    assert told("groundup_unit_started_seconds")["keepalived"] < begun <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_a_unit_began_with_its_oldest_process(tree: Tree) -> None:
    tree.enable("nginx.service")
    tree.run("nginx.service", p42="nginx: worker process", p7="nginx: master process")
    assert told("groundup_unit_started_seconds") == {"nginx": 7}


def test_servers_are_asked_together_and_those_that_take_connections_and_answer_none_are_told(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer_when_both_have_asked(server: socket.socket) -> None:
        with server.accept()[0] as first, server.accept()[0] as second:
            for one in (first, second):
                one.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    asked = ("nginx.service", "ironic.service")
    for name in (*asked, "docker-registry.service"):
        tree.enable(name)
        monkeypatch.setitem(daemons.PORTS, name, (tmp_path / "conf", daemons.PORTS["nginx.service"][1]))
    for name in asked:
        tree.run(name, p7="any")
    assert told("groundup_unit_answers") == {}, "another's own"
    with socket.create_server((answers.LOOPBACK, 0)) as server, ThreadPoolExecutor() as pool:
        (tmp_path / "conf").write_text(f"listen {server.getsockname()[1]} ssl;\n")
        pool.submit(answer_when_both_have_asked, server)
        assert told("groundup_unit_answers") == {"nginx": 1, "ironic": 1}, "what does not run is not asked"
        monkeypatch.setattr(answers, "PATIENCE", 0.1)
        assert told("groundup_unit_answers") == {"nginx": 0, "ironic": 0}, "they hang"
    assert told("groundup_unit_answers") == {"nginx": 0, "ironic": 0}, "nobody listens"


def test_where_servers_listen_is_read_from_what_the_layers_write() -> None:
    plan = planned("rack-metal")
    assert plan.metal
    wanted = {
        "registry_inside": plan.supply.registry_inside, "registry_port": 5000, "files_port": 8443, "readers": [],
        "files_root": "/srv",
        **{name: getattr(plan.metal, name) for name in ("api_inside", "contact_inside", "machines_inside", "api_url")},
        "media_url": plan.metal.media_url, "api_port": 6385, "media_port": 6386, "ramdisk": "/srv",
    }  # fmt: skip
    found = ironic.values(wanted, environment=Path("/opt"))
    texts = {
        converge.REGISTRY: seed.registry(wanted, digest="d"), seed.WEB: seed.web(wanted, digest="d"),
        ironic.CONF: ironic.conf(found), **ironic.units(found),
        page.UNIT: page.unit_text(wanted, environment=Path("/opt")),
    }  # fmt: skip
    ports = {name: port.search(texts[path]) for name, (path, port) in daemons.PORTS.items()}
    assert {name.removesuffix(".service"): int(found[1]) for name, found in ports.items() if found} == {
        "docker-registry": 5001, "nginx": 8443, "ironic": plan.metal.api_inside,
        "groundup-contact": plan.metal.contact_inside, "groundup-machines": plan.metal.machines_inside,
    }  # fmt: skip
    assert plan.supply.registry_inside == f"{answers.LOOPBACK}:5001"


def test_virtual_ips_are_told_where_keepalived_moves_them(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge, "CONFIGURATION", tmp_path / "keepalived.conf")
    text = render("keepalived.conf.j2", control=["control-1"])
    edge.CONFIGURATION.write_text(text + text.replace("10.0.0.2", answers.LOOPBACK))
    assert list(daemons.enabled()) == []
    tree.enable(edge.KEEPALIVED)
    assert told("groundup_virtual_ip") == {"10.0.0.2": 0, "127.0.0.1": 1}, "of a keepalived that does not run, too"


def test_a_container_keeps_no_clock(tree: Tree) -> None:
    tree.enable("chrony.service")
    assert text(daemons.enabled()) == 'groundup_unit_up{unit="chrony.service"} 0\n'
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

"""What a host's program tells of a real nginx, registry and groundup-contact that hang, and of a virtual IP."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration as ironic
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import daemons, edge
from ansible_collections.groundup.cloud.plugins.module_utils._seed import configuration as seed
from ansible_collections.groundup.cloud.plugins.module_utils._seed.converge import REGISTRY
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import WANTED as METAL
from ansible_collections.groundup.cloud.tests.unit import tls

from .told import Told

WANTED = {
    "registry_inside": "127.0.0.1:5001", "registry_port": 5000, "files_port": 8080, "files_root": "/srv/groundup",
    "readers": [],
}  # fmt: skip
GROUPS = daemons.GROUPS[1]


@pytest.fixture
def host(told: Told) -> Told:
    """A host with cgroups that a test fills: no systemd makes them there."""
    told.done("mount", "-t", "tmpfs", "tmpfs", "/sys/fs/cgroup")
    told.host.at(GROUPS).mkdir()
    return told


def enable(host: Told, unit: str) -> None:
    place = host.host.at(daemons.UNITS / "multi-user.target.wants" / unit)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(f"/usr/lib/systemd/system/{unit}")


def run(host: Told, name: str, *, named: str, command: str) -> None:
    """Have ``command`` run as the enabled unit ``name``; the processes ``named`` are its own."""
    enable(host, f"{name}.service")
    # In a session of its own: nsenter, by which others start, stops with what it started.
    host.done("sh", "-c", f"setsid {command} > /tmp/{name}.log 2>&1 &")
    group = host.host.at(GROUPS / f"{name}.service")
    group.mkdir()
    answers = f'groundup_unit_answers{{unit="{name}.service"}}'
    (group / "cgroup.procs").write_text(host.done("sh", "-c", f"until pgrep -f '{named}'; do sleep 0.1; done"))
    host.is_told(**{answers: 1})


def of(host: Told, name: str) -> dict[str, float]:
    """Return what is told of the unit ``name`` but its start."""
    told = re.compile(rf'groundup_unit_(\w+)\{{unit="{name}.service"\}}')
    found = ((told.fullmatch(series), value) for series, value in host.metrics().items())
    return {one[1]: value for one, value in found if one and one[1] != "started_seconds"}


def test_a_web_server_and_a_registry_that_hang_are_told(host: Told) -> None:
    own = tls.pair()
    host.host.at(seed.PEM).write_text(own.certificate + own.key)
    host.host.at(REGISTRY).write_text(seed.registry(WANTED, digest="d"))
    host.host.at(seed.WEB).write_text(seed.web(WANTED, digest="d"))
    run(host, "docker-registry", named="^docker-registry serve", command=f"docker-registry serve {REGISTRY}")
    run(host, "nginx", named="^nginx: master", command="nginx -g 'daemon off;'")
    host.done("pkill", "-STOP", "-f", "^nginx: worker")
    host.done("pkill", "-STOP", "-f", "^docker-registry serve")
    assert of(host, "nginx") == {"up": 1, "answers": 0}, "its master runs, its workers hang"
    assert of(host, "docker-registry") == {"up": 0}
    host.done("pkill", "-CONT", "-f", "^nginx: worker|^docker-registry serve")
    assert of(host, "nginx") == of(host, "docker-registry") == {"up": 1, "answers": 1}
    for log in ("/tmp/docker-registry.log", "/var/log/nginx/access.log", "/var/log/nginx/error.log"):  # noqa: S108
        assert "400" not in host.host.at(log).read_text(), f"no line of each question in {log}"


def test_who_hears_installed_machines_and_hangs_is_told(host: Told) -> None:
    """Behind cheroot, as Ironic itself and the page of machines are."""
    if missing := supply.missing(["ironic-13"]):
        pytest.skip(f"not built on this machine: {missing}")
    home, archive = host.host.at("/opt/ironic"), supply.ensure(["ironic-13"])["ironic-13"].path / "environment.tar.gz"
    home.mkdir(parents=True)
    subprocess.run(["tar", "-xzf", archive, "--no-same-owner", "-C", home], check=True)
    program = COLLECTION / "roles/ironic/files/groundup-contact"
    (home / "bin" / program.name).write_bytes(program.read_bytes())
    units = ironic.units(ironic.values(METAL, environment=Path("/opt/ironic")))
    host.host.at(ironic.CONTACT_UNIT).write_text(units[ironic.CONTACT_UNIT])
    command = "/opt/ironic/bin/python /opt/ironic/bin/groundup-contact --port 6389 --passwords /none --state /tmp"
    run(host, "groundup-contact", named="bin/[g]roundup-contact --port", command=command)
    host.done("pkill", "-STOP", "-f", "bin/groundup-contact")
    assert of(host, "groundup-contact") == {"up": 0}
    (host.host.at(GROUPS) / "groundup-contact.service/cgroup.procs").write_text("1\n")  # another one of it runs
    assert of(host, "groundup-contact") == {"up": 1, "answers": 0}
    host.done("pkill", "-CONT", "-f", "bin/groundup-contact")
    host.is_told(**{'groundup_unit_answers{unit="groundup-contact.service"}': 1})
    assert host.host.at("/tmp/groundup-contact.log").read_text() == "", "no line of each question"  # noqa: S108


def test_a_virtual_ip_is_told_where_it_is_an_address_and_not_where_programs_may_only_bind_it(host: Told) -> None:
    enable(host, edge.KEEPALIVED)
    place = host.host.at(edge.CONFIGURATION)
    place.parent.mkdir(exist_ok=True)
    place.write_text("vrrp_instance edge {\n    virtual_ipaddress {\n        10.90.0.2/32 dev lo\n    }\n}\n")
    host.done("sysctl", "-w", "net.ipv4.ip_nonlocal_bind=1")
    for change, here in (("add", 1), ("del", 0)):
        host.done("ip", "address", change, "10.90.0.2/32", "dev", "lo")
        assert host.metrics()['groundup_virtual_ip{address="10.90.0.2"}'] == here

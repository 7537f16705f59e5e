"""Faults of hypervisors and instances provoked on the running cloud: what really goes wrong, and what is said of it.

Needs the cloud of `SITE=inventories/cloud/site.yml ci/lab up`. Each test breaks one thing and puts it back.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT, SITE_FILE
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.long]
PKI, CURRENT = "/etc/groundup/hypervisor", "/opt/groundup/openstack/current"
REMOTE = "sudo ovs-vsctl {} Open_vSwitch . external_ids:ovn-remote{}"


@pytest.fixture(autouse=True)
def hypervisors(plan: Plan) -> list[str]:
    """The hosts that guests run on."""
    found = sorted(name for name, host in plan.hosts.items() if "hypervisor" in host.roles)
    if not found:
        pytest.skip("the site has no hypervisors: SITE=inventories/cloud/site.yml")
    return found


@pytest.fixture
def host(hypervisors: list[str], connect: Callable[[str], Any]) -> Any:
    """The first of them, over ssh."""
    return connect(hypervisors[0])


def run(*command: str, timeout: float = 1200) -> subprocess.CompletedProcess[str]:
    """Run a command of this clone."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=timeout)


def refused(*command: str) -> str:
    """Run what must fail; return what it says in one line."""
    done = run(*command)
    assert done.returncode != 0, done.stdout
    return " ".join((done.stdout + done.stderr).split())


def play(name: str, *options: str, site: Path = SITE_FILE) -> tuple[str, ...]:
    """Return the command of a playbook."""
    return ("ci/run", "ansible-playbook", "-i", str(site), f"groundup.cloud.{name}", *options)


def smoke(**options: Any) -> tuple[str, ...]:
    """Return the command that boots an instance."""
    given = json.dumps({"site_file": str(SITE_FILE), **options})
    return ("ci/run", "ansible", "localhost", "-m", "groundup.cloud.tenant_smoke", "-a", given)


@contextmanager
def healed(*command: str) -> Iterator[None]:
    """Put right by ``command`` whatever the block breaks."""
    try:
        yield
    finally:
        done = run(*command)
        assert done.returncode == 0, done.stdout + done.stderr


def done_on(host: Any, command: str) -> str:
    """Run a command that must work on a host."""
    ended = host.run(command)
    assert ended.rc == 0, ended.stderr
    return str(ended.stdout)


def test_more_memory_than_any_hypervisor_has_left() -> None:
    said = refused(*smoke(memory_mb=50_000))  # within the quota of 51,200
    assert "no hypervisor has room for VCPU 1, MEMORY_MB 50000" in said
    assert "layer compute" in said


def test_hypervisors_that_are_disabled_are_what_a_filter_takes_away(hypervisors: list[str]) -> None:
    service = ("ci/lab", "shell", "openstack", "compute", "service", "set")
    for name in hypervisors:
        done = run(*service, "--disable", "--disable-reason", "fault test", name, "nova-compute")
        assert done.returncode == 0, done.stderr
    try:
        said = refused(*smoke())
    finally:
        for name in hypervisors:
            assert run(*service, "--enable", name, "nova-compute").returncode == 0
    assert "disabled (fault test) (ComputeFilter)" in said


def test_a_dead_agent_is_why_a_guest_has_no_metadata(host: Any, hypervisors: list[str]) -> None:
    done_on(host, "sudo systemctl stop neutron-ovn-agent")
    with healed(*play("hypervisor")):
        said = refused(*smoke(host=hypervisors[0]))
    assert "layer metadata" in said
    assert f"OVN Neutron agent on {hypervisors[0]} is not alive" in said
    assert f"journalctl -n 50 -u neutron-ovn-agent on {hypervisors[0]}" in said


def test_a_southbound_database_that_refuses_is_told_from_an_error_of_tls(host: Any, hypervisors: list[str]) -> None:
    verify = play("hypervisor", "--tags", "verify", "--limit", f"localhost,{hypervisors[0]}")
    with healed(*play("hypervisor")):
        done_on(host, REMOTE.format("set", "=ssl:127.0.0.1:1"))
        status = "sudo ovn-appctl -t ovn-controller connection-status"
        until(lambda: "not connected" in host.run(status).stdout, seconds=60)
        assert "ssl:127.0.0.1:1 refuses" in refused(*verify)
    with healed(*play("hypervisor")):
        done_on(host, f"sudo cp {PKI}/certificate.pem {PKI}/ca.pem && sudo systemctl restart ovn-controller")
        said = refused(*verify)
    assert "fails in TLS" in said
    assert "openssl verify" in said


def test_an_environment_of_another_release(host: Any) -> None:
    name = done_on(host, f"readlink {CURRENT}").strip()
    done_on(host, f"sudo ln -sfn 2025.1-aaaaaaaaaaaa {CURRENT}")
    try:
        said = refused(*play("hypervisor", "--tags", "verify"))
    finally:
        done_on(host, f"sudo ln -sfn {name} {CURRENT}")
    assert "its environment is of release 2025.1" in said


def test_a_cpu_model_that_libvirt_has_not_is_refused_before_the_first_change(plan: Plan, tmp_path: Path) -> None:
    (kind,) = {host.hardware for host in plan.hosts.values() if "hypervisor" in host.roles}
    compute = {**plan.hypervisor.compute[kind], "cpu_model": "Nonesuch"}
    content = yaml.safe_load(SITE_FILE.read_text(encoding="utf-8"))
    content["hardware"] = {kind: {"cores": 1, "memory_gb": 2, "nic_gbps": 1, "nvme": False, "compute": compute}}
    changed = tmp_path / "site.yml"
    changed.write_text(yaml.safe_dump(content), encoding="utf-8")
    said = refused(*play("hypervisor", "--tags", "check", site=changed))
    assert "cpu_model: Nonesuch, and libvirt knows no such model" in said
    assert f"hardware.{kind}.compute" in said


def test_nothing_is_left_broken(hypervisors: list[str]) -> None:
    said = run(*play("hypervisor", "--tags", "verify"))
    assert said.returncode == 0, said.stdout
    for name in hypervisors:
        answered = run(*smoke(host=name))
        assert answered.returncode == 0, answered.stdout

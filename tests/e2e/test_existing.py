"""Machines that somebody else installed: from three plain Debians, of both releases, to a token.

They are made here, know the operator's key alone, and reach no network but the one they share with this machine. The
operator's playbooks run from the collection as docs/install.md installs it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.e2e.operating import Operator, causes
from ansible_collections.groundup.cloud.tests.e2e.plain import THREE

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")]

SITE = Path(__file__).parent / "existing/site.yml"
# The plan's name of each machine; its installer's is another.
MACHINES = dict(zip(("control-1", "worker-1", "worker-2"), THREE.machines, strict=True))


@pytest.fixture(scope="module")
def operator() -> Iterator[Operator]:
    """Three machines, fresh from the installer, and a control node with the installed collection."""
    THREE.install()
    operator = Operator(THREE, yaml.safe_load(SITE.read_text()), MACHINES)
    operator.install()
    yield operator
    THREE.destroy()


# What is wrong with a machine, how it is put right, and what preflight says of it.
FAULTS = (
    (
        "control-1",
        "mkdir /etc/groundup; echo other > /etc/groundup/site",
        "rm -r /etc/groundup",
        "belongs to the site other",
    ),
    ("worker-1", "mkdir -p /var/lib/rancher/k3s", "rm -r /var/lib/rancher", "k3s is on the host"),
    ("worker-1", "echo exit > /usr/bin/dockerd", "rm /usr/bin/dockerd", "Docker is on the host"),
    ("worker-1", "ip link set enp1s0 mtu 1400", "ip link set enp1s0 mtu 1500", "has a smaller MTU than the"),
    (
        "worker-2",
        "systemd-run --unit=busy python3 -m http.server 10250",
        "systemctl stop busy",
        "10250/tcp is taken by python3",
    ),
    (
        "worker-2",
        "touch /usr/bin/cloud-init; mkdir /etc/cloud; echo 'manage_etc_hosts: true' > /etc/cloud/cloud.cfg",
        "rm -r /etc/cloud /usr/bin/cloud-init",
        "cloud-init writes /etc/hosts",
    ),
    ("worker-2", "touch /var/lib/dpkg/updates/0000", "rm /var/lib/dpkg/updates/0000", "dpkg was interrupted"),
    (
        "worker-2",
        "rm /etc/os-release; echo 'ID=ubuntu\nVERSION_ID=24.04\nPRETTY_NAME=\"Ubuntu 24.04\"' > /etc/os-release",
        "ln -sf ../usr/lib/os-release /etc/os-release",
        "Ubuntu 24.04 is not supported",
    ),
)


def test_preflight_tells_all_that_is_wrong_with_the_machines_and_changes_none(operator: Operator) -> None:
    for name, fault, _, _ in FAULTS:
        operator.rack.run(MACHINES[name], "sh", "-c", fault)
    before = operator.files()
    key = f"--private-key={operator.rack.operator_key}"
    status, said = operator.told(*operator.playbook, "-i", operator.site, "groundup.cloud.contact", key)
    assert operator.files() == before
    for name, _, mended, _ in FAULTS:
        operator.rack.run(MACHINES[name], "sh", "-c", mended)
    assert status == 2
    assert [line for *_, line in FAULTS if line not in said] == []


def test_a_prediction_on_plain_machines_writes_nothing_on_them(operator: Operator) -> None:
    before = operator.files()
    operator.play("--check", "--diff")
    assert operator.files() == before


def test_a_machine_that_loses_power_in_the_first_run_is_named_and_the_others_lead_to_a_token(
    operator: Operator,
) -> None:
    worker, rack = MACHINES["worker-2"], operator.rack

    def while_it_installs() -> None:
        rack.run(
            worker, "timeout", "900", "sh", "-c", "until [ -e /var/lib/dpkg/info/containerd.list ]; do sleep 0.1; done"
        )
        rack.power_off(worker)

    status, said = operator.interrupted("PLAY [Host]", while_it_installs, *operator.site_run)
    assert status == 4, f"the run ends without a machine, code 4, not {status}: {causes(said)}"
    assert re.search(r"^worker-2 +host ", said, re.MULTILINE)
    assert operator.catalog() == {"identity": ["https://identity.existing.test/v3"]}
    rack.power_on(worker)


def test_the_next_run_goes_on_with_it_and_both_releases_are_in_one_cluster(operator: Operator) -> None:
    operator.run("ci/lab", "up")
    nodes = operator.kubectl("get", "nodes", "--output=jsonpath={.items[*].status.nodeInfo.osImage}")
    assert nodes.count("trixie") == 2
    assert nodes.count("bookworm") == 1


def test_another_run_changes_nothing(operator: Operator) -> None:
    operator.run("ci/lab", "unchanged")

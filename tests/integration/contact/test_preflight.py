"""The whole playbook on machines that cannot carry a site: one table of all that is wrong, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.groundup.cloud.tests.integration.contact.conftest import Operator
from ansible_collections.groundup.cloud.tests.integration.contact.machine import Machine

CONTACT = "groundup.cloud.contact"
UBUNTU = 'printf \'PRETTY_NAME="Ubuntu 24.04 LTS"\\nID=ubuntu\\nVERSION_ID="24.04"\\n\' > /etc/os-release'
# As somebody else uses it: Docker, cloud-init, an interrupted upgrade, another site.
USED = """
touch /usr/bin/dockerd /usr/bin/cloud-init
mkdir -p /etc/cloud /etc/groundup
echo 'manage_etc_hosts: true' > /etc/cloud/cloud.cfg
sed -i '0,/install ok installed/s//install ok half-configured/' /var/lib/dpkg/status
echo 'other AAAA' > /etc/groundup/site
"""
LINES = (
    "ERROR node-1, node-2 no interface has the planned address on management",
    "ERROR node-1 Ubuntu 24.04 LTS is not supported",
    "ERROR node-2 systemd does not run as the first process",
    "ERROR node-2 Docker is on the host",
    "ERROR node-2 packages are half installed",
    "ERROR node-2 the host belongs to the site other",
    "2 hosts: 2 with errors, 0 without a fault. Nothing was changed on any host",
)


def test_all_that_is_wrong_is_one_table_and_nothing_is_written(
    operator: Operator, machine: Callable[[int], Machine]
) -> None:
    one, two = machine(1), machine(2)
    for each in (one, two):
        each.admit(operator.public_key)
        each.run("echo 'ops ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/ops")
    one.run(UBUNTU)
    two.run(USED)
    operator.write_site(node_1=one.host_key, node_2=two.host_key)
    said = operator.play("--private-key", str(operator.key), playbook=CONTACT)
    assert said.startswith("exit 2 "), said
    for line in LINES:
        assert line in said
    assert "cloud-init writes /etc/hosts at every boot" in said
    for each in (one, two):
        each.run("! test -e /etc/ssh/authorized_keys.d && ! test -e /etc/ssh/sshd_config.d/20-groundup.conf")
    assert operator.play("--check", "--private-key", str(operator.key), playbook=CONTACT).startswith("exit 2 ")

"""Boots from the network, converged on a host's root: made once, taken away again; its programs run there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, netboot
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root

WORK = "ansible_collections/groundup/cloud/plugins/module_utils"
# Its units are as they should be; nothing is started here.
SYSTEMCTL = """#!/bin/sh
[ "$1" = show ] || exit 0
while [ "$1" != -- ]; do shift; done
shift
for unit; do printf 'ActiveState=active\\nUnitFileState=enabled\\nLoadState=loaded\\n\\n'; done
"""
CONVERGE = """
import json, sys
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import boot_service
wanted = json.load(sys.stdin)
changes = Changes(check=wanted["check"])
boot_service.converge(changes, wanted)
print("\\n".join(changes.done))
"""
WANTED: dict[str, Any] = {
    "network": {
        "programs": "netboot.tar.gz", "cidr": "10.77.2.0/24", "gateway": "10.77.2.1", "address": "10.77.2.8",
        "seed_address": "10.77.0.8", "port": 6387, "url": "http://10.77.2.8:6387",
        "pool": ["10.77.2.224", "10.77.2.254"],
    },
    "domain": "lab.test", "names": {"registry.lab.test": "10.77.0.8"}, "dns_servers": [], "ntp_servers": [],
    "files_root": "/srv", "ramdisk": "/srv/ramdisk", "api_url": "https://10.77.0.8:6385",
    "addresses": [{"mac": "52:54:00:00:00:01", "address": "10.77.2.72", "name": "found-1"}],
}  # fmt: skip


def place_modules(host: HostRoot) -> None:
    """Give a host our modules, and a systemctl that starts nothing."""
    place = host.at("/tmp") / WORK  # noqa: S108  # of the host
    for name in ("_base", "_host", "_hypervisor", "_ironic", "_seed"):
        shutil.copytree(COLLECTION / "plugins/module_utils" / name, place / name)
    program = host.at("/usr/local/bin/systemctl")
    program.write_text(SYSTEMCTL)
    program.chmod(0o755)


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostRoot]:
    if supply.missing(["netboot-13"]):
        pytest.skip("not built on this machine: netboot-13")
    with host_root(tmp_path_factory.mktemp("netboot"), "10.77.2.8/24") as host:
        place_modules(host)
        host.at(configuration.MEDIA).mkdir(parents=True)
        shutil.copy(supply.ensure(["netboot-13"])["netboot-13"].path / "netboot.tar.gz", host.at("/srv"))
        yield host


def converge(seed: HostRoot, *, check: bool = False, **more: Any) -> list[str]:
    given = json.dumps({**WANTED, "check": check, **more})
    done = seed.run("env", "PYTHONPATH=/tmp", "python3", "-c", CONVERGE, input=given)
    assert done.returncode == 0, done.stdout
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def test_a_dry_run_says_what_is_made_and_makes_nothing(seed: HostRoot) -> None:
    said = converge(seed, check=True)
    assert f"write {netboot.CONF}" in said
    assert not seed.at(netboot.DIRECTORY).exists()


def test_it_is_made_once_and_its_programs_run(seed: HostRoot) -> None:
    assert f"write {netboot.UNIT}" in converge(seed)
    assert converge(seed) == []
    assert "interface=lo\n" in seed.at(netboot.CONF).read_text()
    shown = seed.run("env", f"LD_LIBRARY_PATH={netboot.PROGRAMS}/lib", str(netboot.PROGRAMS / "dnsmasq"), "--version")
    assert "DHCP" in shown.stdout
    for name in ("snponly.efi", "undionly.kpxe"):
        assert seed.at(netboot.PROGRAMS / name).stat().st_size > 50_000


def test_the_unit_s_command_takes_its_configuration(seed: HostRoot) -> None:
    converge(seed)
    unit = seed.at(netboot.UNIT).read_text()
    command = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).partition("=")[2]
    seed.at(netboot.STATE).mkdir(exist_ok=True)
    seed.run("chown", netboot.ACCOUNT, str(netboot.STATE))
    shown = seed.run("env", f"LD_LIBRARY_PATH={netboot.PROGRAMS}/lib", *command.split(), "--test")
    assert "syntax check OK" in shown.stdout


def test_a_site_without_such_machines_has_none_of_it(seed: HostRoot) -> None:
    converge(seed)
    assert f"remove {netboot.WEB}" in converge(seed, network=None)
    assert not seed.at(netboot.WEB).exists()

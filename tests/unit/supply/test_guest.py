"""The guest's own scripts, which no linter of ours reads, and what its builder lays beside them."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.versions import OPENSTACK
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import load_lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.builder import builder_of

GUEST = COLLECTION / "supply/guest"
SCRIPTS = sorted(path for path in GUEST.rglob("*") if path.is_file() and path.read_bytes().startswith(b"#!/bin/sh"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_a_program_that_a_shell_reads(script: Path) -> None:
    subprocess.run(["/bin/sh", "-n", str(script)], check=True)
    assert script.stat().st_mode & 0o100


@pytest.mark.parametrize("options", [(), ("-n",), ("-u", "root", "-H", "--")])
def test_sudo_runs_the_command_as_it_is_written(options: tuple[str, ...]) -> None:
    call = [str(GUEST / "root/usr/bin/sudo"), *options, "sh", "-c", 'echo "$1"; exit 3', "-n", "two words"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "two words\n")


def test_the_image_is_another_one_when_a_script_is() -> None:
    entry = load_lock().artifacts["guest"]
    assert builder_of(entry).sources(entry) == (GUEST,)
    assert {"make", "init", "rc", "guest-metadata", "sudo", "default.script"} == {path.name for path in SCRIPTS}


@pytest.mark.parametrize("release", ["12", "13"])
def test_an_environment_is_another_one_when_its_requirements_are(release: str) -> None:
    lock = load_lock()
    entry = lock.artifacts[f"hypervisor-{release}"]
    (requirements, _installer) = builder_of(entry).sources(entry)
    assert requirements.name == f"hypervisor-{entry.version}-debian{release}.txt"
    assert "--hash=sha256:" in requirements.read_text()
    assert entry.version == lock.artifacts["openstack"].version, "the control plane's release"


@pytest.mark.parametrize(("release", "openstack"), [*itertools.product(["12", "13"], OPENSTACK)])
def test_a_hypervisor_runs_the_versions_of_the_control_plane(release: str, openstack: str) -> None:
    def versions(name: str) -> dict[str, str]:
        lines = (COLLECTION / f"supply/images/python/{name}.txt").read_text().splitlines()
        pins = [line.split(" ")[0].partition("==") for line in lines if "==" in line]
        return {name: version for name, _, version in pins}

    control, own = versions(f"openstack-{openstack}"), versions(f"hypervisor-{openstack}-debian{release}")
    assert own.keys() >= {"nova", "neutron", "libvirt-python", "pyroute2", "ovs"}
    assert {name for name in own.keys() & control.keys() if own[name] != control[name]} == set()

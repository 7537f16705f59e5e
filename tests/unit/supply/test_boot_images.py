"""What machines boot: the scripts that make it, and the program in it that carries out a configuration drive."""

from __future__ import annotations

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host import access
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import load_lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.builder import builder_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.keys import keys

BOOT = COLLECTION / "supply/boot"
PROGRAM = BOOT / "common/usr/local/sbin/groundup-configdrive"
META = {
    "uuid": "6f7c2f0a-6d1b-4c57-9d0a-000000000001",
    "name": "worker-1",
    "hostname": "worker-1.lab.test",
    "public_keys": {"site": "ssh-ed25519 AAAA site"},
    "groundup": {"user": "ops", "ca": "CERTIFICATE\n", "phone_home": {"url": "https://10.0.0.8:6386/x", "token": "t"}},
}
FILES = {"10-groundup-mgmt0.link": "[Match]\n", "10-groundup-mgmt0.network": "[Match]\nName=mgmt0\n"}
NETWORK = {"links": [], "networks": [], "services": [], "networkd": FILES}


@pytest.fixture(scope="module")
def program() -> ModuleType:
    module = ModuleType("configdrive")  # not by an import: that would leave its bytecode in the artifact's sources
    exec(compile(PROGRAM.read_text(), PROGRAM, "exec"), module.__dict__)  # noqa: S102  # a program of ours
    return module


@pytest.mark.parametrize("source", ["machine", "ramdisk"])
def test_a_script_is_a_program_that_a_shell_reads(source: str) -> None:
    script = BOOT / source / "make"
    subprocess.run(["/bin/sh", "-n", str(script)], check=True)
    assert script.stat().st_mode & 0o100


def test_the_ramdisk_has_no_driver_for_the_usb_port_of_a_controller() -> None:
    script = (BOOT / "ramdisk/make").read_text()
    removed = script[: script.index("depmod -b tree")].rpartition("for driver in ")[2].partition(";")[0].split()
    assert {"cdc_ether", "cdc_ncm", "cdc_subset", "rndis_host"} <= set(removed)


@pytest.mark.parametrize("name", ["deploy-ramdisk-13", "machine-13"])
def test_an_image_is_another_one_when_what_is_laid_over_it_is(name: str) -> None:
    entry = load_lock().artifacts[name]
    assert builder_of(entry).sources(entry) == (BOOT / entry.inputs["source"], BOOT / "common")


@pytest.mark.parametrize("name", ["deploy-ramdisk-13", "machine-13"])
def test_firmware_makes_another_artifact_of_an_image_and_leaves_the_plain_one(name: str) -> None:
    plain, chosen = load_lock(), f"{name}+bnx2x+intel-misc"
    lock = plain.including(["ironic-13", name, chosen])
    assert lock.select([chosen]) == (chosen,)
    assert lock.artifacts[chosen].inputs["firmware"] == ["firmware-bnx2x", "firmware-intel-misc"]
    names = (*lock.closure((name,)), chosen)
    found = keys(lock, names)
    assert found[chosen] != found[name] == keys(plain, names[:-1])[name]
    assert chosen not in lock.select("metal")


def test_only_what_machines_boot_has_firmware() -> None:
    with pytest.raises(GroundupError, match=r"no artifact or group is called 'ironic-13\+bnx2x'"):
        load_lock().including(["ironic-13+bnx2x"]).select(["ironic-13+bnx2x"])


def test_the_agent_of_the_ramdisk_has_the_version_that_the_lock_names() -> None:
    lock = load_lock()
    for name, package in {"ironic-13": "ironic", "agent-13": "ironic-python-agent"}.items():
        (requirements, _) = builder_of(entry := lock.artifacts[name]).sources(entry)
        assert f"\n{package}=={entry.version} " in requirements.read_text()
    assert lock.artifacts["deploy-ramdisk-13"].version == lock.artifacts["agent-13"].version


def test_the_network_s_files_are_written_as_the_drive_has_them(program: ModuleType, tmp_path: Path) -> None:
    program.network({"network_data.json": NETWORK}, tmp_path, "run/systemd/network")
    assert {path.name: path.read_text() for path in (tmp_path / "run/systemd/network").iterdir()} == FILES


def test_a_ramdisk_without_a_network_of_the_plan_asks_for_addresses(program: ModuleType, tmp_path: Path) -> None:
    program.network({}, tmp_path, "run")
    assert "DHCP=ipv4" in (tmp_path / "run/10-groundup-dhcp.network").read_text()


def test_the_first_boot_writes_what_is_this_machine_s_own(program: ModuleType, tmp_path: Path) -> None:
    program.first_boot({"meta_data.json": META, "network_data.json": NETWORK}, tmp_path)
    assert (tmp_path / "etc/hostname").read_text() == "worker-1\n"
    assert "worker-1.lab.test" in (tmp_path / "etc/hosts").read_text()
    assert (tmp_path / "etc/sudoers.d/groundup").stat().st_mode & 0o777 == 0o440
    assert {path.name: path.read_text() for path in (tmp_path / "etc/systemd/network").iterdir()} == FILES
    assert (tmp_path / program.CA).read_text() == "CERTIFICATE\n"
    token = tmp_path / "var/lib/groundup/phone-home.json"
    assert token.stat().st_mode & 0o777 == 0o600
    assert json.loads(token.read_text()) == {"url": "https://10.0.0.8:6386/x", "token": "t", "name": "worker-1"}


def test_keys_and_sudo_of_the_first_boot_are_in_the_files_that_the_host_layer_converges(
    program: ModuleType, tmp_path: Path
) -> None:
    program.first_boot({"meta_data.json": META}, tmp_path)
    written = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    texts = {str(path): (tmp_path / path).read_text() for path in written}
    assert {name for name, text in texts.items() if "ssh-ed25519" in text} == {f"{access.KEYS}/ops".lstrip("/")}
    assert {name for name, text in texts.items() if "NOPASSWD" in text} == {str(access.SUDOERS).lstrip("/")}
    assert access.FORMER.findall(texts["etc/sudoers.d/groundup"]) == ["ops"], "the host layer knows whose it is"
    drop_in = (BOOT / "machine/files" / str(access.SSHD).lstrip("/")).read_text()
    assert f"\nAuthorizedKeysFile .ssh/authorized_keys {access.KEYS}/%u\n" in drop_in


def test_the_call_home_carries_the_token_and_the_public_host_keys(program: ModuleType, tmp_path: Path) -> None:
    heard: list[Any] = []

    class Seed(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    (tmp_path / "ssh_host_ed25519_key.pub").write_text("ssh-ed25519 AAAA root@worker-1\n")
    (tmp_path / "ssh_host_ed25519_key").write_text("private")
    with HTTPServer(("127.0.0.1", 0), Seed) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        program.phone_home({"url": url, "token": "t", "name": "worker-1"}, keys=tmp_path)
    assert heard == [{"name": "worker-1", "token": "t", "host_keys": ["ssh-ed25519 AAAA"]}]


def test_the_ramdisk_has_the_programs_that_the_agent_runs_without_asking_for_them() -> None:
    """Without fuser it writes an image and fails."""
    packages = load_lock().artifacts["rootfs-ramdisk-13"].inputs["packages"]
    assert {"efibootmgr", "gdisk", "mdadm", "parted", "psmisc", "qemu-utils", "util-linux-extra"} <= set(packages)

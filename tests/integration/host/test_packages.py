"""Plain Debian 12 and 13 without a network: what the layers install comes whole from the repository of a seed.

Roots or repositories that this machine has not built are a skipped test, never a build: `make test` builds first.
"""

from __future__ import annotations

import os
import tomllib
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import containerd
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply

from .plain import MIRROR, Host

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="mounts")]

_FULL = """
import subprocess
subprocess.run(["mkdir", "-p", {at!r}], check=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size={size}", "tmpfs", {at!r}], check=True)
"""


def test_all_that_the_layers_install_is_there_with_what_it_needs(host: Host) -> None:
    assert host.install("python3-yaml")["lacking"] == []
    names = supply.load_lock().artifacts[f"packages-{host.release}"].inputs["packages"]
    said = host.run(
        "apt-get", "-c", "/etc/groundup/apt/apt.conf", "--simulate", "install", "--no-install-recommends", *names
    )
    assert "Inst containerd" in said
    assert "0 to remove" in said
    assert host.install("python3-yaml")["done"] == [], "a host that has all runs no apt"
    assert not (host.root.upper / "etc/apt/sources.list.d").exists(), "the host's own sources are not touched"


def test_a_repository_that_was_changed_after_it_was_signed_is_refused(host: Host) -> None:
    (deb,) = (host.tree / "pool").glob("socat_*.deb")
    content = deb.read_bytes()
    deb.write_bytes(content[:500] + b"forged" + content[506:])
    assert "the seed's packages: Hash Sum mismatch" in host.install("socat")["error"]
    deb.unlink()
    assert "the seed's packages: File not found" in host.install("socat")["error"]
    (lists,) = host.tree.glob("dists/*/InRelease")
    lists.write_text(lists.read_text().replace("Origin: groundup.cloud", "Origin: somebody else"))
    told = host.install("socat")["error"]
    assert "the seed's packages: " in told
    assert "ignatur" in told, "both programs say so"


@pytest.mark.parametrize(("of", "how"), [("/socat_", "half"), ("/Packages", "nothing")])
def test_a_mirror_that_serves_half_is_named_with_the_file_and_nothing_is_half_installed(
    host: Host, of: str, how: str
) -> None:
    url = "http://127.0.0.1:8000"
    broken = host.install("socat", "python3-yaml", url=url, before=MIRROR.format(of=of, how=how))
    assert f"where:  {url}/packages-{host.release}/{host.release}/" in broken["error"]
    assert of in broken["error"]
    assert "the seed's packages: " in broken["error"]
    assert "run the playbook groundup.cloud.host" in broken["error"]
    assert broken["unfinished"] == []
    assert "python3-yaml" not in host.run("dpkg-query", "-W").partition("-W\n")[2], "all or nothing"
    whole = host.install("socat", "python3-yaml", url=url, before=MIRROR.format(of="none", how=how))
    assert whole["lacking"] == []


@pytest.mark.parametrize(("at", "size"), [("/var/cache/apt/archives", "64k"), ("/usr/lib/cni", "256k")])
def test_a_full_disk_is_named_and_the_next_run_goes_on(host: Host, at: str, size: str) -> None:
    """Before the packages are fetched, and while they are unpacked."""
    name, before = "containernetworking-plugins", MIRROR.format(of="none", how="half")
    full = host.install(name, url="http://127.0.0.1:8000", before=before + _FULL.format(at=at, size=size))
    assert "the host's disk is full" in full["error"]
    assert "make room (df -h; apt-get clean), then run this again" in full["error"]
    assert host.install(name, url="http://127.0.0.1:8000", before=before)["lacking"] == []


def test_what_a_killed_dpkg_left_is_finished_before_more_is_installed(host: Host) -> None:
    stanzas = host.run("cat", "/var/lib/dpkg/status").partition("status\n")[2].split("\n\n")
    (sudo,) = (stanza for stanza in stanzas if stanza.startswith("Package: sudo\n"))
    journal = host.root.upper / "var/lib/dpkg/updates/0000"
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_text(sudo.replace("install ok installed", "install ok half-configured") + "\n")
    assert host.install("python3-yaml")["lacking"] == []
    assert not journal.exists()
    assert "install ok installed" in host.run("dpkg-query", "-s", "sudo")


def test_an_apt_that_does_not_end_is_named(host: Host) -> None:
    held = "import fcntl; held = open('/var/lib/dpkg/lock-frontend', 'w'); fcntl.lockf(held, fcntl.LOCK_EX)\n"
    program = host.root.upper / "opt/program.py"
    program.write_text(program.read_text().replace("changes = ", f"{held}apt.WAIT = 1\nchanges = ", 1))
    told = host.install("python3-yaml")["error"]
    assert "another apt is at work: process " in told
    assert "holds /var/lib/dpkg/lock-frontend" in told


def test_its_containerd_reads_our_configuration(host: Host) -> None:
    (deb,) = (host.tree / "pool").glob("containerd_*.deb")
    host.run(
        "dpkg-deb", "-x", f"/srv/groundup/packages-{host.release}/{host.release}/pool/{deb.name}", "/opt/containerd"
    )
    node: Any = SimpleNamespace(
        sandbox_image="registry.lab.test:5000/kubernetes/pause:3.10", registry_login=None,
        supply=SimpleNamespace(registry="registry.lab.test:5000"),
    )  # fmt: skip
    (host.root.upper / "opt/config.toml").write_text(containerd.config(node))
    said = host.run("/opt/containerd/usr/bin/containerd", "--config", "/opt/config.toml", "config", "dump")
    assert "level=" not in said, "it warns of nothing"
    read = tomllib.loads(said.partition("config dump\n")[2])
    cri = read["plugins"]["io.containerd.grpc.v1.cri"]
    assert (read["version"], cri["sandbox_image"]) == (2, node.sandbox_image)
    assert cri["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is True
    assert (cri["registry"]["config_path"], cri["cni"]["bin_dir"]) == ("/etc/containerd/certs.d", "/opt/cni/bin")
    assert cri["restrict_oom_score_adj"] is True

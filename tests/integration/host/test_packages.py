"""Plain Debian 12 and 13 without a network: what the layers install comes whole from the repository of a seed.

Roots or repositories that this machine has not built are a skipped test, never a build: `make test` builds first.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import documents
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import openpgp
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import DebianRelease
from ansible_collections.groundup.cloud.plugins.plugin_utils.secrets import PasswordSource, Store
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.build.chroot import Chroot
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.build.process import Commands

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="mounts")]

# What a module of ours does on the host, with the code it does it by.
_PROGRAM = """
import json, sys
sys.path.insert(0, "/opt/ours")
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import apt, packages, sources
given = json.load(open("/opt/given.json"))
exec(given["before"])
changes = Changes(check=False)
sources.packages_from(changes, sources.Seed(**given["seed"]))
try:
    packages.installed(changes, given["packages"])
    told = {"lacking": packages.lacking(given["packages"])}
except Exception as error:
    told = {"error": str(error)}
told["unfinished"] = apt.unfinished()
json.dump({**told, "done": changes.done}, open("/opt/told.json", "w"))
"""
# A mirror on loopback that serves the files whose names have `of` by `how`, and all others whole.
_MIRROR = """
import fcntl, http.server, socket, struct, threading
class Mirror(http.server.SimpleHTTPRequestHandler):
    def copyfile(self, source, output):
        if {of!r} not in self.path:
            return super().copyfile(source, output)
        self.close_connection = True
        if {how!r} == "half":
            output.write((content := source.read())[:len(content) // 2])
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
    def log_message(self, *_):
        pass
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lo:
    fcntl.ioctl(lo, 0x8914, struct.pack("16sh", b"lo", 1))  # up
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), lambda *a: Mirror(*a, directory="/srv/groundup"))
threading.Thread(target=server.serve_forever, daemon=True).start()
"""
_FULL = """
import subprocess
subprocess.run(["mkdir", "-p", {at!r}], check=True)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size={size}", "tmpfs", {at!r}], check=True)
"""


@dataclass(frozen=True)
class Host:
    """A plain Debian, and beside it the repository as its seed has it."""

    release: str
    root: Chroot
    log: Path

    @property
    def tree(self) -> Path:
        """The repository."""
        return self.root.upper / f"srv/groundup/packages-{self.release}/{self.release}"

    def install(self, *names: str, url: str = "file:/srv/groundup", before: str = "") -> dict[str, Any]:
        """Have the host install ``names`` from ``url``, after it ran ``before``; return what it told."""
        key = (self.log.parent / openpgp.FILE).read_text()
        place = f"packages-{self.release}/{self.release}"
        seed = {"url": url, "places": {self.release: place}, "key": key}
        (self.root.upper / "opt/given.json").write_text(json.dumps({"seed": seed, "packages": names, "before": before}))
        self.run("python3", "/opt/program.py")
        told: dict[str, Any] = json.loads((self.root.upper / "opt/told.json").read_text())
        return told

    def run(self, *argv: str) -> str:
        """Run a program on the host, without a network; return what the log has of it."""
        before = self.log.stat().st_size if self.log.exists() else 0
        self.root.run(argv, network=False)
        return self.log.read_text()[before:]


@pytest.fixture(params=get_args(DebianRelease))
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    release = request.param
    names = (f"rootfs-plain-{release}", f"packages-{release}")
    if missing := supply.missing(names):
        pytest.skip(f"not built on this machine: {', '.join(missing)}")
    log = tmp_path / "log"
    root = Chroot(lower=supply.unpacked(names[0]), scratch=tmp_path / "root", commands=Commands(log=log))
    found = Host(release, root, log)
    shutil.copytree(supply.ensure(names[1])[names[1]].path, found.tree)
    (release_file,) = found.tree.glob("dists/*/Release")
    store = Store.open(tmp_path, PasswordSource(path=tmp_path / "password", ours=True))
    signed = openpgp.sign_release(store, tmp_path, "kept", release_file.read_text())
    release_file.with_name("InRelease").write_text(signed)
    ours = root.upper / "opt/ours/ansible_collections/groundup/cloud/plugins"
    shutil.copytree(COLLECTION / "plugins/module_utils", ours / "module_utils")
    (root.upper / "opt/program.py").write_text(_PROGRAM)
    policy = root.upper / "usr/sbin/policy-rc.d"
    policy.parent.mkdir(parents=True)
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    return found


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
    broken = host.install("socat", "python3-yaml", url=url, before=_MIRROR.format(of=of, how=how))
    assert f"where:  {url}/packages-{host.release}/{host.release}/" in broken["error"]
    assert of in broken["error"]
    assert "the seed's packages: " in broken["error"]
    assert "run the playbooks groundup.cloud.supply and groundup.cloud.seed" in broken["error"]
    assert broken["unfinished"] == []
    assert "python3-yaml" not in host.run("dpkg-query", "-W").partition("-W\n")[2], "all or nothing"
    whole = host.install("socat", "python3-yaml", url=url, before=_MIRROR.format(of="none", how=how))
    assert whole["lacking"] == []


@pytest.mark.parametrize(("at", "size"), [("/var/cache/apt/archives", "64k"), ("/usr/lib/cni", "256k")])
def test_a_full_disk_is_named_and_the_next_run_goes_on(host: Host, at: str, size: str) -> None:
    """Before the packages are fetched, and while they are unpacked."""
    name, before = "containernetworking-plugins", _MIRROR.format(of="none", how="half")
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
    node: Any = SimpleNamespace(sandbox_image="registry.lab.test:5000/kubernetes/pause:3.10")
    (host.root.upper / "opt/config.toml").write_text(documents.containerd_config(node))
    said = host.run("/opt/containerd/usr/bin/containerd", "--config", "/opt/config.toml", "config", "dump")
    assert "level=" not in said, "it warns of nothing"
    read = tomllib.loads(said.partition("config dump\n")[2])
    cri = read["plugins"]["io.containerd.grpc.v1.cri"]
    assert (read["version"], cri["sandbox_image"]) == (2, node.sandbox_image)
    assert cri["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is True
    assert (cri["registry"]["config_path"], cri["cni"]["bin_dir"]) == ("/etc/containerd/certs.d", "/opt/cni/bin")
    assert cri["restrict_oom_score_adj"] is True

"""What an upgrade would change on a real Debian, told before it, and what it left to restart.

Two packages in two versions, each version in a snapshot of a seed's repository. One of them is a process's program.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.run import run
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import openpgp
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.builders.debian_packages import index
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

from .plain import Host

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="mounts")]

NAMES = ("groundup-dummy", "openvswitch-dummy")
SUITES = {"12": "bookworm", "13": "trixie"}
OLD, NEW = "2026-10-01-aaaaaaaa", "2026-11-28-bbbbbbbb"
BEGIN = """
import hashlib, json, os, pathlib, subprocess, sys
sys.path.insert(0, "/opt/ours")
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import apt, foresight, packages, patching, sources
given = json.load(open("/opt/given.json"))
changes = Changes(check=False)

def files():
    places = ("etc", "var/lib/apt", "var/lib/dpkg", "var/lib/groundup", "var/cache/apt", "usr/sbin")
    found = (one for place in places for one in pathlib.Path("/", place).rglob("*"))
    return {str(one): (one.lstat().st_mtime_ns, one.lstat().st_size) for one in found}

def use(seed, changes=changes):
    return sources.packages_from(changes, sources.SeedRepository(**seed))

def foretold():
    return foresight.foretell(changes, {"packages_seed": given["new"], "ca_certificate": "", "virtual": []})

"""
PROGRAM = (
    BEGIN
    + """
use(given["old"])
hooks = pathlib.Path("/etc/apt/apt.conf.d/99hooks")
hooks.write_text("".join(f'APT::Update::{one} {{"touch /usr/sbin/{one}";}};\\n' for one in sources._HOOKS))
packages.installed(changes, given["names"])
process = subprocess.Popen(["/usr/sbin/groundup-dummy", "600"])
try:
    ran = [one for one in sources._HOOKS if pathlib.Path("/usr/sbin", one).exists()]
    before = files()
    told = {"first": foretold(), "temporary": os.listdir("/tmp"), "hooks": ran}
    after = files()
    told["written"] = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    use(given["new"])
    told["unread"] = [use(given["new"], Changes(check=False))]
    apt.update()
    told["unread"].append(use(given["new"], Changes(check=False)))
    apt.install(given["names"])
    told["then"] = foretold()
    use(given["old"])
    subprocess.run(["dpkg", "--install", "--force-downgrade", given["deb"]], check=True)
    subprocess.run(["apt-mark", "hold", "groundup-dummy"], check=True)
    told["held"] = foretold()
finally:
    process.kill()
json.dump(told, open("/opt/told.json", "w"))
"""
)
# Applies what was told: the ordinary package, then the one of a step of its own. No unit may be restarted: here they
# are those of the machine that the test runs on.
APPLY = (
    BEGIN
    + """
def upgrade(*names):
    changes = Changes(check=False)
    wanted = {"packages_seed": given["new"], "ca_certificate": "", "packages": names, "reboot": False, "restart": []}
    done = patching.upgrade(changes, wanted)
    shown = ["dpkg-query", "-W", "-f", "${Package} ${Version}\\n", *given["names"]]
    versions = dict(line.split() for line in subprocess.check_output(shown, text=True).splitlines())
    return {"done": done["changes"], "warnings": changes.warnings, "versions": versions, **done}

use(given["old"])
packages.installed(changes, given["names"])
automatic = subprocess.check_output(["apt-mark", "auto", "groundup-dummy"], text=True)
pathlib.Path("/etc/groundup-dummy.conf").write_text("mine\\n")
process = subprocess.Popen(["/usr/sbin/groundup-dummy", "600"])
try:
    told = {"first": upgrade("groundup-dummy"), "again": upgrade("groundup-dummy"), "step": upgrade(*given["names"])}
finally:
    process.kill()
told["configuration"] = pathlib.Path("/etc/groundup-dummy.conf").read_text()
told["automatic"] = subprocess.check_output(["apt-mark", "showauto", "groundup-dummy"], text=True)
json.dump(told, open("/opt/told.json", "w"))
"""
)


def snapshot(host: Host, name: str, version: str) -> str:
    """Serve both packages in ``version`` as a snapshot; return its place."""
    place = f"packages-{host.release}/{name}"
    home, made = host.root.upper / "srv/groundup" / place, host.log.parent / name
    home.mkdir(parents=True)
    for package in NAMES:
        tree = made / package
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(
            f"Package: {package}\nVersion: {version}\nArchitecture: all\nMaintainer: t <t@t>\nDescription: dummy\n"
        )
        (tree / "usr/sbin").mkdir(parents=True)
        (tree / "etc").mkdir()
        (tree / f"etc/{package}.conf").write_text(f"{version}\n")
        (tree / "DEBIAN/conffiles").write_text(f"/etc/{package}.conf\n")
        shutil.copy2(supply.unpacked(f"rootfs-plain-{host.release}") / "usr/bin/sleep", tree / "usr/sbin" / package)
        run(["dpkg-deb", "--build", "--root-owner-group", str(tree), str(made)])
    index(home, made.glob("*.deb"), suite=SUITES[host.release], epoch=0)
    (release,) = home.glob("dists/*/Release")
    store = Store.open(host.log.parent, PasswordSource(path=host.log.parent / "password", ours=True))
    signed = openpgp.sign_release(store, host.log.parent, "kept", release.read_text())
    release.with_name("InRelease").write_text(signed)
    return place


def told_by(host: Host, program: str) -> dict[str, Any]:
    """Run ``program`` on a host whose seed has both snapshots; return what it told."""
    key = (host.log.parent / openpgp.FILE).read_text()
    seeds = {
        name: {"url": "file:/srv/groundup", "places": {host.release: snapshot(host, place, version)}, "key": key}
        for name, place, version in (("old", OLD, "1.0-1"), ("new", NEW, "1.0-2"))
    }
    deb = f"/srv/groundup/packages-{host.release}/{OLD}/pool/groundup-dummy_1.0-1_all.deb"
    return host.told(program, {**seeds, "names": NAMES, "deb": deb})


@pytest.fixture
def told(host: Host) -> dict[str, Any]:
    """What the host told before and after an upgrade from one snapshot to the other."""
    return told_by(host, PROGRAM)


def test_what_was_told_is_upgraded_and_nothing_else_and_changed_configuration_stays(host: Host) -> None:
    found = told_by(host, APPLY)
    first, again, step = found["first"], found["again"], found["step"]
    assert first["versions"] == {"groundup-dummy": "1.0-2", "openvswitch-dummy": "1.0-1"}
    assert "upgrade groundup-dummy: 1.0-1 -> 1.0-2" in first["done"]
    assert not [line for line in first["done"] if "openvswitch" in line]
    assert (first["snapshot"], first["reboot_waiting"], first["warnings"]) == (NEW, [], [])
    assert first["waiting"], "its process was not restarted, as nothing may be here"
    assert not [line for line in again["done"] if line.startswith("upgrade")], "a run again has nothing to do"
    assert step["versions"] == dict.fromkeys(NAMES, "1.0-2")
    assert found["configuration"] == "mine\n"
    assert found["automatic"].split() == ["groundup-dummy"], "apt still knows that nobody asked for it"


def test_an_upgrade_is_foretold_and_nothing_is_written(told: dict[str, Any]) -> None:
    first, then, held = told["first"], told["then"], told["held"]
    both = {"before": "1.0-1", "after": "1.0-2", "security": False}
    assert first["changes"] == [
        {"package": "groundup-dummy", "step": "", **both},
        {"package": "openvswitch-dummy", "step": "openvswitch", **both},
    ]
    assert (first["snapshot"], first["offered"]) == (OLD, NEW)
    assert list(first["restarts"].values()) == [["groundup-dummy"]], "its process runs, the other's does not"
    assert (first["removed"], first["kept"], first["waiting"], first["reboot"]) == ([], [], [], [])
    assert (told["written"], [name for name in told["temporary"] if name.startswith("groundup")]) == ([], [])

    assert told["hooks"] == ["Pre-Invoke", "Post-Invoke", "Post-Invoke-Success"], "the host's own update runs them"
    assert told["unread"] == [True, False], "a run that was killed before it fetched the lists is made good"

    assert (then["changes"], then["restarts"], then["snapshot"]) == ([], {}, NEW)
    assert then["waiting"] == list(first["restarts"]), "the process was not restarted, and runs what is gone"

    assert (held["changes"], held["kept"], held["held"]) == ([], ["groundup-dummy"], ["groundup-dummy"])


def test_a_repository_that_somebody_else_signed_is_no_foresight(host: Host, tmp_path: Path) -> None:
    place = snapshot(host, NEW, "1.0-2")
    other = tmp_path / "other"
    store = Store.open(other, PasswordSource(path=other / "password", ours=True))
    openpgp.ensure_packages_key(store, other)
    seed = {"url": "file:/srv/groundup", "places": {host.release: place}, "key": (other / openpgp.FILE).read_text()}
    program = PROGRAM.partition("use(given")[0] + (
        "try:\n    told = foretold()\nexcept Exception as error:\n    told = {'error': str(error)}\n"
        "json.dump(told, open('/opt/told.json', 'w'))\n"
    )
    said = host.told(program, {"new": seed, "old": seed, "names": NAMES})
    assert "ignatur" in said["error"]

"""What an operator is told when apt cannot install: from what apt of Debian 12 and 13 prints, word for word."""

from __future__ import annotations

import platform
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import apt
from ansible_collections.groundup.cloud.plugins.module_utils._host.sources import SeedRepository
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import load_lock

HELD = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 9117 (python3)\n"
LISTS = "E: Unable to lock directory /var/lib/apt/lists/\n"
INTERRUPTED = "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem. \n"

CASES = {
    "unknown package": (
        "E: Unable to locate package nosuch\nE: Package 'other' has no installation candidate\n",
        "no package nosuch, other",
    ),
    "half a mirror": (
        "E: Failed to fetch http://m/p/pool/socat_1.7.4.4-2_amd64.deb  404  File not found [IP: 127.0.0.1 8099]\n"
        "E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?\n",
        "404  File not found",
    ),
    "other content": (
        "E: Failed to fetch http://m/p/pool/socat_1.8_amd64.deb  Hash Sum mismatch\n   Hashes of expected file:\n",
        "Hash Sum mismatch",
    ),
    "a mirror in the middle of an update": (
        "E: Failed to fetch http://m/p/dists/trixie/main/binary-amd64/Packages.xz  File has unexpected size (38798 != "
        "38796). Mirror sync in progress? [IP: 127.0.0.1 8099]\n   Hashes of expected file:\n",
        r"File has unexpected size \(38798 != 38796\)",
    ),
    "no server": (
        "E: Failed to fetch http://m/nothing/dists/trixie/InRelease  Unable to connect to 127.0.0.1:8098:\n",
        "Unable to connect to 127.0.0.1:8098\n",
    ),
    "no repository": (
        "E: The repository 'http://m/nothing trixie Release' does not have a Release file.\n",
        "'http://m/nothing trixie Release' does not have a Release file",
    ),
    "another key, 12": (
        "W: GPG error: http://m/p bookworm InRelease: The following signatures couldn't be verified because the public "
        "key is not available: NO_PUBKEY E6532DF83F80E7B3\n"
        "E: The repository 'http://m/p bookworm InRelease' is not signed.\n",
        "NO_PUBKEY E6532DF83F80E7B3",
    ),
    "another key, 13": (
        "W: OpenPGP signature verification failed: http://m/p trixie InRelease: Sub-process /usr/bin/sqv returned an "
        "error code (1), error message is: Missing key 79A7, which is needed to verify signature.\n"
        "E: The repository 'http://m/p trixie InRelease' is not signed.\n",
        "Missing key 79A7",
    ),
    "a host of an older point release": (
        "The following packages have unmet dependencies:\n libperl5.40 : Breaks: perl-base (< 5.40.1)\n"
        "E: Unable to correct problems, you have held broken packages.\n",
        "libperl5.40 : Breaks: perl-base",
    ),
    "another container runtime": (
        "The following packages will be REMOVED:\n  containerd.io docker-ce\n  docker-ce-cli\n"
        "The following NEW packages will be installed:\n  containerd runc\n"
        "E: Packages need to be removed but remove is disabled.\n",
        "apt would remove what does not go with it: containerd.io, docker-ce, docker-ce-cli\n",
    ),
    "full disk": ("E: You don't have enough free space in /var/cache/apt/archives/.\n", "the host's disk is full"),
    "a package that cannot start": (
        "Errors were encountered while processing:\n keepalived\nE: Sub-process /usr/bin/dpkg returned an error code "
        "(1)\n",
        "cannot be configured: keepalived",
    ),
}


@pytest.mark.parametrize(("said", "told"), CASES.values(), ids=CASES)
def test_a_fault_is_told_with_source_and_remedy(
    said: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apt, "OURS", tmp_path / "ours")
    monkeypatch.setattr(apt, "MIRROR", tmp_path / "mirror")
    host = apt.fault(["apt-get"], said)
    with pytest.raises(GroundupError, match=told):
        raise host
    (tmp_path / "mirror").touch()
    mirror = apt.fault(["apt-get"], said)
    (tmp_path / "ours").touch()
    seed = apt.fault(["apt-get"], said)
    if "package source" in host.what:
        assert mirror.what.startswith("the site's package mirror")
        assert seed.what.startswith("the seed's packages")
    assert not any(line.startswith("E: ") for line in str(seed).splitlines()), "apt's words do not stand alone"


def test_a_host_whose_snapshot_is_gone_is_told_where_the_one_in_use_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apt, "OURS", tmp_path)
    gone = "E: Failed to fetch https://seed:8080/packages-13/2026-10-01-a/pool/socat_1_amd64.deb  404  Not Found\n"
    found = apt.fault(["apt-get"], gone)
    assert found.where.endswith("/packages-13/2026-10-01-a/pool/socat_1_amd64.deb")
    assert found.remedy.startswith("run the playbook groundup.cloud.host, which names the snapshot in use")


@pytest.mark.parametrize("layout", ["{}/2026-10-01-a", "{}"])  # and that of a host of the former version
@pytest.mark.parametrize("artifact", ["packages-13", "packages-monitoring-13", "packages-ceph-13"])
def test_a_seed_whose_packages_are_too_old_is_told_the_artifact_to_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, artifact: str, layout: str
) -> None:
    monkeypatch.setattr(apt, "OURS", tmp_path / "apt.conf")
    source = SeedRepository(url="https://seed:8080", places={"13": layout.format(artifact)}, key="a key")
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"VERSION_ID": "13", "VERSION_CODENAME": "trixie"})
    for path, text in source.files(home=tmp_path).items():
        path.write_text(text)
    found = apt.fault(["apt-get"], CASES["a host of an older point release"][0])
    assert f"{{supply_names: [{artifact}], supply_rebuild: true}}" in found.remedy
    assert artifact in load_lock().artifacts
    (tmp_path / apt.SEED_LIST).write_text("damaged\n")
    assert "supply_names: [packages]" in apt.fault(["apt-get"], CASES["a host of an older point release"][0]).remedy


class Apt:
    """Stands for apt and dpkg: gives prepared answers, one after the other."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self.answers, self.calls = list(answers), list[list[str]]()

    def __call__(self, argv: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.calls.append(list(argv))
        code, said = self.answers.pop(0) if argv[0] == "apt-get" else (0, "iHR|keepalived\nii |sudo\nrc |old\n")
        return subprocess.CompletedProcess(argv, code, said if argv[0] != "apt-get" else "", said)


def run_with(monkeypatch: pytest.MonkeyPatch, *answers: tuple[int, str]) -> Apt:
    found = Apt(*answers)
    monkeypatch.setattr(apt, "attempt", found)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return found


def ended(argv: Sequence[str], given: list[Any], one: Any) -> subprocess.CompletedProcess[str]:
    given.append(one)
    return subprocess.CompletedProcess(argv, 0, "", "")


@pytest.mark.parametrize(("file", "through"), [("OURS", False), ("MIRROR", False), (None, True)])
def test_only_the_hosts_own_sources_may_be_behind_a_proxy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str | None, through: bool
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example.org:3128")
    for name in ("OURS", "MIRROR"):
        monkeypatch.setattr(apt, name, tmp_path / name)
    if file:
        (tmp_path / file).touch()
    given: list[Any] = []
    monkeypatch.setattr(apt, "attempt", lambda argv, *, environment, **_: ended(argv, given, environment))
    apt.update()
    assert (given[0] is not None and "http_proxy" in given[0]) is through


def test_lists_that_another_apt_holds_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = run_with(monkeypatch, (100, HELD + LISTS), (100, HELD + LISTS), (0, "")).calls
    apt.update()
    assert len(calls) == 3


def test_an_apt_that_does_not_end_is_named_with_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apt, "WAIT", 0.0)
    run_with(monkeypatch, (100, HELD + LISTS))
    with pytest.raises(GroundupError, match=r"process 9117 \(python3\) holds /var/lib/apt/lists/lock"):
        apt.update()


def test_what_a_killed_dpkg_left_is_finished_and_named_when_it_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run_with(monkeypatch, (100, INTERRUPTED), (0, ""))
    apt.install(["socat"])
    assert [call[:3] for call in found.calls if call[0] == "dpkg"] == [["dpkg", "--configure", "-a"]]
    run_with(monkeypatch, (100, INTERRUPTED), (100, INTERRUPTED))
    with pytest.raises(GroundupError, match="half installed: keepalived\n"):
        apt.install(["socat"])


def test_no_package_of_the_host_goes_for_one_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker's containerd.io conflicts with containerd: without preflight it was removed."""
    found = run_with(monkeypatch, (0, ""))
    apt.install(["containerd"])
    assert "--no-remove" in found.calls[0]

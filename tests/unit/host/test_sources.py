"""Where a host's packages come from: the seed, a mirror, its own sources; also after a run that was killed."""

from __future__ import annotations

import dataclasses
import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import (
    apt,
    sources,
)


def test_the_sites_mirror_is_the_only_source_and_the_hosts_own_come_back(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("deb somewhere\n")
    (tmp_path / "sources.list.d/debian.sources").write_text("Types: deb\n")
    monkeypatch.setattr(sources, "APT", tmp_path)
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "trixie"})
    lists = ["/var/lib/apt/lists/registry.lab.test_Packages\n"]
    monkeypatch.setattr(sources, "attempt", lambda argv: subprocess.CompletedProcess(argv, 0, "".join(lists), ""))

    def active() -> list[str]:
        found = [*tmp_path.glob("sources.list"), *tmp_path.glob("sources.list.d/*.sources")]
        return sorted(path.name for path in found)

    mirror = sources.Mirror(url="http://registry.lab.test:8080/debian")
    assert sources.packages_from(changes, mirror), "its lists are to be fetched"
    assert active() == ["groundup.sources"]
    assert "Suites: trixie\n" in (tmp_path / "sources.list.d/groundup.sources").read_text()
    again = Changes(check=False)
    assert not sources.packages_from(again, mirror)
    assert again.done == []
    lists.clear()
    assert sources.packages_from(again, mirror), "a run killed before it fetched the lists is made good"
    rename = sources._rename

    def killed(changes: Changes, old: Path, new: Path) -> None:
        if new.name == "debian.sources":
            raise KeyboardInterrupt
        rename(changes, old, new)

    monkeypatch.setattr(sources, "_rename", killed)
    with pytest.raises(KeyboardInterrupt):
        sources.packages_from(changes, None)
    monkeypatch.setattr(sources, "_rename", rename)
    sources.packages_from(changes, None)
    assert active() == ["debian.sources", "sources.list"], "also after a run that was killed in between"


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a Debian 12 that apt reads."""
    (tmp_path / "sources.list").write_text("deb somewhere\n")
    monkeypatch.setattr(sources, "APT", tmp_path)
    own = {"ID": "debian", "VERSION_ID": "12", "VERSION_CODENAME": "bookworm"}
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: own)
    monkeypatch.setattr(apt, "OURS", tmp_path / "ours/apt.conf")
    return tmp_path


def test_what_we_install_comes_from_the_seed_alone_and_the_hosts_own_sources_stay(
    changes: Changes, debian: Path
) -> None:
    assert "-c" not in apt.command("update")
    seed = sources.SeedRepository(url="https://seed:8080", places={"12": "packages-12/12"}, key="KEY", ca="CA")
    assert not sources.packages_from(changes, seed), "its lists are fetched by what installs"
    ours = {path.name: path.read_text() for path in (debian / "ours").iterdir()}
    assert ours["seed.list"] == (
        f"deb [arch=amd64 signed-by={debian}/ours/seed.asc] https://seed:8080/packages-12/12 bookworm main\n"
    )
    assert (ours["seed.asc"], ours["seed-ca.crt"]) == ("KEY\n", "CA\n")
    assert f'Dir::Etc::SourceList "{debian}/ours/seed.list";' in ours["apt.conf"]
    assert apt.command("update")[-3:] == ["-c", f"{debian}/ours/apt.conf", "update"]
    assert (debian / "sources.list").read_text() == "deb somewhere\n"
    again = Changes(check=False)
    sources.packages_from(again, seed)
    assert again.done == []
    sources.packages_from(changes, None)
    assert not list((debian / "ours").iterdir())


def test_a_host_tells_which_snapshot_it_installs_from(changes: Changes, debian: Path) -> None:
    assert sources.snapshot() == ""
    places = {"12": "packages-12/2026-11-28-3f9a0c1b"}
    seed = sources.SeedRepository(url="https://seed:8080", places=places, key="KEY", ca="CA")
    sources.packages_from(changes, seed)
    assert sources.snapshot() == "2026-11-28-3f9a0c1b"
    newer = dataclasses.replace(seed, places={"12": "packages-12/2026-12-24-00000000"})
    again = Changes(check=False)
    assert sources.packages_from(again, newer), "it has no lists of that one"
    assert not sources.packages_from(Changes(check=False), newer)
    configuration = sources.apart(newer, debian / "apart")
    dump = ["apt-config", "-c", str(configuration), "dump"]
    said = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
    for name in ("dir::state::lists", "dir::etc::sourcelist"):
        assert f'{name} "{debian}/apart/' in said.lower(), "lists and source are apart from the host's"
    sources.packages_from(changes, None)
    assert sources.snapshot() == ""


def test_lists_of_a_snapshot_are_fetched_also_after_a_run_that_was_killed_before_it(
    changes: Changes, debian: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = debian / "lists"
    (lists / "partial").mkdir(parents=True)
    monkeypatch.setattr(sources, "LISTS", lists)
    seed = sources.SeedRepository(url="https://seed:8080", places={"12": "packages-12/2026-11-28-3f"}, key="KEY")
    assert not sources.packages_from(changes, seed), "what installs fetches them"
    (lists / "seed:8080_packages-12_2026-10-01-aa_dists_bookworm_InRelease").touch()
    again = Changes(check=False)
    assert sources.packages_from(again, seed), "it has those of the former one"
    assert again.done == []
    (lists / "seed:8080_packages-12_2026-11-28-3f_dists_bookworm_InRelease").touch()
    assert not sources.packages_from(Changes(check=False), seed)
    assert not sources.packages_from(Changes(check=False), None), "the host's own are not the seed's"


def test_a_host_is_asked_without_its_own_programs_around_an_update(
    debian: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = "".join(f'APT::Update::{one} {{"touch /ran";}};\n' for one in sources._HOOKS)
    (debian / "host.conf").write_text(hooks)
    monkeypatch.setenv("APT_CONFIG", str(debian / "host.conf"))
    dump = ["apt-config", "-c", str(sources.apart(None, debian / "apart")), "dump"]
    assert "touch" not in subprocess.run(dump, capture_output=True, text=True, check=True).stdout


def test_what_a_host_lets_its_own_sources_do_does_not_hold_for_the_seeds(
    changes: Changes, debian: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = {
        "APT::Get::AllowUnauthenticated": "true", "Acquire::AllowInsecureRepositories": "true",
        "Acquire::https::Verify-Peer": "false", "Acquire::https::Verify-Host": "false",
        "Acquire::http::Proxy-Auto-Detect": "/usr/bin/apt-proxy-detect",
    }  # fmt: skip
    (debian / "host.conf").write_text("".join(f'{name} "{value}";\n' for name, value in ours.items()))
    monkeypatch.setenv("APT_CONFIG", str(debian / "host.conf"))
    sources.packages_from(
        changes, sources.SeedRepository(url="https://seed:8080", places={"12": "p/12"}, key="KEY", ca="CA")
    )
    argv = ["apt-config", "-c", str(debian / "ours/apt.conf"), "dump"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert [name for name, value in ours.items() if f'{name} "{value}";' in said] == []


@pytest.mark.usefixtures("debian")
def test_the_layers_of_seed_and_host_write_the_same_on_the_seed(changes: Changes) -> None:
    own: dict[str, Any] = {"url": "file:/srv/groundup", "places": {"12": "packages-12/12"}, "key": "KEY"}
    sources.packages_from(changes, sources.SeedRepository(**own))
    again = Changes(check=False)
    sources.packages_from(again, sources.SeedRepository(**own, ca="CA"))
    assert again.done == []


def test_a_release_that_the_seed_does_not_serve_is_refused_with_the_field(changes: Changes, debian: Path) -> None:
    with pytest.raises(GroundupError, match="no packages of Debian 12") as caught:
        sources.packages_from(
            changes, sources.SeedRepository(url="file:/srv", places={"13": "packages-13/13"}, key="KEY")
        )
    assert 'add "12" to hosts.debian_releases' in caught.value.remedy
    assert not (debian / "ours").exists()


def test_a_mirrors_ca_is_trusted_for_it_alone_and_goes_with_it(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "APT", tmp_path)
    monkeypatch.setattr(sources, "attempt", lambda argv: subprocess.CompletedProcess(argv, 0, "lists\n", ""))
    url = "https://Mirror.example.org:8443/debian"
    sources.packages_from(changes, sources.Mirror(url=url, ca="PEM\n"))
    trust, ca = tmp_path / "apt.conf.d/90groundup-ca", tmp_path / "groundup-ca.crt"
    assert trust.read_text().splitlines()[-1] == f'Acquire::https::mirror.example.org::CAInfo "{ca}";'
    assert ca.read_text() == "PEM\n"
    assert ca.stat().st_mode & 0o777 == 0o644, "apt reads it as an account of its own"
    again = Changes(check=False)
    sources.packages_from(again, sources.Mirror(url=url, ca="PEM"))
    assert again.done == []
    for mirror in (sources.Mirror(url=url), None):
        sources.packages_from(changes, sources.Mirror(url=url, ca="PEM"))
        sources.packages_from(changes, mirror)
        assert not trust.exists()
        assert not ca.exists()


def test_the_proxy_to_the_hosts_own_sources_comes_and_goes_and_its_login_is_for_root_alone(
    debian: Path, changes: Changes
) -> None:
    proxy = {"http": "http://p.test:1", "https": "http://q.test:2", "no_proxy": [".a", "10.0.0.0/8", "::1", "b.test"]}
    file = debian / sources.PROXY

    def converge(changes: Changes, login: str, proxy: dict[str, Any] | None = proxy) -> None:
        sources.way_out(changes, {"packages_proxy": proxy, "packages_proxy_login": login})

    converge(Changes(check=True), "")
    assert not file.exists()
    converge(changes, "")
    lines = [line for line in file.read_text().splitlines() if line.startswith("Acquire")]
    assert lines == [
        'Acquire::http::Proxy "http://p.test:1";', 'Acquire::https::Proxy "http://q.test:2";',
        'Acquire::http::Proxy::b.test "DIRECT";', 'Acquire::https::Proxy::b.test "DIRECT";',
    ]  # fmt: skip
    assert file.stat().st_mode & 0o777 == 0o644
    converge(changes, 'me:w"rd @1')
    assert 'Acquire::http::Proxy "http://me:w%22rd%20%401@p.test:1";' in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert "w%22rd" not in str(changes.result())
    again = Changes(check=False)
    converge(again, 'me:w"rd @1')
    assert again.done == []
    converge(Changes(check=True), "")
    converge(again, "")
    converge(again, 'me:w"rd @1')
    converge(again, "", None)
    assert not file.exists()
    assert "w%22rd" not in str(again.result())

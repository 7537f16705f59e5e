"""Kernel, names, access, time, trust and package sources of a host, on a file tree that stands for one."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import (
    access,
    apt,
    clock,
    kernel,
    naming,
    ownership,
    sources,
    trust,
    units,
    verification,
)
from ansible_collections.groundup.cloud.plugins.modules import host_baseline


@pytest.fixture
def changes() -> Changes:
    return Changes(check=False)


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "proc"
    (root / "sys/net/ipv4").mkdir(parents=True)
    (root / "sys/net/ipv4/ip_forward").write_text("0\n")
    (root / "sys/net/ipv4/tcp_rmem").write_text("4096\t131072\t6291456\n")
    (root / "modules").write_text("nf_tables 300 1 - Live 0x0\n")
    (root / "filesystems").write_text("nodev\toverlay\n\text4\n")
    monkeypatch.setattr(kernel, "PROC", root)
    monkeypatch.setattr(kernel, "SYS", tmp_path / "sys")
    monkeypatch.setattr(kernel, "BUILTIN", tmp_path / "modules")
    return root


def test_only_a_parameter_that_differs_is_set_and_kept_for_the_next_boot(
    changes: Changes, proc: Path, tmp_path: Path
) -> None:
    wanted = {"net.ipv4.ip_forward": "1", "net.ipv4.tcp_rmem": "4096 131072 6291456"}
    kernel.parameters(changes, wanted, file=tmp_path / "drop-in")
    assert (proc / "sys/net/ipv4/ip_forward").read_text() == "1\n"
    assert (proc / "sys/net/ipv4/tcp_rmem").read_text() == "4096\t131072\t6291456\n"
    assert changes.done == [f"write {tmp_path / 'drop-in'}", "net.ipv4.ip_forward = 1"]
    assert "net.ipv4.ip_forward = 1\n" in (tmp_path / "drop-in").read_text()
    again = Changes(check=False)
    kernel.parameters(again, wanted, file=tmp_path / "drop-in")
    assert again.done == []


def test_a_parameter_with_a_slash_keeps_its_dots(changes: Changes, proc: Path, tmp_path: Path) -> None:
    (proc / "sys/net/ipv4/conf/eth0.120").mkdir(parents=True)
    (proc / "sys/net/ipv4/conf/eth0.120/rp_filter").write_text("0\n")
    kernel.parameters(changes, {"net/ipv4/conf/eth0.120/rp_filter": "1"}, file=tmp_path / "drop-in")
    assert (proc / "sys/net/ipv4/conf/eth0.120/rp_filter").read_text() == "1\n"


@pytest.mark.usefixtures("proc")
def test_a_parameter_the_kernel_lacks_is_an_error_that_names_it(changes: Changes, tmp_path: Path) -> None:
    with pytest.raises(
        GroundupError, match=r"(?s)net\.bridge\.none.*kernel_modules.*net\.bridge\.none: null in hosts\.sysctl"
    ):
        kernel.parameters(changes, {"net.bridge.none": "1"}, file=tmp_path / "drop-in")


@pytest.mark.usefixtures("proc")
def test_a_parameter_that_cannot_be_written_is_an_error_with_the_value_it_has(
    changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(GroundupError, match=r"(?s)ip_forward.*Read-only.*it is 0"):
        kernel._parameter(changes, "net.ipv4.ip_forward", "1")


@pytest.mark.usefixtures("proc")
def test_a_module_that_is_built_in_or_loaded_is_left_alone(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(kernel, "run", lambda argv, **_: called.append(argv))
    (tmp_path / "sys/module/br_netfilter").mkdir(parents=True)
    kernel.modules(changes, ["overlay", "br_netfilter", "nf-tables"], file=tmp_path / "list")
    assert called == []
    assert (tmp_path / "list").read_text().splitlines()[1:] == ["nf-tables"], "a loadable one is loaded at boot, too"
    kernel.modules(changes, ["overlay", "geneve"], file=tmp_path / "list")
    assert called == [["modprobe", "--", "geneve"]]


@pytest.mark.usefixtures("proc")
def test_a_prediction_takes_parameters_of_modules_that_it_does_not_load_as_they_come(tmp_path: Path) -> None:
    changes = Changes(check=True)
    left = kernel.modules(changes, ["br_netfilter", "nf_tables"], file=tmp_path / "list")
    assert left == {"br_netfilter"}
    wanted = {"net.bridge.bridge-nf-call-iptables": "1"}
    kernel.parameters(changes, wanted, file=tmp_path / "drop-in", unloaded=left)
    assert changes.done[-1] == "net.bridge.bridge-nf-call-iptables = 1"
    with pytest.raises(GroundupError, match="cannot be read"):  # all modules are loaded: none will bring it
        kernel.parameters(Changes(check=True), wanted, file=tmp_path / "drop-in")


def test_a_host_knows_itself_by_its_real_address_and_keeps_what_others_wrote(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = tmp_path / "hosts"
    monkeypatch.setattr(naming, "HOSTS", hosts)
    hosts.write_text("127.0.0.1 localhost\n127.0.1.1 w-1.lab.test w-1\n192.0.2.9 printer\n")
    names = {"identity.lab.test": "10.0.0.2", "w-1.lab.test": "10.0.0.9"}
    for _ in range(2):
        naming.known_names(changes, name="w-1", fqdn="w-1.lab.test", address="10.0.0.9", names=names)
    assert hosts.read_text().splitlines() == [
        "127.0.0.1 localhost",
        "192.0.2.9 printer",
        "# BEGIN groundup.cloud",
        "10.0.0.9 w-1.lab.test w-1",
        "10.0.0.2 identity.lab.test",
        "# END groundup.cloud",
    ]
    assert len(changes.done) == 1


def test_keys_taken_out_of_the_site_file_lose_their_way_in(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "KEYS", tmp_path)
    access.keys(changes, "ops", ["ssh-ed25519 AAAA b\n", "ssh-ed25519 CCCC a"])
    access.keys(changes, "ops", ["ssh-ed25519 CCCC a"])
    assert (tmp_path / "ops").read_text() == "ssh-ed25519 CCCC a\n"


@pytest.mark.parametrize("user", ["nobody", "root"])
def test_the_account_a_site_had_before_loses_its_way_in(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    """Keys taken out of the site file later would still have let in whoever was `access.user` once."""
    monkeypatch.setattr(access, "KEYS", tmp_path / "keys")
    monkeypatch.setattr(access, "SUDOERS", tmp_path / "sudoers")
    monkeypatch.setattr(access, "run", lambda _argv, **_: "")
    access.account(changes, "daemon")
    access.keys(changes, "daemon", ["ssh-ed25519 AAAA a"])
    access.account(changes, "daemon")
    assert (tmp_path / "keys/daemon").exists()
    access.account(changes, user)
    access.keys(changes, user, ["ssh-ed25519 AAAA a"])
    assert [path.name for path in (tmp_path / "keys").iterdir()] == [user]


@pytest.mark.parametrize(("user", "root"), [("root", "prohibit-password"), ("ops", "no")])
def test_sshd_takes_keys_only_and_root_only_when_the_controller_is_root(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str, root: str
) -> None:
    monkeypatch.setattr(access, "SSHD", tmp_path / "drop-in")
    monkeypatch.setattr(access, "run", lambda _argv, **_: "")
    monkeypatch.setattr(units.Unit, "refreshed", lambda _: None)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    access.sshd(changes, user)
    lines = (tmp_path / "drop-in").read_text().splitlines()
    assert f"PermitRootLogin {root}" in lines
    assert "PasswordAuthentication no" in lines


def test_an_unknown_time_zone_is_an_error_that_names_the_field(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "ZONES", tmp_path)
    with pytest.raises(GroundupError, match=r"(?s)Mars/Olympus.*hosts\.timezone"):
        clock.timezone(changes, "Mars/Olympus")


@pytest.mark.parametrize(
    ("unit", "said", "expected"),
    [
        ({"ActiveState": "active", "ConditionResult": "yes"}, "yes\n", True),
        ({"ActiveState": "active", "ConditionResult": "yes"}, "no\n", False),
        ({"ActiveState": "failed", "ConditionResult": "yes"}, "no\n", False),
        ({"ActiveState": "inactive", "ConditionResult": "no", "ConditionTimestampMonotonic": "17"}, "no\n", None),
        ({"ActiveState": "inactive", "ConditionResult": "no", "ConditionTimestampMonotonic": "0"}, "no\n", False),
    ],
)
def test_the_clock_is_in_step_or_not_or_somebody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: dict[str, str], said: str, expected: bool | None
) -> None:
    daemon = tmp_path / "chronyd"
    daemon.touch()
    monkeypatch.setattr(clock, "CHRONYD", daemon)
    monkeypatch.setattr(clock, "properties", lambda *_: unit)
    monkeypatch.setattr(clock, "attempt", lambda argv: subprocess.CompletedProcess(argv, 0, said, ""))
    assert clock.state()["synchronised"] is expected


def test_a_trust_store_a_killed_run_left_old_is_made_anew(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, links, ours = tmp_path / "bundle", tmp_path / "links", tmp_path / "ours"
    links.mkdir()
    ours.mkdir()
    for name, path in (("BUNDLE", bundle), ("LINKS", links), ("OURS", ours)):
        monkeypatch.setattr(trust, name, path)
    calls: list[Any] = []

    def update(argv: list[str]) -> None:
        calls.append(argv)
        bundle.write_text((ours / "groundup-lab.crt").read_text())
        (links / "groundup-lab.pem").touch()

    (ours / "groundup-lab.crt").write_text("CERTIFICATE\n")
    monkeypatch.setattr(trust, "run", update)
    trust.authority(changes, "CERTIFICATE", site="lab")
    trust.authority(changes, "CERTIFICATE", site="lab")
    assert calls == [["update-ca-certificates"]]
    assert changes.done == ["rebuild the trust store"]


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
    seed = sources.Seed(url="https://seed:8080", places={"12": "packages-12/12"}, key="KEY", ca="CA")
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
    sources.packages_from(changes, sources.Seed(url="https://seed:8080", places={"12": "p/12"}, key="KEY", ca="CA"))
    argv = ["apt-config", "-c", str(debian / "ours/apt.conf"), "dump"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert [name for name, value in ours.items() if f'{name} "{value}";' in said] == []


@pytest.mark.usefixtures("debian")
def test_the_layers_of_seed_and_host_write_the_same_on_the_seed(changes: Changes) -> None:
    own: dict[str, Any] = {"url": "file:/srv/groundup", "places": {"12": "packages-12/12"}, "key": "KEY"}
    sources.packages_from(changes, sources.Seed(**own))
    again = Changes(check=False)
    sources.packages_from(again, sources.Seed(**own, ca="CA"))
    assert again.done == []


def test_a_release_that_the_seed_does_not_serve_is_refused_with_the_field(changes: Changes, debian: Path) -> None:
    with pytest.raises(GroundupError, match="no packages of Debian 12") as caught:
        sources.packages_from(changes, sources.Seed(url="file:/srv", places={"13": "packages-13/13"}, key="KEY"))
    assert 'add "12" to hosts.debian_releases' in caught.value.remedy
    assert not (debian / "ours").exists()


def test_a_host_without_a_time_service_gets_one_though_no_server_is_written(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CHRONYD", "TIMESYNCD", "NTPD"):
        monkeypatch.setattr(clock, name, tmp_path / name)
    assert clock.lacking() == ["chrony"]
    (tmp_path / "NTPD").touch()
    assert clock.lacking() == [], "chrony would take its place"
    clock.servers(changes, ["ntp.lab.test"])
    assert "hosts.ntp_servers does not reach it: write ntp.lab.test" in changes.warnings[0]
    active = {"ActiveState": "active", "ConditionResult": "yes", "ConditionTimestampMonotonic": "1"}
    monkeypatch.setattr(clock, "properties", lambda *_: active)
    monkeypatch.setattr(clock, "attempt", lambda _: SimpleNamespace(stdout="yes\n"))
    assert clock.state() == {"service": "ntpsec.service", "synchronised": True, "why": "ntpsec.service is active"}
    (tmp_path / "NTPD").unlink()
    (tmp_path / "TIMESYNCD").touch()
    assert clock.lacking() == [], "the host's own keeps the time"


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


def test_a_host_of_another_site_or_of_lost_secrets_is_refused_before_anything_changes(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "FILE", tmp_path / "site")
    ownership.belongs(changes, site="lab", store="one")
    ownership.belongs(changes, site="lab", store="one")
    assert len(changes.done) == 1
    for site, store in (("lab", "two"), ("other", "one")):
        with pytest.raises(GroundupError, match=f"(?s)belongs to site lab.*{site} {store}"):
            ownership.belongs(changes, site=site, store=store)
    assert (tmp_path / "site").read_text() == "lab one\n"
    assert len(changes.done) == 1


KUBECONFIG = """\
clusters:
- cluster:
    server: https://{server}
"""


@pytest.mark.parametrize(
    ("file", "own"), [("admin.conf", "10.0.0.16:6444"), ("kubelet.conf", "kubernetes.lab.test:6443")]
)
def test_the_name_a_node_calls_its_api_by_is_not_forgotten(
    file: str, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another `domain`: every kubelet of the site would lose its API before the cluster's layer begins."""
    paths = tuple(tmp_path / name for name in ("admin.conf", "kubelet.conf"))
    monkeypatch.setattr(host_baseline, "KUBECONFIGS", paths)
    monkeypatch.setattr(ownership, "FILE", tmp_path / "site")
    monkeypatch.setattr(naming, "HOSTNAME", tmp_path / "hostname")
    wanted: dict[str, Any] = {
        "site": "lab", "store": "one", "name": "worker-1", "names": {"kubernetes.lab.test": "10.0.0.2"},
    }  # fmt: skip
    host_baseline.keeps_its_cluster("worker-1", names=wanted["names"])
    paths[1].write_text(KUBECONFIG.format(server=own))
    (tmp_path / file).write_text(KUBECONFIG.format(server="kubernetes.lab.test:6443"))
    host_baseline.keeps_its_cluster("worker-1", names=wanted["names"])
    monkeypatch.setattr(naming, "own_name", lambda *_: pytest.fail("the host was changed"))
    with pytest.raises(
        GroundupError, match=r"(?s)a cluster whose API is kubernetes\.lab\.test, .*site file key domain"
    ):
        host_baseline.converge(Changes(check=False), wanted | {"names": {"kubernetes.new.test": "10.0.0.2"}})


def test_a_node_is_not_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next start of its kubelet would be the last of its Node."""
    paths = tuple(tmp_path / name for name in ("admin.conf", "kubelet.conf"))
    monkeypatch.setattr(host_baseline, "KUBECONFIGS", paths)
    monkeypatch.setattr(naming, "HOSTNAME", tmp_path / "hostname")
    naming.HOSTNAME.write_text("worker-1\n")
    host_baseline.keeps_its_cluster("compute-1", names={})
    paths[1].write_text(KUBECONFIG.format(server="10.0.0.16:6444"))
    host_baseline.keeps_its_cluster("worker-1", names={})
    with pytest.raises(GroundupError, match=r"(?s)is worker-1, a node .* is to be compute-1.*call it worker-1"):
        host_baseline.keeps_its_cluster("compute-1", names={})


def test_the_resolver_of_a_host_is_written_only_when_the_site_says_which(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolv = tmp_path / "resolv.conf"
    resolv.write_text("nameserver 192.0.2.1\n")
    monkeypatch.setattr(naming, "RESOLV", resolv)
    naming.resolver(changes, [], domain="lab.test")
    assert resolv.read_text() == "nameserver 192.0.2.1\n"
    naming.resolver(changes, ["10.0.0.1", "10.0.0.2"], domain="lab.test")
    assert resolv.read_text().splitlines()[1:] == ["search lab.test", "nameserver 10.0.0.1", "nameserver 10.0.0.2"]


def test_a_host_without_a_resolver_has_the_file_all_the_same(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naming, "RESOLV", tmp_path / "resolv.conf")  # the kubelet makes no pod without it
    naming.resolver(changes, [], domain="lab.test")
    assert (tmp_path / "resolv.conf").read_text().splitlines()[1:] == ["search lab.test"]


def test_names_that_resolve_elsewhere_or_not_at_all_are_all_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(name: str, _port: None) -> list[Any]:
        if name == "gone.lab.test":
            raise OSError(-2, "Name or service not known")
        return [(0, 0, 0, "", ("10.0.0.1", 0))]

    monkeypatch.setattr(verification, "socket", SimpleNamespace(getaddrinfo=ask))
    names = {"right.lab.test": "10.0.0.1", "wrong.lab.test": "10.0.0.2", "gone.lab.test": "10.0.0.3"}
    assert verification.unresolved(names) == [
        "gone.lab.test: Name or service not known, not 10.0.0.3",
        "wrong.lab.test: 10.0.0.1, not 10.0.0.2",
    ]

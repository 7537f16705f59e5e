"""Kernel, names, access, time, trust and package sources of a host, on a file tree that stands for one."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import (
    access,
    clock,
    kernel,
    naming,
    trust,
    units,
)


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


@pytest.mark.parametrize(
    ("file", "line", "wins"),
    [
        ("etc/sysctl.d/99-cis.conf", "net.ipv4.ip_forward = 0", True),
        ("etc/sysctl.d/99-cis.conf", "-net/ipv4/ip_forward=0", True),
        ("etc/sysctl.d/99-cis.conf", "net.ipv4.ip_forward = 1", False),
        ("etc/sysctl.d/99-cis.conf", "# net.ipv4.ip_forward = 0", False),
        ("etc/sysctl.d/10-network.conf", "net.ipv4.ip_forward = 0", False),
        ("usr/lib/sysctl.d/99-local.conf", "net.ipv4.ip_forward = 0", True),
        ("usr/lib/sysctl.d/99-hidden.conf", "net.ipv4.ip_forward = 0", False),
        ("etc/sysctl.d/10-network.conf", "net.ipv4.conf.eth0.rp_filter = 1", True),
        ("etc/ufw/sysctl.conf", "net/ipv4/ip_forward=0", True),
        ("run/sysctl.d/99-vpn.conf", "net.ipv4.conf.all.forwarding = 0", True),  # another name of ip_forward
        ("etc/sysctl.d/99-cis.conf", "net.ipv4.conf.*.forwarding = 0", True),
        ("etc/sysctl.d/10-network.conf", "net.ipv4.conf.all.forwarding = 0", False),
        ("etc/sysctl.d/99-cis.conf", "net.ipv4.ip_f* = 0", False),  # a full name wins over patterns
        ("etc/sysctl.d/99-cis.conf", "net.ipv4.conf.e*.rp_filter = 1", True),
        ("etc/sysctl.d/10-network.conf", "net.ipv4.conf.e*.rp_filter = 1", False),
        ("etc/sysctl.d/99-cis.conf", "net/ipv4/conf/eth0.100/rp_filter = 1", True),
        ("etc/sysctl.d/99-cis.conf", "-net.ipv4.conf.eth0.rp_filter", True),
        ("usr/lib/sysctl.d/50-default.conf", "-net.ipv4.conf.all.rp_filter", False),  # Debian's own
        ("etc/sysctl.d/10-network.conf", "net.ipv4.conf.all.rp_filter = 1", False),
        ("etc/sysctl.d/99-cis.conf", "net.ipv4.conf.all.rp_filter = 1", True),
        ("etc/sysctl.d/99-cis.conf.off", "net.ipv4.ip_forward = 0", False),
    ],
)
def test_a_file_that_wins_at_the_next_boot_is_named(tmp_path: Path, file: str, line: str, wins: bool) -> None:
    wanted = {"net.ipv4.ip_forward": "1", "net.ipv4.conf.*.rp_filter": "0"}
    texts = {
        "etc/sysctl.d/90-groundup.conf": "net.ipv4.ip_forward = 1\nnet.ipv4.conf.*.rp_filter = 0\n",
        "etc/sysctl.d/99-hidden.conf": "",
        "etc/ufw/ufw.conf": "ENABLED=yes\n",
        file: f"{line}\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = kernel.overridden(wanted, file=kernel.PARAMETERS, root=tmp_path)
    assert [one.partition(" ")[0] for one in found] == ([f"/{file}"] if wins else [])


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


def test_foreign_lines_lose_the_sites_names_and_keep_all_others(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = tmp_path / "hosts"
    monkeypatch.setattr(naming, "HOSTS", hosts)
    hosts.write_text(
        "127.0.0.1 localhost W-1 identity.LAB.test # by the installer\n::1 localhost ip6-localhost w-2\n"
        "10.9.9.9\tw-2.lab.test w-2 store\n10.0.0.2 identity.lab.test\n# 10.0.0.8 w-2\nbroken\n"
    )
    names = {"identity.lab.test": "10.0.0.2", "w-1": "10.0.0.9", "w-2": "10.0.0.8", "w-2.lab.test": "10.0.0.8"}
    for _ in range(2):
        naming.known_names(changes, name="w-1", fqdn="w-1.lab.test", address="10.0.0.9", names=names)
    assert hosts.read_text().splitlines()[:6] == [
        "127.0.0.1 localhost # by the installer",
        "::1 localhost ip6-localhost",
        "10.9.9.9 store",
        "# 10.0.0.8 w-2",
        "broken",
        "# BEGIN groundup.cloud",
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


def test_what_a_first_boot_wrote_ends_and_what_an_operator_wrote_stays(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leaver's key, or a stolen one of the runner, opened each machine until it was installed again."""
    monkeypatch.setattr(access, "KEYS", tmp_path / "keys")
    monkeypatch.setattr(access, "SUDOERS", tmp_path / "sudoers.d/groundup")
    accounts = {name: SimpleNamespace(pw_dir=str(tmp_path / name)) for name in ("root", "ops", "former", "jane")}
    monkeypatch.setattr("pwd.getpwnam", accounts.__getitem__)
    keys = {name: tmp_path / name / ".ssh/authorized_keys" for name in accounts}
    rules = {name: tmp_path / "sudoers.d" / name for name in ("groundup", "ops", "former", "jane", "staff")}
    for path in (*keys.values(), *rules.values(), tmp_path / "keys/ops", tmp_path / "keys/former"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{path.name} ALL=(ALL) NOPASSWD: ALL\n")
    rules["jane"].write_text("jane ALL=(ALL) NOPASSWD: /usr/bin/apt\n")
    rules["staff"].write_text("%staff ALL=(ALL) NOPASSWD: ALL\n")
    rules["groundup"].write_text("ops ALL=(ALL:ALL) NOPASSWD: ALL\n")
    access.taken_over(Changes(check=True), "ops")
    assert all(path.exists() for path in (*keys.values(), *rules.values()))
    access.taken_over(changes, "ops")
    assert {name for name, path in keys.items() if path.exists()} == {"jane"}
    assert {name for name, path in rules.items() if path.exists()} == {"groundup", "jane", "staff"}
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["ops"]
    again = Changes(check=False)
    access.taken_over(again, "ops")
    assert again.done == []


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


def test_a_clock_of_ptp_is_left_alone_and_trusted(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CHRONYD", "TIMESYNCD", "NTPD"):
        monkeypatch.setattr(clock, name, tmp_path / name)
    monkeypatch.setattr(clock, "UNITS", tmp_path)
    (tmp_path / "multi-user.target.wants").mkdir()
    (tmp_path / "multi-user.target.wants/phc2sys@ens3.service").touch()
    monkeypatch.setattr(clock, "properties", lambda unit, *_: {"ActiveState": "active"} if "@ens3" in unit else {})
    assert clock.lacking() == [], "two programs would set one clock"
    clock.servers(changes, ["ntp.lab.test"])
    assert (changes.done, len(changes.warnings)) == ([], 1)
    assert clock.state()["synchronised"] is True


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


def test_a_ca_that_the_first_boot_trusted_is_trusted_under_the_site_s_name_alone(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BUNDLE", "LINKS", "OURS"):
        monkeypatch.setattr(trust, name, tmp_path / name)
    (tmp_path / "OURS").mkdir()
    for name in ("groundup-site.crt", "operator.crt"):
        (tmp_path / "OURS" / name).write_text("OLD\n")
    monkeypatch.setattr(trust, "run", lambda _: None)
    trust.authority(changes, "CERTIFICATE", site="lab")
    assert {path.name for path in (tmp_path / "OURS").iterdir()} == {"groundup-lab.crt", "operator.crt"}
    assert "rebuild the trust store" in changes.done


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

"""Names, keys, accounts and sshd of a host, on a file tree that stands for one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import (
    access,
    naming,
    units,
)


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

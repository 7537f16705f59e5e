"""Nova's own ssh between hypervisors: who gets in, to what, and that nothing else of the host is told of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import accounts, units
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import nova_ssh, services
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.peers import peers
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.ports import PORTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import NOVA_SSH_KEY, generate

ADDRESSES = {"hypervisor-1": "192.0.2.11", "hypervisor-2": "192.0.2.12"}
KEY = generate(NOVA_SSH_KEY)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Changes]:
    """Place it below a directory, on a host whose sshd takes every file."""
    for name in ("KEY", "CONFIG", "COMMAND", "KNOWN", "AUTHORIZED", "CLIENT"):
        monkeypatch.setattr(nova_ssh, name, tmp_path / getattr(nova_ssh, name).name)
    monkeypatch.setattr(services, "UNITS", tmp_path)
    monkeypatch.setattr(nova_ssh, "run", lambda *_, **__: "")
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")

    def placed(addresses: dict[str, str] | None = None, *, check: bool = False) -> Changes:
        changes = Changes(check=check)
        options: Any = peers("hypervisor-1", addresses or ADDRESSES, key=KEY)
        nova_ssh.place(changes, nova_ssh.Peers(**options), key=KEY)
        return changes

    return placed


def test_the_key_is_novas_to_read_alone_and_in_no_diff(place: Callable[..., Changes], tmp_path: Path) -> None:
    changes = place()
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "key").read_text() == KEY
    assert KEY.splitlines()[1] not in repr(changes.result())


def test_only_hypervisors_get_in_by_one_command(place: Callable[..., Changes], tmp_path: Path) -> None:
    place()
    line = (tmp_path / "authorized_keys").read_text().splitlines()[-1]
    assert line.startswith(f'restrict,from="192.0.2.11,192.0.2.12",command="{tmp_path}/command" ecdsa-sha2-nistp256 ')
    known = (tmp_path / "known_hosts").read_text().split()
    assert known[1:] == line.split()[-2:], "all of them show the key that opens them"


def test_a_host_is_found_by_the_names_nova_has_for_it(place: Callable[..., Changes], tmp_path: Path) -> None:
    place()
    port = PORTS["nova-ssh"].port
    assert f"ListenAddress 192.0.2.11:{port}\n" in (tmp_path / "sshd_config").read_text()
    client = (tmp_path / "groundup-nova.conf").read_text()
    assert all(line.startswith("Match localuser nova") for line in client.splitlines() if line.startswith("Match"))
    mine = tmp_path / "config"  # whoever runs this test is not nova
    mine.write_text(client.replace("localuser nova originalhost", "originalhost").replace("localuser nova", "all"))
    for name in ("hypervisor-2", "192.0.2.12"):
        said = subprocess.run(["ssh", "-G", "-F", mine, name], capture_output=True, text=True, check=True).stdout
        assert {"hostname 192.0.2.12", f"port {port}", "stricthostkeychecking true"} <= set(said.splitlines())


def test_a_new_hypervisor_restarts_nothing_on_the_others(place: Callable[..., Changes]) -> None:
    place()
    assert place().done == []
    again = place({**ADDRESSES, "hypervisor-3": "192.0.2.13"})
    assert {path.name for path in again.written} == {"authorized_keys", "groundup-nova.conf"}


@pytest.mark.parametrize(
    ("asked", "code"),
    [("touch {0}/made", 0), ("mkdir -p {0}/a/b", 0), ("rm -rf {0}/a", 0), ("id", 1), ("{0}/touch", 1), ("", 1),
     ("touch", 1), ("sh -c id", 1)],
)  # fmt: skip
def test_the_command_does_what_nova_prepares_disks_with_and_nothing_else(
    asked: str, code: int, place: Callable[..., Changes], tmp_path: Path
) -> None:
    place()
    environment = {"PATH": "/usr/bin:/bin", "SSH_ORIGINAL_COMMAND": asked.format(tmp_path)}
    done = subprocess.run([tmp_path / "command"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "made").exists() == asked.startswith("touch {0}")


@pytest.mark.parametrize("shell", ["/bin/sh", "/usr/sbin/nologin"])
def test_an_account_has_the_shell_its_service_needs(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(accounts, "run", ran.append)
    account = type("Account", (), {"pw_gid": 7, "pw_shell": shell})
    monkeypatch.setattr("pwd.getpwnam", lambda _: account)
    changes = Changes(check=False)
    assert accounts.ensure(changes, "nova", home="/var/lib/nova", login="/bin/sh") == 7
    assert ran == ([] if shell == "/bin/sh" else [["usermod", "--shell", "/bin/sh", "nova"]])

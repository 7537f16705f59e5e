"""Kernel parameters and modules of a host, on a file tree that stands for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import (
    kernel,
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

"""What an audit asks of a host: each rule on a tree that stands for one, and in the plan that says which rules hold."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import (
    access,
    hardening,
    kernel,
    naming,
    sources,
    units,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import HostSettings

SSHD = """\
permitrootlogin no
passwordauthentication no
kbdinteractiveauthentication no
permitemptypasswords no
permituserenvironment no
hostbasedauthentication no
x11forwarding no
"""


@pytest.fixture
def interfaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    conf = tmp_path / "proc/sys/net/ipv4/conf"
    for name in ("all", "default", "eth0", "eth0.120"):
        (conf / name).mkdir(parents=True)
        (conf / name / "send_redirects").write_text("1\n")
    monkeypatch.setattr(kernel, "PROC", tmp_path / "proc")
    return conf


def test_a_parameter_of_every_interface_is_set_on_each_that_there_is(
    changes: Changes, interfaces: Path, tmp_path: Path
) -> None:
    wanted = {"net.ipv4.conf.*.send_redirects": "0"}
    kernel.parameters(changes, wanted, file=tmp_path / "drop-in")
    assert {path.parent.name: path.read_text() for path in interfaces.rglob("send_redirects")} == dict.fromkeys(
        ("all", "default", "eth0", "eth0.120"), "0\n"
    )
    assert "net.ipv4.conf.*.send_redirects = 0\n" in (tmp_path / "drop-in").read_text()
    assert "net.ipv4.conf.eth0/120.send_redirects = 0" in changes.done
    again = Changes(check=False)
    kernel.parameters(again, wanted, file=tmp_path / "drop-in")
    assert again.done == []


def test_a_name_written_out_wins_over_one_with_a_star_and_nothing_there_is_no_error(
    changes: Changes, interfaces: Path, tmp_path: Path
) -> None:
    wanted = {
        "net.ipv4.conf.*.send_redirects": "0",
        "net.ipv4.conf.eth0.send_redirects": "1",
        "net.ipv6.conf.*.accept_redirects": "0",  # a kernel without IPv6
    }
    kernel.parameters(changes, wanted, file=tmp_path / "drop-in")
    assert (interfaces / "eth0/send_redirects").read_text() == "1\n"
    assert (interfaces / "all/send_redirects").read_text() == "0\n"


def test_a_blocked_module_is_refused_to_whoever_asks_until_it_is_not_listed(changes: Changes, tmp_path: Path) -> None:
    file = tmp_path / "modprobe.conf"
    kernel.blocked(changes, ["dccp"], file=file)
    assert file.read_text().splitlines()[1:] == ["install dccp /bin/false", "blacklist dccp"]
    kernel.blocked(changes, [], file=file)
    assert not file.exists()


def test_rights_beyond_the_widest_mode_are_taken_and_a_narrower_mode_stays(changes: Changes, tmp_path: Path) -> None:
    wide, narrow, absent = tmp_path / "wide", tmp_path / "narrow", tmp_path / "absent"
    for path, mode in ((wide, 0o644), (narrow, 0o400)):
        path.touch()
        path.chmod(mode)
    hardening.modes(changes, {wide: 0o600, narrow: 0o640, absent: 0o600}, directories={})
    assert not absent.exists()
    assert (wide.stat().st_mode & 0o777, narrow.stat().st_mode & 0o777) == (0o600, 0o400)
    assert changes.done == [f"set mode 0600 of {wide}, was 0644"]


def test_a_directory_that_a_later_package_would_open_is_there_first(changes: Changes, tmp_path: Path) -> None:
    """Ceph's packages bring /etc/cron.d: a run after them found it 0755, and changed it."""
    here, missing = tmp_path / "here", tmp_path / "cron.d"
    here.mkdir(0o755)
    hardening.modes(changes, {}, directories={here: 0o700, missing: 0o700})
    assert [path.stat().st_mode & 0o777 for path in (here, missing)] == [0o700, 0o700]
    assert changes.done == [f"set mode 0700 of {here}, was 0755", f"make {missing}, mode 0700"]
    hardening.modes(changes, {}, directories={here: 0o700, missing: 0o700})
    assert len(changes.done) == 2


def test_memory_dumps_are_off_for_root_too_and_on_again_when_the_site_says_so(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {tmp_path / path.name: text for path, text in hardening.NO_CORES.items()}
    monkeypatch.setattr(hardening, "NO_CORES", texts)
    hardening.cores(changes, kept=False)
    assert "root hard core 0\n" in (tmp_path / hardening.LIMITS.name).read_text()
    hardening.cores(changes, kept=True)
    assert list(tmp_path.iterdir()) == []


def test_units_that_are_off_are_asked_for_once_and_only_those_that_run_are_stopped(
    changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = {
        "a.timer": "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n",
        "b.socket": "LoadState=loaded\nActiveState=inactive\nUnitFileState=disabled\n",
        "c.service": "LoadState=not-found\nActiveState=inactive\nUnitFileState=\n",
        "d.service": "LoadState=loaded\nActiveState=inactive\nUnitFileState=enabled\n",
        "e.service": "LoadState=loaded\nActiveState=failed\nUnitFileState=disabled\n",  # stopped while it started
    }
    calls: list[list[str]] = []

    def systemctl(argv: list[str], **_: object) -> str:
        calls.append(argv[1:])
        return "\n".join(blocks[name] for name in argv if name in blocks) if argv[1] == "show" else ""

    monkeypatch.setattr(units, "run", systemctl)
    units.off(changes, list(blocks))
    off = ["a.timer", "d.service", "e.service"]
    assert changes.done == [f"stop and disable {name}" for name in off]
    done = [(verb, name) for verb, *_, name in calls if verb != "show"]
    assert done == [*(("disable", name) for name in off), ("reset-failed", "e.service")]


@pytest.mark.parametrize(
    ("said", "user", "faults"),
    [
        (SSHD, "ops", []),
        (SSHD.replace("permitrootlogin no", "permitrootlogin without-password"), "root", []),
        (
            SSHD.replace("permitrootlogin no", "permitrootlogin without-password"),
            "ops",
            ["sshd: permitrootlogin is without-password, not no"],
        ),
        (
            SSHD.replace("passwordauthentication no", "passwordauthentication yes"),
            "ops",
            ["sshd: passwordauthentication is yes, not no"],
        ),
    ],
)
def test_what_sshd_does_in_the_end_counts_whichever_file_says_so(
    monkeypatch: pytest.MonkeyPatch, said: str, user: str, faults: list[str]
) -> None:
    monkeypatch.setattr(access, "run", lambda _argv, **_: said)
    assert access.sshd_faults(user) == faults


def test_a_mirror_says_its_suites_components_and_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "APT", tmp_path)
    plain = sources.Mirror(url="http://mirror/debian")
    assert "Suites: trixie\n" in plain.text("trixie")
    assert f"Signed-By: {sources.DEBIANS_KEYS}\n" in plain.text("trixie")
    own = sources.Mirror(url="http://mirror/debian", suites=("a", "b"), components=("main", "x"), key="KEY")
    assert own.text("trixie").splitlines()[2:] == [
        "Suites: a b",
        "Components: main x",
        f"Signed-By: {tmp_path}/keyrings/groundup.asc",
    ]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """A DNS server on a port of its own that loses some questions and answers the next with the code it is told."""
    serving = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    serving.bind(("127.0.0.1", 0))
    monkeypatch.setattr(naming, "DNS_PORT", serving.getsockname()[1])
    threads = []

    def answer(code: int, *, lost: int = 0) -> None:
        def serve() -> None:
            for number in itertools.count():
                question, peer = serving.recvfrom(512)
                if not question:  # the test has ended
                    return
                if number >= lost:
                    serving.sendto(question[:2] + bytes([0x81, code]) + question[4:], peer)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()

    yield answer
    for thread in threads:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", serving.getsockname())
        thread.join()
    serving.close()


@pytest.mark.parametrize(
    ("code", "faults"),
    [(0, []), (2, []), (3, []), (5, ["resolver 127.0.0.1: refuses to answer"])],
    ids=["found", "cannot ask others", "no such name", "refused"],
)
def test_a_resolver_that_answers_is_told_from_one_that_refuses(
    resolver: Callable[..., None], code: int, faults: list[str]
) -> None:
    resolver(code)
    assert naming.unanswering(["127.0.0.1"], domain="lab.test") == faults


def test_a_resolver_that_is_slow_or_loses_a_question_is_asked_again(resolver: Callable[..., None]) -> None:
    resolver(0, lost=naming.TRIES - 1)
    assert naming.unanswering(["127.0.0.1"], domain="lab.test", timeout=3) == []


def test_a_resolver_that_is_silent_each_time_is_named(resolver: Callable[..., None]) -> None:
    resolver(0, lost=naming.TRIES)
    assert naming.unanswering(["127.0.0.1"], domain="lab.test", timeout=0.1) == ["resolver 127.0.0.1: no answer"]


def test_a_resolver_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr(naming, "DNS_PORT", free.getsockname()[1])
    (line,) = naming.unanswering(["127.0.0.1"], domain="lab.test")
    assert line.startswith("resolver 127.0.0.1: ")


SITE = {
    "plugin": "groundup.cloud.site", "site": "x", "domain": "x.test",
    "machines": {"seed": {"count": 1}, "control": {"count": 1}},
    "networks": {"management": {"cidr": "10.9.0.0/24"}},
}  # fmt: skip


def settings(profile: str, **hosts: object) -> HostSettings:
    return make_plan(build_site({**SITE, "profile": profile, "hosts": hosts})).host


def test_hosts_that_share_a_kernel_get_the_rules_of_their_network_namespace_alone() -> None:
    assert "kernel.kptr_restrict" in settings("edge").sysctl
    assert not [name for name in settings("lab").sysctl if not name.startswith("net.")]


@pytest.mark.parametrize(
    ("profile", "provisioners", "own"),
    [
        ("edge", ("existing", "container"), False),  # it would be the controller's kernel
        ("lab", ("existing", "container"), False),
        ("lab", ("existing", "existing"), True),
    ],
)
def test_whose_kernel_it_is_follows_from_the_hosts_and_not_from_the_profile(
    profile: str, provisioners: tuple[str, str], own: bool
) -> None:
    machines = {
        role: {"count": 1, "provisioner": provisioner}
        for role, provisioner in zip(("seed", "control"), provisioners, strict=True)
    }
    plan = make_plan(build_site({**SITE, "profile": profile, "machines": machines}))
    assert ("kernel.kptr_restrict" in plan.host.sysctl) == own


def test_a_site_takes_back_one_rule_or_all_of_them() -> None:
    assert settings("edge", sysctl={"kernel.kptr_restrict": 2}).sysctl["kernel.kptr_restrict"] == "2"
    assert "kernel.yama.ptrace_scope" not in settings("edge", sysctl={"kernel.yama.ptrace_scope": None}).sysctl
    assert settings("edge", disabled_units=["x.service"]).disabled_units == ("x.service",)
    assert "dccp" not in settings("edge", kernel_modules=["dccp"]).blocked_modules
    bare = settings("edge", hardening=False)
    assert (bare.disabled_units, bare.blocked_modules) == ((), ())
    assert "net.ipv4.conf.*.send_redirects" not in bare.sysctl
    assert "net.ipv4.ip_forward" in bare.sysctl, "what the cluster needs is not hardening"

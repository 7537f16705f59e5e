"""No build and no registry holds a run for ever, and a compiler that says nothing for long is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make import process
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.process import Done, Idle
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import images


def etcd(directory: Path) -> supply.Artifact:
    return supply.Artifact(
        name="etcd", kind="image", version="1", key="0" * 16, path=directory / "image", sha256="", image="etcd:1"
    )


SETTLED = Done(cpu=10.0, written=10_000_000, printed=500)


@pytest.mark.parametrize(
    ("after", "worked"),
    [
        (SETTLED, False),
        (SETTLED._replace(cpu=10.4, written=10_000_900), False),  # looks again and again whether something has come
        (SETTLED._replace(cpu=11.0), True),  # compiles
        (SETTLED._replace(written=10_100_000), True),  # downloads
        (SETTLED._replace(printed=501), True),
        (SETTLED._replace(cpu=3.0), True),  # a process that worked has ended, and nobody waited for it
    ],
)
def test_work_is_told_from_waiting(after: Done, worked: bool) -> None:
    assert process.worked(SETTLED, after) == worked


def test_what_processes_below_a_command_do_counts(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"begun\n")
    work = "import os; os.write(os.open('/dev/null', 1), bytes(100_000)); sum(range(20_000_000)); print(flush=True)"
    script = f"""{sys.executable} -c "{work}; input()" & {sys.executable} -c "{work}"; wait"""
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as command:
        assert command.stdout
        assert [command.stdout.readline(), command.stdout.readline()] == [b"\n", b"\n"]
        found = process.done(command.pid, log)
        command.kill()
    assert found.cpu > 0
    assert found.written >= 100_000
    assert found.printed == 6


def test_processes_that_end_while_they_are_looked_at_do_not_matter(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    brief = "for _ in $(seq 1500); do /bin/true; done"  # /bin/true, because the shell's own would be no process
    with subprocess.Popen(["sh", "-c", brief]) as command:
        while command.poll() is None:
            assert process.done(command.pid, log).printed == 0
    assert command.returncode == 0


def test_time_counts_from_the_last_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, log = [0.0], tmp_path / "log"
    log.touch()
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    watched = Idle(os.getpid(), log, patience=900)
    monkeypatch.setattr(process, "done", lambda *_: Done(clock[0] if clock[0] <= 2000 else 2000, 0, 0))
    ended = []
    for second in range(0, 4000, 5):
        clock[0] = float(second)
        if watched.too_long():
            ended.append(second)
    assert 2900 < ended[0] <= 2915


def test_a_build_command_that_does_nothing_is_ended_and_told(tmp_path: Path) -> None:
    log, command = tmp_path / "log", ["sh", "-c", "echo fetching; sleep 600; true"]
    inside = process.enclosed(command) if os.geteuid() == 0 else command
    with pytest.raises(GroundupError, match=r"(?s)go in the build root did nothing for 4 s and was ended:.*fetching"):
        process.Commands(log).run(inside, what="go in the build root", patience=4)


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_no_process_of_a_build_outlives_it_even_if_its_first_becomes_another_program_from_a_thread(
    tmp_path: Path,
) -> None:
    seconds = f"6{os.getpid()}"
    becomes = (
        f"import os, threading; threading.Thread(target=os.execv, args=('/bin/sleep', ['sleep', '{seconds}'])).start()"
    )
    script = f"{becomes}; threading.Event().wait()"
    with pytest.raises(GroundupError, match="did nothing"):
        process.Commands(tmp_path / "log").run(
            process.enclosed([sys.executable, "-c", script]), what="go in the build root", patience=2
        )

    def outlives() -> bool:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # it has ended meanwhile
                found.append(path.read_bytes())
        return f"sleep\0{seconds}\0".encode() in found

    assert not wait_until(outlives, timeout=30, pause=0.1)  # the kernel ends a namespace's processes one by one


@pytest.mark.parametrize(("command", "status"), [("true", None), ("exit 7", 7)])
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_the_status_of_an_enclosed_command_is_its_own(tmp_path: Path, command: str, status: int | None) -> None:
    with nullcontext() if status is None else pytest.raises(GroundupError, match=f"status {status}:"):
        process.Commands(tmp_path / "log").run(process.enclosed(["/bin/sh", "-c", command]), what="sh", patience=60)


def test_a_command_that_ends_in_its_time_is_no_concern(tmp_path: Path) -> None:
    process.Commands(tmp_path / "log").run(["true"], what="true", patience=1)


def test_an_image_a_registry_refuses_is_told_in_skopeos_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for script, fault in (("echo denied >&2; exit 1", "1: denied"), ("exit 3", "3: no output")):
        (tmp_path / "skopeo").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "skopeo").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        with pytest.raises(
            GroundupError,
            match=rf"(?s)skopeo .*exit code {fault}\n.*registry.test:5000/etcd:1.* image etcd",
        ):
            images._push(etcd(tmp_path), "registry.test:5000/etcd:1", tls_verify=False)


def test_a_registry_that_never_takes_an_image_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skopeo = tmp_path / "skopeo"
    skopeo.write_text("#!/bin/sh\nexec sleep 600\n")
    skopeo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(images, "PUSH_TIMEOUT", 1.0)
    with pytest.raises(GroundupError, match=r"(?s)skopeo .*: it did not end within 1 s.*registry.test:5000/etcd:1"):
        images._push(etcd(tmp_path), "registry.test:5000/etcd:1", tls_verify=False)

"""The seed's runner as a process, with the real ansible-runner: killed, begun again, failing."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from socketserver import ThreadingMixIn
from types import ModuleType
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
import requests
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._ironic.runner import MODULE
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import Ironic
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.delegated import adopt, follow
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.package import packed
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAA"
# Stands for the layer: says when it begins and ends on a machine, waits and fails as the test wants.
LAYER = r"""
- hosts: all
  gather_facts: false
  become: false
  vars: {ansible_become: false, ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  tasks:
    - name: Converge
      ansible.builtin.command:
        argv:
          - sh
          - -c
          - |
            at={{ lookup('ansible.builtin.env', 'RUNS') }}/{{ inventory_hostname }}
            echo begin >> $at; mkdir $at.busy || echo two >> $at
            while [ -e $at.hold ]; do sleep 0.1; done
            rmdir $at.busy; echo end >> $at; test ! -e $at.fail || exit 1
"""
# Stands for the machines: they are this one. Keeps what ssh was told.
SSH = '#!/bin/sh\necho "$@" >> "$RUNS/ssh"\nfor last; do :; done\nexec sh -c "$last"\n'


class Seed:
    """What keeps the calls, and the runner beside it."""

    def __init__(self, home: Path, url: str) -> None:
        self.home, self.url, self.runs_at = home, url, home / "runs"
        self.process: subprocess.Popen[bytes] | None = None
        self.ironic = Ironic(api=url, media=url, password="p", ca=home / "public/ca.crt")
        for name in ("runs", "bin", "public", "state", "collection"):
            (home / name).mkdir()
        unpack = ["tar", "-xz", "-C", str(home / "collection")]
        subprocess.run(unpack, input=packed()[1], check=True)
        (home / "collection/ansible_collections/groundup/cloud/playbooks/host.yml").write_text(LAYER)
        (home / "bin/ssh").write_text(SSH)
        (home / "bin/ssh").chmod(0o755)
        (home / "public/ca.crt").write_text("of this test")
        (home / "password").write_text("p\n")
        site = (COLLECTION / "inventories/lab-metal/site.yml").read_text()
        (home / "site.yml").write_text(site.replace("count: 1", "count: 3", 3) + "seed: {runner: [host]}\n")

    def start(self) -> None:
        """Start the service."""
        collection = str(self.home / "collection")
        environment = {
            "PATH": f"{self.home}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}", "RUNS": str(self.runs_at),
            "HOME": str(self.home), "GROUNDUP_STATE": str(self.home / "state"), "PYTHONPATH": collection,
            "ANSIBLE_COLLECTIONS_PATH": collection, "LANG": "C.UTF-8",
            "ANSIBLE_CONFIG": f"{collection}/ansible_collections/groundup/cloud/ansible.cfg",
        }  # fmt: skip
        argv: list[str | Path] = [
            sys.executable,
            "-m",
            MODULE,
            "--site-file",
            self.home / "site.yml",
            "--contact",
            self.url,
        ]
        argv += ["--public", self.home / "public", "--ca", self.home / "public/ca.crt"]
        argv += ["--password", self.home / "password", "--key", self.home / "key", "--at-once", "2"]
        argv += ["--pause", "0.2", "--pauses", "0.5", "0.5"]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(argv, env=environment, cwd=self.home, stdout=log, stderr=log)

    def kill(self) -> None:
        """End the service as a power cut does, but not what it started."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def calls_home(self, *names: str) -> None:
        """Have machines call that were ordered with the layer."""
        for name in names:
            self.ironic.expect(name, sha256=hashlib.sha256(name.encode()).hexdigest(), layers=("host",))
            body = {"name": name, "token": name, "host_keys": [KEY]}
            assert requests.post(f"{self.url}/v1/phone-home", json=body, timeout=120).status_code == 200

    def runs(self, name: str) -> list[str]:
        """Return what runs on a machine said."""
        path = self.runs_at / name
        return path.read_text().split() if path.exists() else []

    def last(self, name: str) -> dict[str, Any]:
        """Return the last that the seed keeps of a machine."""
        way = self.ironic.calls()[name].get("way") or [{}]
        return dict(way[-1])

    def waits(self, what: Callable[[], bool]) -> None:
        """Wait until ``what`` holds."""
        left = wait_until(lambda: "" if what() else "not yet", timeout=300, pause=0.1)
        assert not left, (self.home / "log").read_text()[-3000:]


class Server(ThreadingMixIn, WSGIServer):
    """Answers side by side."""

    daemon_threads = True


class Quiet(WSGIRequestHandler):
    """Says nothing."""

    def log_message(self, *_words: Any) -> None:
        """Say nothing."""


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seed]:
    program, path = ModuleType("contact"), COLLECTION / "roles/ironic/files/groundup-contact"
    exec(compile(path.read_text(), path, "exec"), program.__dict__)  # noqa: S102  # a program of ours
    contact = program.Contact(tmp_path / "machines", lambda _user, given: given == "p", lambda _asked: {})
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "controller"))
    if not shutil.which("flock"):
        pytest.skip("flock is not installed")
    with make_server("127.0.0.1", 0, contact, Server, Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = Seed(tmp_path, f"http://127.0.0.1:{server.server_port}")
        try:
            found.start()
            yield found
        finally:
            for path in found.runs_at.glob("*.hold"):
                path.unlink()
            found.kill()
            server.shutdown()


def test_a_runner_killed_during_a_run_goes_on_and_never_two_run_on_one_machine(seed: Seed) -> None:
    hold = seed.runs_at / "worker-1.hold"
    hold.touch()
    seed.calls_home("worker-1")
    seed.waits(lambda: seed.runs("worker-1") == ["begin"])
    seed.waits(lambda: seed.last("worker-1").get("doing") == "layer host")  # it is told a moment later
    seed.kill()
    seed.start()
    lock = seed.home / "state/lab-metal/metal/.worker-1.run.lock"
    waiting = partial(subprocess.run, ["pgrep", "-f", f"^flock --exclusive --no-fork {lock}"], check=False)
    seed.waits(lambda: waiting(stdout=subprocess.DEVNULL).returncode == 0)
    assert seed.runs("worker-1") == ["begin"], "what the killed runner started runs on"
    hold.unlink()
    seed.waits(lambda: seed.last("worker-1").get("state") == "serving")
    assert seed.runs("worker-1") == ["begin", "end"] * 2
    told = (seed.runs_at / "ssh").read_text()
    assert f'IdentityFile="{seed.home}/key"' in told, "its own key, not the site's"
    assert "StrictHostKeyChecking=yes" in told
    known = (seed.home / "state/lab-metal/ssh/known_hosts").read_text()
    assert f"worker-1.lab-metal.test {KEY}" in known, "by the key of its call"


def test_so_many_at_once_and_a_restarted_runner_leaves_those_alone_that_serve(seed: Seed) -> None:
    names = ("worker-1", "worker-2", "worker-3")
    for name in names:
        (seed.runs_at / f"{name}.hold").touch()
    seed.calls_home(*names)
    seed.waits(lambda: sum(seed.runs(name) == ["begin"] for name in names) == 2)
    seed.waits(lambda: all(seed.last(name).get("state") == "configuring" for name in names))
    (third,) = [name for name in names if not seed.runs(name)]
    for name in names:
        (seed.runs_at / f"{name}.hold").unlink()
    seed.waits(lambda: all(seed.last(name).get("state") == "serving" for name in names))
    assert seed.runs(third) == ["begin", "end"]
    seed.kill()
    seed.start()
    seed.calls_home("worker-3")
    seed.waits(lambda: seed.runs("worker-3") == ["begin", "end"] * 2)
    assert seed.runs("worker-1") == seed.runs("worker-2") == ["begin", "end"], "only what was installed anew"


def test_a_run_that_fails_is_tried_again_ends_in_a_card_and_begins_again_when_a_controller_says_so(
    seed: Seed, tmp_path: Path
) -> None:
    fail, journal = seed.runs_at / "worker-1.fail", Journal(tmp_path / "worker-1.jsonl")
    fail.touch()
    seed.calls_home("worker-1")
    seed.waits(lambda: seed.last("worker-1").get("state") == "failed")
    assert seed.last("worker-1")["card"]["what"] == "layer host failed 3 times: non-zero return code"
    assert seed.runs("worker-1") == ["begin", "end"] * 3
    adopt(journal, seed.ironic.calls()["worker-1"])
    doing = [line["doing"] for line in journal.lines()]
    assert doing.count("layer host again in 0.5 s: non-zero return code") == 2
    fail.unlink()
    plan = make_plan(load_site(seed.home / "site.yml"))
    follow(seed.ironic, plan, "worker-1", print, timeout=300, pause=0.1, left=threading.Event())
    assert seed.last("worker-1")["state"] == "serving"
    assert seed.runs("worker-1") == ["begin", "end"] * 4

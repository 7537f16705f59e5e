"""A seed small enough for a test: a read-only registry, a web server, and a host that is a directory here."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action.seed import ActionModule
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.images import Way
from ansible_collections.groundup.cloud.tests.unit import tls

from .registry import Registry, running


class Seed:
    """A registry that is written to inside only, a web server, and the action that publishes what a lock has.

    Attributes:
        root: what the host serves.
        account: the home of the account that logs in.
        sent: artifacts whose archives reached the host.
        pair: the certificate both show, and its key.
        questions: how often the host was asked to compare its files.
    """

    def __init__(
        self, home: Path, *, registry: Registry, inside: Registry, port: int, pair: tls.Pair,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        self.root, self.registry, self.inside, self.port = home / "srv", registry, inside, port
        self.pair = pair
        self.account, self._patch = home / "ops", monkeypatch
        monkeypatch.setattr(ActionModule, "_transfer_file", self.transfer)
        monkeypatch.setattr(ActionModule, "_way", self._way)
        monkeypatch.setattr(ActionModule, "_execute_module", self.execute)
        monkeypatch.setattr(ActionModule, "_low_level_execute_command", self.command)
        self.sent: list[str] = []
        self.questions = 0

    @contextlib.contextmanager
    def _way(self, given: Mapping[str, Any]) -> Iterator[Way]:
        """Lead to both, whatever their names."""
        files = f"127.0.0.1:{self.port}"
        ca = given["ca_certificate"]
        yield Way(writes=self.inside.address, reads=self.registry.address, files=files, ca=ca)

    def transfer(self, local: str, remote: str) -> None:
        """Copy, as Ansible's connection does."""
        self.sent.append(Path(remote).name.rpartition("-")[0])
        shutil.copyfile(local, remote)

    def command(self, text: str, *, sudoable: bool) -> dict[str, Any]:
        """Run a line of shell, as the account does."""
        assert not sudoable
        home = {**os.environ, "HOME": str(self.account)}
        done = subprocess.run(["sh", "-c", text], env=home, capture_output=True, text=True, check=False)
        return {"rc": done.returncode, "stdout": done.stdout, "stderr": done.stderr}

    def execute(self, *, module_name: str, module_args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do what the module does, on this machine."""
        assert module_name == "ansible.builtin.command"
        del task_vars
        self.questions += module_args["argv"][0] == "sha256sum"
        done = subprocess.run(
            module_args["argv"], cwd=module_args.get("chdir"), input=module_args.get("stdin"),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return {"failed": done.returncode != 0, "stdout": done.stdout, "stderr": done.stderr}

    def publish(
        self, lock: Lock, *, check: bool = False, verify: bool = False, password: str = "", groups: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Run the action's work on ``lock``, on a host that is in ``groups`` and reached with ``password``."""
        self._patch.setattr(supply, "load_lock", lambda _site=None: lock)
        shell = SimpleNamespace(join_path=lambda *parts: "/".join(parts))
        action = object.__new__(ActionModule)
        action.changes, action.variables = Changes(check=check), {"group_names": groups}
        action._display = SimpleNamespace(display=lambda _: None)
        action._connection = SimpleNamespace(_shell=shell, get_option=lambda name: {"password": password}[name])
        images = {n: f"{self.registry.address}/{e.image}" for n, e in lock.artifacts.items() if e.kind == "image"}
        files = [n for n, e in lock.artifacts.items() if e.kind == "files"]
        given = {
            "step": "verify" if verify else "publish", "site": "unit", "source": "build",
            "registry": self.registry.address, "files_url": "https://registry.unit.test:8080",
            "registry_inside": "127.0.0.1:5001", "ca_certificate": self.pair.certificate,
            "files_root": str(self.root), "images": images, "files": files, "optional_files": [],
        }  # fmt: skip
        result: dict[str, Any] = action.work(given)
        return result


@contextlib.contextmanager
def serving(home: Path, monkeypatch: pytest.MonkeyPatch, *, days: float = 365) -> Iterator[Seed]:
    """Give a seed in the directory ``home`` that serves nothing yet; its certificate ends in ``days`` days."""
    for name in ("srv", "ops"):
        (home / name).mkdir(parents=True)
    handler = functools.partial(_Quiet, directory=str(home / "srv"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    (own := tls.pair(days=days)).shown_by(server, home)
    with (
        tls.serving(server) as port,
        running() as inside,
        running(showing=inside, pair=own, directory=home) as registry,
    ):
        yield Seed(home, registry=registry, inside=inside, port=port, pair=own, monkeypatch=monkeypatch)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""

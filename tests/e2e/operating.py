"""A site as its operator runs it: a site file, a key that opens the machines, and commands of this clone.

Playbooks may run from an installed collection instead.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import cache_dir
from ansible_collections.groundup.cloud.tests.e2e.plain import PlainMachine, PlainRack
from ansible_collections.groundup.cloud.tests.pages import do, install, reader

ROOT = Path(__file__).resolve().parents[2]
# What a run says of a fault in one line, for the summary of the tests.
CAUSE = re.compile(
    r"^(?:\x1b\[[0-9;]*m)?(?:\[?ERROR.*|fatal: .*|.*is set aside in layer .*|(?:failed|unreachable): .*)$", re.MULTILINE
)
# The command in the shell of somebody who has no clone, with the artifacts of this machine.
PROGRAM = """\
#!/usr/bin/env bash
unset ANSIBLE_CONFIG ANSIBLE_COLLECTIONS_PATH PYTHONPATH VIRTUAL_ENV
export HOME={home} GROUNDUP_CACHE={cache} LC_ALL=C.UTF-8
cd {place} && . venv/bin/activate && exec ansible-playbook "$@"
"""


def begin(home: Path, content: dict[str, Any]) -> tuple[Path, dict[str, str]]:
    """Write the site file ``content`` to ``home``; return it and the environment of commands that keep all there."""
    site = home / "site.yml"
    home.mkdir(parents=True, exist_ok=True)
    site.write_text(yaml.safe_dump(content))
    own = {"GROUNDUP_STATE": str(home / "state"), "XDG_CONFIG_HOME": str(home / "config"), "SITE": str(site)}
    return site, os.environ | own


def causes(said: str) -> str:
    """Return what a run's output says of its faults in one line, or its end."""
    return " | ".join(CAUSE.findall(said)) or said[-500:]


class Operator:
    """Somebody with a site file, a key that opens the machines, and nothing else of the site."""

    def __init__(self, rack: PlainRack, content: dict[str, Any], machines: dict[str, PlainMachine]) -> None:
        """Write the site file: ``content`` and the host keys of ``machines``, which are by their names in the plan."""
        self.rack, self.machines = rack, machines
        content["access"]["host_keys"] = {name: rack.host_key(machine) for name, machine in machines.items()}
        self.site, self.environment = begin(rack.home, content)
        self.playbook: tuple[str | Path, ...] = ("ci/run", "ansible-playbook")

    def install(self) -> None:
        """Install the collection as docs/install.md says, and run playbooks from there."""
        home = self.rack.home / "home"
        home.mkdir()
        shell = reader(home)
        for command in (command for commands in install() for command in commands):
            do(shell, command)
        program = home / "ansible-playbook"
        program.write_text(PROGRAM.format(home=home, place=shell.place, cache=cache_dir()))
        program.chmod(0o755)
        self.playbook = (program,)

    def run(self, *command: str | Path, timeout: float = 1800) -> None:
        """Run a command of this clone, its output seen. When it fails, the test does, with the cause it says."""
        status, said = self.told("/usr/bin/timeout", f"{timeout:g}", ROOT / command[0], *command[1:])
        assert status == 0, f"exit code {status}: {causes(said)}"

    def told(self, *command: str | Path) -> tuple[int, str]:
        """Run a command of this clone and return its exit code and its output, which is seen, too."""
        return self.interrupted(None, lambda: None, *command)

    def interrupted(self, line: str | None, event: Callable[[], object], *command: str | Path) -> tuple[int, str]:
        """Like `told`, and have ``event`` happen as soon as the output has ``line``."""
        said = []
        with subprocess.Popen(
            [ROOT / command[0], *command[1:]],
            cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as process:  # fmt: skip
            assert process.stdout
            for text in process.stdout:
                sys.stdout.write(text)
                sys.stdout.flush()
                said.append(text)
                if line is not None and text.startswith(line):
                    line = None
                    event()
        assert line is None, f"never said: {line}"
        return process.returncode, "".join(said)

    def catalog(self) -> dict[str, list[str]]:
        """Return the public catalog of the cloud, as a user gets it with a token."""
        catalog = ["ci/lab", "shell", "python", "tests/e2e/clients/catalog.py"]
        done = subprocess.run(catalog, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout)["public"])

    def files(self) -> dict[str, dict[str, tuple[int, int, int]]]:
        """Return what is on each machine."""
        return {name: self.rack.files(machine) for name, machine in self.machines.items()}

    def kubectl(self, *arguments: str) -> str:
        """Return what kubectl says."""
        shell = ["ci/lab", "shell", "kubectl", *arguments]
        return subprocess.run(shell, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=True).stdout

    @property
    def site_run(self) -> tuple[str | Path, ...]:
        """The command of a run of the whole site with the operator's own key."""
        key = f"--private-key={self.rack.operator_key}"
        return *self.playbook, "-i", self.site, "groundup.cloud.site", key

    def play(self, *arguments: str) -> None:
        """Run the whole site with the operator's own key."""
        self.run(*self.site_run, *arguments)

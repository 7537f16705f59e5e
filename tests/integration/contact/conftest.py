"""Machines to be contacted, an operator with keys of their own, and a site file that names the machines."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import unpacked
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.store import ArtifactStore
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import load_lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.keys import keys
from ansible_collections.groundup.cloud.tests.integration.commands import run
from ansible_collections.groundup.cloud.tests.integration.contact.machine import USER, Machine

IMAGE = "rootfs-plain-13"
PLAYBOOK = COLLECTION / "playbooks/contact.yml"
# What the plan says is taken out again: then a machine is only logged in to.
LOGIN_ONLY = {
    **{name: {} for name in ("listens", "space", "reaches", "ranges", "control", "hardware", "neighbours")},
    **{name: [] for name in ("kernel_modules", "systems", "releases", "unused_networks", "interfaces")},
    **dict.fromkeys(("hardware_required", "swap", "cgroup_v1", "eviction", "node"), False),
    "user": "root",
    "virtual_ip": "",
    "public_ip": {},
}
# What comes after contact logs in, too: in a dry run by the operator's login.
LATER_LAYER = {
    "hosts": "provisioner_existing:!absent",
    "gather_facts": False,
    "tasks": [{"ansible.builtin.command": "test -r /etc/shadow", "check_mode": False, "changed_when": False}],
}
SITE = """\
plugin: groundup.cloud.site
site: contact
domain: contact.test
profile: edge
networks:
  management: {{cidr: 127.94.0.0/24, gateway: 127.94.0.1}}
machines:
  node: {{roles: [control, seed, worker], names: [node-1], machines: {{node-1: {{address: 127.94.0.11}}}}}}
  worker: {{{workers}names: [node-2], machines: {{node-2: {{address: 127.94.0.12}}}}}}
access:
  port: {port}
  user: {user}
  host_keys: {{{host_keys}}}
openstack: {{services: [keystone]}}
"""


@dataclass(frozen=True, kw_only=True)
class Operator:
    """A directory with what an operator has: site file, ssh key, state."""

    home: Path
    port: int  # of sshd on all machines

    @property
    def key(self) -> Path:
        """Their private key."""
        return self.home / "operator"

    @property
    def public_key(self) -> str:
        """Its public half."""
        return self.key.with_suffix(".pub").read_text().strip()

    @property
    def print(self) -> str:
        """Its fingerprint, as ssh-keygen says it."""
        return subprocess.run(["ssh-keygen", "-lf", self.key], capture_output=True, text=True, check=True).stdout

    @property
    def site(self) -> Path:
        """The site file."""
        return self.home / "site.yml"

    @property
    def state(self) -> Path:
        """What the project keeps of the site."""
        return self.home / "state/contact"

    def write_site(self, *, user: str = USER, workers: str = "", **host_keys: str) -> None:
        """Write the site file, with host keys by name (_ for -), and what ``workers`` says of its group of workers."""
        written = ", ".join(f"{name.replace('_', '-')}: {key}" for name, key in host_keys.items())
        self.site.write_text(SITE.format(port=self.port, user=user, workers=workers, host_keys=written))

    def playbook(self) -> Path:
        """Write the playbook contact for machines that are an sshd and no more: they cannot carry a site."""
        plays = yaml.safe_load(PLAYBOOK.read_text())
        for task in (task for play in plays for task in play.get("tasks", ())):
            if (asked := task.get("groundup.cloud.preflight", {})).get("step") == "examine":
                asked["wanted"] = LOGIN_ONLY
        plays.append(LATER_LAYER)
        path = self.home / "contact.yml"
        path.write_text(yaml.safe_dump(plays, sort_keys=False))
        return path

    def play(self, *arguments: str, playbook: str | None = None, **environment: str) -> str:
        """Run the playbook and return its exit code and what it said, without line breaks."""
        own: dict[str, str | Path | None] = {"GROUNDUP_STATE": self.home / "state", "HOME": self.home}
        own |= {"SSH_AUTH_SOCK": None, **environment}
        done = run("ansible-playbook", "-i", self.site, playbook or self.playbook(), *arguments, cwd=None, **own)
        return " ".join(f"exit {done.returncode} {done.stdout} {done.stderr}".split())


@pytest.fixture
def operator() -> Iterator[Operator]:
    """Return an operator with a new key."""
    with tempfile.TemporaryDirectory(prefix="op-") as home, socket.create_server(("127.94.0.11", 0)) as free:
        # A short path: ssh's control socket lies below it.
        found = Operator(home=Path(home), port=free.getsockname()[1])
        free.close()
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "operator", "-f", found.key], check=True)
        yield found


@pytest.fixture
def machine(operator: Operator, tmp_path: Path) -> Iterator[Callable[[int], Machine]]:
    """Return a function that starts node-1, node-2 of the site."""
    if os.geteuid() != 0:
        pytest.skip("a machine in namespaces needs root")
    lock = load_lock()
    if ArtifactStore().find(lock.artifacts[IMAGE], keys(lock, lock.closure((IMAGE,)))[IMAGE]) is None:
        pytest.skip(f"{IMAGE} is not built on this machine")
    image, started = unpacked(IMAGE), list[Machine]()

    def start(number: int) -> Machine:
        started.append(Machine(f"127.94.0.{10 + number}", operator.port, image=image, room=tmp_path / f"node-{number}"))
        return started[-1]

    yield start
    for one in started:
        one.end()

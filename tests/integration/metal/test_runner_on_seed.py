"""The seed's runner as its unit starts it, from its own environment, with the real Ironic and its web server."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, passwords, runner
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import documents, erase, install
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.delegated import PUBLIC_KEY, refresher
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.package import packed
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot
from ansible_collections.groundup.cloud.tests.integration.metal import ironic
from ansible_collections.groundup.cloud.tests.integration.metal.fake_site import fake_site, without_machines
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import WANTED, _enter

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root"), pytest.mark.long]
MORE = "access: {user: root}\nseed: {runner: [host]}\n"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAA"
# Stands for the layer.
LAYER = r"""
- hosts: all
  gather_facts: false
  tasks:
    - name: Converge
      ansible.builtin.command:
        argv: [sh, -c, "echo ran >> /tmp/runs/{{ inventory_hostname }}"]
"""
# Stands for the machines: they are this host. Keeps what ssh was told.
SSH = """#!/bin/sh
echo "$@" >> /tmp/runs/ssh
for last; do :; done
exec sh -c "$last"
"""


class Seed:
    """The seed, its runner, and its controller."""

    def __init__(self, host: HostRoot, plan: Plan, inside: Callable[[Callable[[], Any]], Any]) -> None:
        self.host, self.plan, self.inside = host, plan, inside
        self.ironic = inside(lambda: erase._ironic(plan, "worker-1"))
        self.command = _install(host, plan)

    def start(self) -> None:
        """Start what the unit starts."""
        self.host.start("sh", "-c", f"exec {self.command} --pause 0.5 --pauses 1 1")

    def runs(self, name: str) -> list[str]:
        """Return what runs on a machine said."""
        path = self.host.at(f"/tmp/runs/{name}")  # noqa: S108  # of the seed
        return path.read_text().split() if path.exists() else []

    def reaches(self, name: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the last thing that the seed keeps of a machine is ``wanted``; return it."""
        last = dict[str, Any]()

        def lacks() -> str:
            calls = self.inside(self.ironic.calls)
            last.update((calls.get(name, {}).get("way") or [{}])[-1])
            return "" if wanted(last) or last.get("card") else f"{name}: {last}"

        left = wait_until(lacks, timeout=180, pause=0.3)
        assert not left, f"{left}: {self.host.at('/tmp/sh.log').read_text()[-3000:]}"  # noqa: S108  # of the seed
        return last

    def states(self, name: str) -> list[str]:
        """Return the states of a machine's way as the controller's journal has them after it asked the seed."""
        assert self.inside(refresher(self.plan)) == ""
        return [line["state"] for line in Journal(file_of(home_of(self.plan.site), name)).lines()]


def _install(host: HostRoot, plan: Plan) -> str:
    """Place what the module places; return the unit's command."""
    home, collection = runner.PROGRAMS / "current", runner.COLLECTION
    for path in (home, collection, runner.CONFIGURATION, runner.STATE, "/tmp/runs"):  # noqa: S108  # of the seed
        host.at(path).mkdir(parents=True)
    archive = supply.ensure(["runner-13"])["runner-13"].path / "environment.tar.gz"
    for data, place in ((archive.read_bytes(), home), (packed()[1], collection)):
        subprocess.run(["tar", "-xz", "--no-same-owner", "-C", host.at(place)], input=data, check=True)
    host.at(collection / "ansible_collections/groundup/cloud/playbooks/host.yml").write_text(LAYER)
    host.at("/usr/local/bin/ssh").write_text(SSH)
    host.at("/usr/local/bin/ssh").chmod(0o755)
    state = state_dir(plan.site)
    (state / PUBLIC_KEY).write_text(f"{KEY}\n")
    host.at(runner.PUBLIC).mkdir()
    host.at(runner.PUBLIC / "ca.crt").write_text((state / "ca.crt").read_text())
    host.at(runner.SITE_FILE).write_text((state.parents[1] / "site.yml").read_text())
    host.at(runner.PASSWORD).write_text("of-the-runner")
    python = str(configuration.PROGRAMS / "current/bin/python")
    hashed = host.run(python, "-c", passwords.HASH, runner.USER, "/nothing", input="of-the-runner")
    host.at(configuration.RUNNER_PASSWORDS).write_text(hashed.stdout)
    unit = runner.unit_text(WANTED["media_url"])
    found = [shlex.split(words) for words in re.findall("^Environment=(.*)$", unit, flags=re.MULTILINE)]
    (command,) = re.findall("^ExecStart=(.*)$", unit, flags=re.MULTILINE)
    variables = shlex.join([word for words in found for word in words])
    command = command.replace("%d", str(runner.CONFIGURATION))
    return f"env --ignore-environment --chdir={runner.STATE} {variables} {command}"


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seed]:
    if missing := supply.missing(["ironic-13", "runner-13"]):
        pytest.skip(f"not built on this machine: {', '.join(missing)}")
    patch = pytest.MonkeyPatch()
    patch.setattr(documents, "node", documents.node)  # put back afterwards
    patch.setattr(install, "_judged", install._judged)
    for name in ("PASSWORD", "_netboot"):
        patch.setattr(ironic, name, getattr(ironic, name))
    for name in ("GROUNDUP_STATE", "ANSIBLE_VAULT_PASSWORD_FILE"):
        patch.setenv(name, "")
    with fake_site(tmp_path_factory.mktemp("site"), 4, MORE) as (host, plan), ThreadPoolExecutor(1) as thread:
        (pid,) = [word for word in host.argv("true") if word.isdigit()]
        thread.submit(_enter, int(pid)).result()
        yield Seed(host, without_machines(plan), lambda work: thread.submit(work).result())
    patch.undo()


def installed(seed: Seed, name: str, say: Callable[[str], None] = print) -> dict[str, str]:
    """Run what `groundup.cloud.ironic` runs for one machine; return who failed and why."""
    options = install.InstallOptions(timeout=120, pause=0.5)
    failed = seed.inside(lambda: install.install(Changes(check=False), seed.plan, [name], say, options))
    return {machine: error.what for machine, error in failed.items()}


def test_a_machine_that_was_ordered_is_configured_after_its_controller_is_gone(seed: Seed) -> None:
    def say(line: str) -> None:
        if "its ramdisk boots" in line:
            raise InterruptedError(line)

    assert "InterruptedError" in installed(seed, "worker-1", say)["worker-1"]
    seed.start()
    seed.reaches("worker-1", lambda last: last.get("state") == "serving")
    assert seed.runs("worker-1") == ["ran"]
    assert seed.states("worker-1")[-3:] == ["installed", "configuring", "serving"]
    told = seed.host.at("/tmp/runs/ssh").read_text()  # noqa: S108  # of the seed
    assert f'IdentityFile="{runner.CONFIGURATION}/key"' in told, "its own key, not the site's"
    assert "StrictHostKeyChecking=yes" in told
    known = seed.host.at(runner.STATE / seed.plan.site / "ssh/known_hosts").read_text()
    assert f"worker-1.{seed.plan.domain} {KEY}" in known, "by the key of its call"
    assert installed(seed, "worker-1") == {}
    assert seed.runs("worker-1") == ["ran"], "it serves: nothing is run again"

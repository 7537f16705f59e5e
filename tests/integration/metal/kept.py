"""A seed of fake machines and the site that it is of: lost, installed anew, backed up and restored."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, netboot
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import Ironic
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import WayStep
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.integration.commands import run
from ansible_collections.groundup.cloud.tests.integration.metal.fake import FakeSeed
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import PASSWORD, WANTED, _enter

ACTIVE, MIDWAY, ENROLLED = ("worker-1", "worker-2", "worker-3"), "worker-4", "worker-5"
SITE = """\
plugin: groundup.cloud.site
site: kept
domain: kept.test
profile: lab
networks:
  management: {cidr: 10.0.0.0/16}
  oob: {cidr: 10.1.0.0/16}
machines:
  seed: {count: 1, provisioner: existing, machines: {seed-1: {address: 10.0.2.2}}}
  control: {count: 1, provisioner: existing}
  worker:
    count: 5
    bmc: {protocol: redfish-virtual-media}
    machines:
%s
kubernetes: {version: 1.36.3, cni: flannel, pod_cidr: 10.240.0.0/12}
storage: {backend: none}
supply: {source: build}
"""
LEASE = "1795000000 52:54:01:00:00:09 10.0.2.101 * 01:52:54:01:00:00:09\n"
# Stands for systemd: units that run are ended, and started by their own commands.
SYSTEMCTL = r"""#!/bin/sh
verb=$1; for unit; do :; done
case $unit in
ironic.service) pattern='^ironic:|--config-file /etc/ironic/ironic.conf' command='%(ironic)s' ;;
groundup-contact.service) pattern='groundup-contact --port' command='%(contact)s' ;;
*) pattern=; echo ActiveState=inactive; exit 0 ;;
esac
case $verb in
show) if pgrep -f -- "$pattern" >/dev/null; then echo ActiveState=active; else echo ActiveState=inactive; fi ;;
stop) pgrep -f -- "$pattern" | xargs -r kill; while pgrep -f -- "$pattern" >/dev/null; do sleep 0.2; done ;;
start) pgrep -f -- "$pattern" >/dev/null || setsid sh -c "exec $command" </dev/null >>/tmp/$unit.log 2>&1 & ;;
esac
"""
SSH = '#!/bin/sh\nfor last; do :; done\nexec %s sh -c "$last"\n'


class Lab:
    """The seed, the site it is of, and its operator."""

    def __init__(self, seed: FakeSeed, plan: Plan, home: Path) -> None:
        """Have systemd's stand-in on the seed, and a way to log in without ssh."""
        self.seed, self.plan, self.home = seed, plan, home
        self.ironic = Ironic(api=WANTED["api_url"], media=WANTED["media_url"], password=PASSWORD, ca=seed.ca)
        found = configuration.values(WANTED, environment=configuration.PROGRAMS / "current")
        units = {path.name: _command(text) for path, text in configuration.units(found).items()}
        commands = {"ironic": units["ironic.service"], "contact": units["groundup-contact.service"]}
        self._write(seed.host.at("/usr/local/bin/systemctl"), SYSTEMCTL % commands)
        self._write(home / "ssh", SSH % " ".join(seed.host.argv()))

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def playbook(self, name: str, *more: str) -> subprocess.CompletedProcess[str]:
        """Run a playbook of ours as an operator does."""
        login = json.dumps({"ansible_ssh_executable": str(self.home / "ssh"), "ansible_pipelining": True})
        done = run("ansible-playbook", "-i", self.home / "site.yml", name, "-e", login, *more, cwd=self.home)
        print(done.stdout[-3000:], done.stderr[-2000:])
        return done

    def restore(self, **more: Any) -> dict[str, Any]:
        """Restore on a seed whose role has run; return what the module said."""
        given = {"site_file": "{{ groundup_site_file }}", "part": "seed", "step": "restore", **more}
        task = {"groundup.cloud.backup": given}
        kept = {"copy": {"content": "{{ done | to_json }}", "dest": str(self.home / "done.json"), "mode": "0600"}}
        local = {"delegate_to": "localhost", "connection": "local"}
        play = {
            "hosts": "seed",
            "gather_facts": False,
            "tasks": [{**task, "register": "done", "failed_when": False}, kept | local],
        }
        (self.home / "play.json").write_text(json.dumps([play]))
        assert self.playbook("play.json").returncode == 0
        found: dict[str, Any] = json.loads((self.home / "done.json").read_text())
        return found

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return what Ironic has of each machine of the site, by id."""
        shown = ("name", "provision_state", "power_state", "instance_info", "driver", "extra", "driver_info")
        whole = {one: self.ask(self.ironic.node, one) for one in self.ask(self.ironic.nodes)}
        return {one: {key: node[key] for key in shown} for one, node in whole.items() if _ours(node["name"])}

    def ask(self, what: Callable[..., Any], *given: Any, **more: Any) -> Any:
        """Return what a function says in the seed's network."""
        return self.seed.inside(partial(what, *given, **more))

    def reaches(self, name: str, state: str) -> None:
        """Wait until a machine, or its power, is at ``state``."""

        def lacks() -> str:
            now = self.ask(self.ironic.node, name)
            return "" if state in (now["provision_state"], now["power_state"]) else f"{now}"

        assert not (left := wait_until(lacks, timeout=90)), left

    def calls(self) -> dict[str, Any]:
        """Return the calls of machines."""
        found: dict[str, Any] = self.ask(self.ironic.calls)
        return found

    def stop(self) -> None:
        """End Ironic and the service that hears machines, as a power cut does."""
        both = "^ironic:|/etc/ironic/ironic.conf|groundup-contact --port"
        self.seed.host.run("pkill", "-9", "-f", both)
        assert not wait_until(lambda: self.seed.host.run("pgrep", "-f", both).stdout, timeout=30)

    def begin(self) -> None:
        """Start both, and wait until they answer."""
        for unit in ("ironic.service", "groundup-contact.service"):
            assert self.seed.host.run("systemctl", "start", unit).returncode == 0
        self.answers()

    def answers(self) -> None:
        """Wait until both answer."""

        def silent() -> str:
            try:
                self.nodes()
                self.calls()
            except Exception as error:  # noqa: BLE001  # whatever a service that starts says
                return str(error)
            return ""

        assert not (left := wait_until(silent, timeout=120, pause=0.5)), left

    def lose(self) -> None:
        """Lose all that the seed knows, and install it anew."""
        self.stop()
        state = self.seed.host.at(configuration.STATE)
        for path in (*state.glob("ironic.sqlite*"), *(state / "machines").iterdir()):
            path.unlink()
        self.seed.host.at(netboot.STATE / "leases").unlink()
        home = configuration.PROGRAMS / "current"
        argv = [str(home / "bin/ironic-dbsync"), "--config-file", str(configuration.CONF), "create_schema"]
        assert self.seed.host.run(*argv).returncode == 0
        self.begin()


def _command(unit: str) -> str:
    lines = dict(
        line.split("=", 1) for line in unit.splitlines() if line.startswith(("ExecStart=", "Environment=PATH"))
    )
    return f"env {lines.get('Environment', '')} {lines['ExecStart']}"


def _ours(name: str | None) -> bool:
    return str(name).startswith(("worker-", "stranger"))


@contextmanager
def kept_site(seed: FakeSeed, home: Path) -> Iterator[Lab]:
    """Give the site of ``seed``, whose machines are on their way or at its end."""
    machine = '      worker-{0}: {{ports: {{management: {{mac: "52:54:01:00:00:0{0}"}}}}}}'
    lines = [machine.format(number) for number in range(1, 6)]
    (home / "site.yml").write_text(SITE % "\n".join(lines))
    (home / "password").write_text("of this test")
    patch = pytest.MonkeyPatch()
    patch.setenv("GROUNDUP_STATE", str(home / "state"))
    patch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(home / "password"))
    plan = make_plan(load_site(home / "site.yml"))
    open_store(plan.site, write=True).ensure(["bmc/default", "ironic/groundup"])
    found = Lab(seed, plan, home)
    _enrol(found)
    yield found
    for identity in found.nodes():
        found.ask(found.ironic.hold, identity, on=True)
        found.ask(found.ironic.delete, identity)
    patch.undo()


def _enrol(lab: Lab) -> None:
    """Have machines that are installed and have called, one that waits for its ramdisk, and one that is enrolled."""
    ironic, on_way = lab.ironic, (*ACTIVE, MIDWAY)
    for number, name in enumerate((*on_way, ENROLLED), start=1):
        lab.ask(ironic.create, node(name), mac=f"52:54:01:00:00:{number:02x}")
    image = {
        "image_source": f"{WANTED['media_url']}/machine.qcow2", "image_os_hash_algo": "sha256",
        "image_os_hash_value": "0" * 64, "image_disk_format": "qcow2",
    }  # fmt: skip
    for verb, end in (("manage", "manageable"), ("provide", "available"), ("active", "active")):
        for name in on_way:
            lab.ask(ironic.change, name, {"/instance_info": image})
            lab.ask(ironic.provision, name, verb)
        for name in on_way:
            lab.reaches(name, "wait call-back" if (name, end) == (MIDWAY, "active") else end)
    for name in ACTIVE:
        lab.ask(ironic._request, "PUT", f"{ironic._api}/v1/nodes/{name}/states/power", body={"target": "power on"})
        lab.reaches(name, "power on")
        token = f"token of {name}"
        lab.ask(ironic.expect, name, sha256=hashlib.sha256(token.encode()).hexdigest())
        call = {"name": name, "token": token, "host_keys": [f"ssh-ed25519 {'A' * 40}"]}
        own = {"json": call, "verify": str(lab.seed.ca), "timeout": 20}
        assert lab.ask(requests.post, f"{WANTED['media_url']}/v1/phone-home", **own).status_code == 200
        Journal(file_of(home_of(lab.plan.site), name)).note(WayStep(state="installed", verb="done"))
    lab.seed.host.at(netboot.STATE / "leases").write_text(LEASE)


def node(name: str) -> dict[str, Any]:
    """Return a machine of fake hardware; one of them waits for a ramdisk."""
    fakes = {f"{kind}_interface": "fake" for kind in ("boot", "inspect", "management", "power", "raid", "bios")}
    return {
        "name": name, "uuid": f"6f7c2f0a-6d1b-4c57-9d0a-{hashlib.sha256(name.encode()).hexdigest()[:12]}",
        "driver": "fake-hardware", "driver_info": {"fake_password": f"of-the-bmc-of-{name}"}, **fakes,
        "deploy_interface": "direct" if name == MIDWAY else "fake", "extra": {}, "properties": {"cpu_arch": "x86_64"},
    }  # fmt: skip


@contextmanager
def load(lab: Lab) -> Iterator[Mapping[str, int]]:
    """Have machines enrolled, changed and forgotten without an end meanwhile; gives how many were."""
    end, done = threading.Event(), {"enrolled": 0}
    (pid,) = [word for word in lab.seed.host.argv("true") if word.isdigit()]

    def work() -> None:
        _enter(int(pid))
        own = Ironic(api=WANTED["api_url"], media=WANTED["media_url"], password=PASSWORD, ca=lab.seed.ca)
        while not end.is_set():
            name = f"busy-{done['enrolled']}"
            own.create(node(name), mac=f"52:54:03:00:{done['enrolled'] >> 8:02x}:{done['enrolled'] & 255:02x}")
            own.change(name, {"/extra/text": "x" * 4096})
            own.delete(name)
            done["enrolled"] += 1

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        try:
            yield done
        finally:
            end.set()
            working.result()

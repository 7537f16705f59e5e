"""A seed's Ironic whose machines are its own fake hardware: every step is real but the machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, page, passwords
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import (
    ARTIFACTS,
    SEED,
    WANTED,
    _enter,
    _install,
    start,
)
from ansible_collections.groundup.cloud.tests.unit import tls

Found = TypeVar("Found")
OPERATOR = "of-the-operator"  # the password of the page, of this test's own seed
_KINDS = ("bios", "boot", "console", "deploy", "inspect", "management", "power", "raid", "rescue", "vendor")


@dataclass(frozen=True)
class FakeSeed:
    """The seed and a way into its network."""

    host: HostRoot
    ca: Path
    thread: ThreadPoolExecutor

    def inside(self, work: Callable[[], Found]) -> Found:
        """Return what ``work`` returns in the seed's network."""
        return self.thread.submit(work).result()


@contextmanager
def fake_seed(home: Path) -> Iterator[FakeSeed]:
    """Give a seed whose Ironic answers at the address of the other tests, and its page of machines."""
    if missing := supply.missing(ARTIFACTS):
        pytest.skip(f"not built on this machine: {', '.join(missing)}")
    artifacts = {name: found.path for name, found in supply.ensure(ARTIFACTS).items() if name in ARTIFACTS}
    own = tls.pair(address=SEED)
    with host_root(home / "root", f"{SEED}/32") as host, ThreadPoolExecutor(max_workers=1) as thread:
        (pid,) = [word for word in host.argv("true") if word.isdigit()]
        thread.submit(_enter, int(pid)).result()
        _install(host, artifacts, own)
        conf = host.at(configuration.CONF)
        text = conf.read_text().replace("hardware_types = redfish", "hardware_types = fake-hardware,redfish")
        for kind in _KINDS:
            text = re.sub(f"^(enabled_{kind}_interfaces = .*)$", r"\1,fake", text, flags=re.MULTILINE)
        conf.write_text(text.replace("default_inspect_interface = no-inspect", ""))
        start(host)
        _page(host)
        ca = home / "ca.crt"
        ca.write_text(own.certificate)
        yield FakeSeed(host=host, ca=ca, thread=thread)


def _page(host: HostRoot) -> None:
    """Place the page's files and passwords as the role does, and start what its unit starts."""
    home = configuration.PROGRAMS / "current"
    host.at(page.PROGRAMS).mkdir()
    for path in (COLLECTION / "roles/ironic/files/machines").iterdir():
        if path.is_file():
            host.at(page.PROGRAMS / path.name).write_bytes(path.read_bytes())
    host.at(page.CONTROLLER).write_text(host.at(configuration.PASSWORDS).read_text())
    hashed = host.run(str(home / "bin/python"), "-c", passwords.HASH, page.USER, "/nothing", input=OPERATOR)
    host.at(page.PASSWORDS).write_text(hashed.stdout)
    host.at(page.STATE).mkdir()
    start_page(host)


def start_page(host: HostRoot) -> None:
    """Start the page by the command of its unit, and wait until it answers."""
    unit = page.unit_text(WANTED, environment=configuration.PROGRAMS / "current")
    (command,) = re.findall("^ExecStart=(.*)$", unit, flags=re.MULTILINE)
    host.start(*command.split())
    asked = ("curl", "--silent", "--fail", "--insecure", "--noproxy", "*", f"{WANTED['api_url']}/machines/")
    left = wait_until(lambda: str(code) if (code := host.run(*asked).returncode) else "", timeout=180, pause=0.5)
    assert not left, f"curl ended with {left}: {host.at('/tmp/python.log').read_text()[-2000:]}"  # noqa: S108  # of the seed

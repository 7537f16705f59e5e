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
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import ARTIFACTS, SEED, _enter, _install, start
from ansible_collections.groundup.cloud.tests.unit import tls

Found = TypeVar("Found")
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
def fake_seed(
    home: Path, prepare: Callable[[HostRoot, tls.Pair], None] = lambda _host, _own: None
) -> Iterator[FakeSeed]:
    """Give a seed whose Ironic answers at the address of the other tests; ``prepare`` comes before its start."""
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
        prepare(host, own)
        start(host)
        ca = home / "ca.crt"
        ca.write_text(own.certificate)
        yield FakeSeed(host=host, ca=ca, thread=thread)

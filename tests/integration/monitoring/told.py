"""A host with the program that tells what runs on it, and a node exporter."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base import bundle
from ansible_collections.groundup.cloud.plugins.module_utils._host.watched import (
    HOST_METRICS,
    HOST_PROGRAM,
    HOST_TOLD,
    TEXTS,
)
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import host_timer
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import program
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot

from .watched import command


class Told:
    """A host with the program, and what the node exporter makes of its file."""

    def __init__(self, host: HostRoot) -> None:
        """Take the host."""
        self.host = host

    def done(self, *argv: str) -> str:
        """Return what ``argv`` says on the host, which must do it."""
        said = self.host.run(*argv)
        assert said.returncode == 0, said.stdout
        return said.stdout

    def metrics(self) -> dict[str, float]:
        """Return each series and its value, after one run."""
        self.done(*command(host_timer.service("openstack")))
        found = re.findall(
            r"^((?:ovn|ovs|neutron|libvirt|groundup|mysql|rabbitmq|memcached|kube|kubelet|container)_.+) (\S+)$",
            self._passed_on(),
            re.M,
        )
        assert program.LAST_RUN in dict(found), "a part failed"
        return {name: float(value) for name, value in found}

    def _passed_on(self) -> str:
        said = self.done("curl", "-sf", "http://127.0.0.1:9100/metrics")
        assert "\nnode_textfile_scrape_error 0\n" in said
        return said

    def is_told(self, *, seconds: float = 60, **expected: float) -> None:
        """Wait until the metrics without labels are as ``expected``."""
        until(lambda: expected.items() <= self.metrics().items(), seconds=seconds)


def exporter(host: HostRoot, debian: Path) -> None:
    """Have the program, and a node exporter of ``debian`` that passes its file on."""
    host.at(HOST_PROGRAM).parent.mkdir(parents=True)
    host.at(HOST_PROGRAM).write_bytes(bundle.program(program))
    for place in (TEXTS, HOST_TOLD.parent):
        host.at(place).mkdir(parents=True)
    host.at(HOST_METRICS).symlink_to(HOST_TOLD)
    name = "prometheus-node-exporter"
    host.at(f"usr/bin/{name}").write_bytes((debian / "usr/bin" / name).read_bytes())
    host.at(f"usr/bin/{name}").chmod(0o755)
    only = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={TEXTS}")
    host.start(name, "--web.listen-address=127.0.0.1:9100", *only)

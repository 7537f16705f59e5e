"""A real node exporter with its unit's arguments tells of a host's own links and file systems."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._host.watched import TEXTS
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.exporter import BESIDE, COLLECTORS, unit_text
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import host_root

from .watched import command

POD = "/var/lib/kubelet/pods/7f/volumes"


def test_links_and_volumes_of_pods_are_not_told(tmp_path: Path, root: Callable[[str], Path]) -> None:
    with host_root(tmp_path) as host:
        shutil.copy(root("root-monitoring") / "usr/bin/prometheus-node-exporter", host.at("usr/bin"))
        host.at(TEXTS).mkdir(parents=True)
        for link in (("br-ex", "type", "bridge"), ("veth7", "type", "veth", "peer", "name", "cali7")):
            assert host.run("ip", "link", "add", *link).returncode == 0
        volumes = [f"{POD}/kubernetes.io~{kind}/one" for kind in ("projected", "local-volume")]
        for volume in volumes:
            host.at(volume).mkdir(parents=True)
            assert host.run("mount", "-t", "tmpfs", "tmpfs", volume).returncode == 0
        words = command(unit_text("127.0.0.1", clock=False))
        host.start(*(word for word in words if not word.startswith("--web.config.file")))

        def said() -> str:
            return host.run("curl", "-sf", "http://127.0.0.1:9100/metrics").stdout

        until(lambda: bool(said()), seconds=30)
        text = said()
        assert set(re.findall(r'^node_network_receive_bytes_total{device="([^"]+)"', text, re.MULTILINE)) == {"br-ex"}
        told = set(re.findall(r'^node_filesystem_size_bytes{.*mountpoint="([^"]+)"', text, re.MULTILINE))
        assert told & {*volumes} == {volumes[1]}
        by = set(re.findall(r'^node_scrape_collector_success{collector="(\w+)"} ', text, re.MULTILINE))
        assert by == {*COLLECTORS, *BESIDE}

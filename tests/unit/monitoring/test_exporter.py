"""What the node exporter of a host is asked for, and what it does not tell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import exporter
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files

from .sites import WHOLE, planned


def test_the_exporter_runs_what_rules_panels_and_the_page_ask_and_no_more() -> None:
    asked = {name for text in files(planned("ha", **WHOLE)).values() for name in re.findall(r"\bnode_\w+", text)}
    tells = {
        "bonding": "bonding_", "conntrack": "nf_conntrack_", "cpu": "cpu_seconds", "diskstats": "disk_",
        "edac": "edac_", "filesystem": "filesystem_", "mdadm": "md_", "meminfo": "memory_",
        "netdev": "network_(?:receive|transmit)_", "netstat": "netstat_", "pressure": "pressure_",
        "stat": "boot_time_", "timex": "timex_", "vmstat": "vmstat_",
    }  # fmt: skip
    assert {*exporter.COLLECTORS, exporter.CLOCK} == {"textfile", *tells}
    found = {name: [one for one, begin in tells.items() if re.match(f"node_{begin}", name)] for name in asked}
    assert {name for name, by in found.items() if len(by) != 1} == set()
    assert {one for by in found.values() for one in by} == tells.keys()


@pytest.mark.parametrize(("bounding", "ptp", "keeps"), [
    ("000001ffffffffff", "", True),
    ("000001ffffffffff", "phc2sys@eth0.service", False),
    ("000001fffdffffff", "", False),  # a container: without CAP_SYS_TIME
])  # fmt: skip
def test_a_host_whose_clock_the_kernel_does_not_know_says_nothing_of_it(
    bounding: str, ptp: str, keeps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "status").write_text(f"Name:\tsystemd\nCapEff:\t0\nCapBnd:\t{bounding}\n")
    monkeypatch.setattr(exporter, "by_ptp", lambda: ptp)
    assert exporter._keeps_clock(tmp_path / "status") is keeps
    text = exporter.unit_text("10.0.0.5", clock=keeps)
    assert ("--collector.timex" in text) is keeps

"""A monitor that the site file has elsewhere: the run stops before anybody forgets it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import converge

from .host import MONITORS, Monitors, node, quorum
from .test_converge import cluster, host, step

__all__ = ["cluster", "host"]  # fixtures


@pytest.mark.parametrize(
    ("name", "planned", "said"),
    [
        ("storage-1", {"storage-3": "", "storage-4": "10.0.0.4"}, "storage-3 at 10.0.0.3, planned none there"),
        ("storage-3", {"storage-3": "", "storage-4": "10.0.0.4"}, "ceph mon ok-to-rm storage-3"),
        ("storage-4", {"storage-3": "", "storage-4": "10.0.0.4"}, "ceph mon rm storage-3"),
        (
            "storage-1",
            {"storage-3": "", "storage-4": "10.0.0.4"},
            r"storage\.monitors: \[storage-1, storage-2, storage-3\]",
        ),
        ("storage-1", {"storage-2": "10.0.0.9"}, r"storage-2 at 10\.0\.0\.2, planned 10\.0\.0\.9"),
    ],
)
@pytest.mark.usefixtures("host")
def test_a_monitor_that_the_site_file_has_elsewhere_stops_the_run_before_it_is_forgotten(
    cluster: Monitors, tmp_path: Path, name: str, planned: dict[str, str], said: str
) -> None:
    for one in ("maintain", "monitor", "daemons"):
        step(one, node(name))  # storage-4 has an OSD alone
    written = (tmp_path / "etc/ceph.conf").read_text()
    cluster.answers |= {"osd df": {"nodes": []}, "mon dump": quorum(MONITORS)}
    monitors = {host: address for host, address in {**MONITORS, **planned}.items() if address}
    for check in (True, False):
        with pytest.raises(GroundupError, match=said):
            step(of=node(name, monitors=monitors, hosts=[*MONITORS, "storage-4"]), check=check)
    assert (tmp_path / "etc/ceph.conf").read_text() == written


@pytest.mark.usefixtures("host")
def test_a_cluster_whose_monitors_all_have_other_addresses_in_the_site_file_is_asked_where_it_is(
    cluster: Monitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in ("maintain", "monitor", "daemons"):
        step(one, node())
    asked: list[dict[str, str]] = []

    def connected(_name: str, _key: str, monitors: dict[str, str]) -> AbstractContextManager[Monitors]:
        asked.append(monitors)
        return nullcontext(cluster)

    monkeypatch.setattr(converge, "connected", connected)
    cluster.answers |= {"osd df": {"nodes": []}, "mon dump": quorum(MONITORS)}
    moved = {name: address.replace("10.0.0", "10.7.0") for name, address in MONITORS.items()}
    with pytest.raises(GroundupError, match=r"storage-1 at 10\.0\.0\.1, planned 10\.7\.0\.1"):
        step(of=node(monitors=moved))
    assert [list(one.values()) for one in asked] == [list(MONITORS.values())]

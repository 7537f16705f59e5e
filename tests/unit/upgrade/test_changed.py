"""An upgrade whose site file or record changed while it was on its way."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.run import UpgradeRun

from .cluster import CONTROL, Cluster, moved
from .running import SITE, asked, new, opened, step

pytestmark = pytest.mark.usefixtures("controller")
OTHERS = ("1.36.3", "1.36.9")


def other(version: str, kind: str = "control", *hosts: str) -> UpgradeRun:
    return UpgradeRun(job=asked(version), kind=kind, hosts=hosts)  # type: ignore[arg-type]  # a kind


@pytest.mark.parametrize("version", OTHERS)
def test_each_step_reads_the_site_file_and_refuses_another_version_than_the_upgrade_goes_to(
    cluster: Cluster, version: str
) -> None:
    step().begin()
    moved(cluster, *CONTROL)
    before = opened()
    for work in (
        other(version).begin, other(version, "control", "control-1").enter, other(version, "add-ons").enter,
        other(version, "kubelet", "worker-1").enter, other(version, "kubelet", "worker-1").leave, other(version).end,
    ):  # fmt: skip
        with pytest.raises(GroundupError, match=rf"the site file says {version}") as caught:
            work()
        assert "set kubernetes.version to 1.37.2" in str(caught.value)
    assert opened() == before
    assert cluster.patched == {}


def test_a_node_that_an_upgrade_left_cordoned_is_let_in_though_its_record_is_lost(
    cluster: Cluster, controller: Path
) -> None:
    """As by the remedy of a record that cannot be read, or from another control node."""
    step().begin()
    new(cluster, kubelets=())
    step("kubelet", "worker-1").enter()
    cluster.kubelets = dict.fromkeys(cluster.nodes, "v1.37.2")
    (controller / journal.KUBERNETES.file).unlink()
    answer = asked().check()
    assert (answer["changes"], answer["kubelets"], answer["drains"]) == (["kubelet of worker-1"], [["worker-1"]], False)
    with pytest.raises(GroundupError, match="kubelet of worker-1; worker-1 takes no pods"):
        asked().verify()
    step().begin()
    step("kubelet", "worker-1").enter()
    step("kubelet", "worker-1").leave()
    assert cluster.patched["worker-1"]["spec"] == {"unschedulable": None}
    step().end()
    assert journal.under_way(SITE) is None
    assert asked().check()["changes"] == []

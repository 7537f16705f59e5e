"""Daemons with a new configuration restart one by one, each when nobody misses it."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError

from .host import Host, Monitors, node
from .test_converge import cluster, host, made, step

__all__ = ["cluster", "host"]  # fixtures


def test_a_new_configuration_restarts_daemons_later_and_one_by_one(host: Host) -> None:
    made()
    host.verbs.clear()
    other = node(settings={"osd_max_backfills": "2"})
    daemons = ["ceph-mon@storage-1", "ceph-mgr@storage-1", "ceph-osd@5"]
    assert step(of=other, check=True)["due"] == daemons
    said = step("restart", other, check=True)["changes"]
    assert [one for one in said if one.startswith("restart")] == [f"restart {name}.service" for name in daemons]
    assert step(of=other)["due"] == daemons
    assert host.verbs == []
    assert step(of=other)["due"] == daemons, "a run that was killed in between is made good"
    assert step("restart", other)["due"] == []
    assert host.verbs == [f"restart {name}.service" for name in daemons]
    assert not step(of=other)["changed"]


def test_no_daemon_restarts_while_copies_are_missing(host: Host, cluster: Monitors) -> None:
    made()
    host.verbs.clear()
    states = [{"name": "active+undersized+degraded", "num": 3}, {"name": "active+clean+scrubbing", "num": 1}]
    cluster.answers["pg stat"] = {"pg_summary": {"num_pg_by_state": states}}
    step(of=node(settings={"a": "b"}))
    with pytest.raises(GroundupError, match=r"ceph-mon@storage-1 is not restarted: 3 PGs active\+undersized\+degraded"):
        step("restart", node(settings={"a": "b"}))
    assert host.verbs == []


@pytest.mark.usefixtures("host")
def test_an_osd_restarts_under_a_flag_of_its_host_that_is_gone_afterwards(cluster: Monitors) -> None:
    made()
    cluster.answers |= {"osd dump": {"osds": [], "crush_node_flags": {}}, "osd tree": {"nodes": []}}
    changed = node(settings={"osd_max_backfills": "2"})
    assert "ceph-osd@5" in step(of=changed)["due"]
    cluster.told.clear()
    step("restart", of=changed)
    assert [prefix for prefix, _ in cluster.told] == ["config-key set", "osd set-group", "config-key rm"]


def test_no_daemon_restarts_while_another_host_s_monitor_is_out(host: Host, cluster: Monitors) -> None:
    made()
    host.verbs.clear()
    cluster.answers["quorum_status"] = {"quorum_names": ["storage-1", "storage-2"]}
    other = node(settings={"a": "b"})
    step(of=other)
    with pytest.raises(GroundupError, match="ceph-mon@storage-1 is not restarted: monitor storage-3 is outside"):
        step("restart", other)
    assert host.verbs == []


def test_a_monitor_that_is_down_itself_is_started_by_its_restart(host: Host, cluster: Monitors) -> None:
    made()
    other = node(settings={"a": "b"})
    step(of=other)
    host.running.remove("ceph-mon@storage-1.service")
    cluster.answers["quorum_status"] = {"quorum_names": ["storage-2", "storage-3"]}
    host.verbs.clear()
    with pytest.raises(GroundupError, match="ceph-mon@storage-1 was restarted: monitor storage-1 is outside"):
        step("restart", other)  # these monitors never take it in
    assert host.verbs == ["start ceph-mon@storage-1.service"]

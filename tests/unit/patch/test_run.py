"""A host in maintenance is written down before it is touched, gone on with by the next run, and never forgotten."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch.decide import HostWork
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch.run import HostRun, refuse_crowd

from .conftest import NAME, OTHER, PLAN, Cluster

REBOOT = HostWork(packages=("libc6",), reboot=("libc6",))


@pytest.fixture
def way(cluster: Cluster) -> HostRun:
    assert cluster.ready
    return HostRun(plan=PLAN, host=PLAN.hosts[NAME], site_file="-", timeout=0.2, say=print)


def test_a_host_that_nobody_would_miss_is_not_touched(way: HostRun, cluster: Cluster) -> None:
    assert not way.begin(HostWork(packages=("bash",)), "aaaa:1")["emptied"]
    assert (cluster.said, way.record, way.end()) == ([], None, {"changed": False})


def test_a_node_is_cordoned_and_its_pods_leave_and_the_next_run_knows_it(way: HostRun, cluster: Cluster) -> None:
    done = way.begin(REBOOT, "aaaa:1")
    assert (done["changes"], done["fresh"], done["data"], done["instances"]) == (["evict d/web"], True, False, False)
    assert (cluster.cordoned[NAME], [*cluster.pods]) == (True, ["proxy"])
    assert (found := way.record)
    assert (found.boot, found.reboot, found.cordoned) == ("aaaa:1", ("libc6",), True)
    assert journal.hosts(PLAN.site) == [NAME]

    again = way.begin(HostWork(), "aaaa:1")
    assert again["emptied"], "a run that was killed goes on, also when apt has nothing left to do"
    assert (found := way.record)
    assert found.cordoned, "it is still our cordon"
    assert way.end()["changed"]
    assert (cluster.cordoned[NAME], journal.hosts(PLAN.site)) == (False, [])


def test_the_reasons_of_an_upgrade_that_was_begun_outlive_a_kill(way: HostRun) -> None:
    way.begin(REBOOT, "aaaa:1")
    journal.change(PLAN.site, NAME, upgraded=True)
    assert not way.begin(HostWork(), "aaaa:1")["fresh"]
    assert (found := way.record)
    assert found.reboot == ("libc6",)
    with pytest.raises(GroundupError, match=f"{NAME} did not reboot"):
        way.serving("aaaa:1")


def test_a_cordon_of_somebody_else_stays(way: HostRun, cluster: Cluster) -> None:
    cluster.cordoned[NAME] = True
    way.begin(REBOOT, "aaaa:1")
    way.end()
    assert cluster.cordoned[NAME]


def test_a_node_of_the_former_boot_does_not_serve(way: HostRun, cluster: Cluster) -> None:
    way.begin(REBOOT, "aaaa:1")
    with pytest.raises(GroundupError, match="has not said anything since its boot"):
        way.serving("bbbb:1")
    cluster.boot, cluster.ready = "bbbb", False
    with pytest.raises(GroundupError, match="is not Ready"):
        way.serving("bbbb:1")
    cluster.ready = True
    way.serving("bbbb:1")


@pytest.mark.parametrize("upgraded", [False, True])
def test_a_host_whose_packages_are_as_they_were_serves_again_and_another_stays_away(
    way: HostRun, cluster: Cluster, upgraded: bool
) -> None:
    way.begin(REBOOT, "aaaa:1")
    journal.change(PLAN.site, NAME, upgraded=upgraded)
    done = way.give_up({"failed": True, "msg": "it fell over\n  remedy: set it up"})
    assert (done["failed"], done["add_group"]) == (False, "absent")
    assert done["aside"][0]["reason"] == "it fell over" + ("; it stays in maintenance" if upgraded else "")
    assert (cluster.cordoned[NAME], journal.hosts(PLAN.site)) == (upgraded, [NAME] if upgraded else [])


def test_of_a_loop_the_item_that_failed_is_the_reason(way: HostRun) -> None:
    items = [{"failed": False}, {"failed": True, "msg": "HAProxy does not obey\n  remedy: mend it"}]
    (told,) = way.give_up({"failed": True, "msg": "One or more items failed", "results": items})["aside"]
    assert (told["reason"], told["remedy"]) == ("HAProxy does not obey", "mend it")


def test_a_pod_that_may_not_leave_and_one_that_nobody_makes_again_are_named(way: HostRun, cluster: Cluster) -> None:
    cluster.budget = True
    with pytest.raises(GroundupError, match="it would violate the disruption budget") as error:
        way.begin(REBOOT, "aaaa:1")
    assert "patch_timeout" in error.value.remedy
    cluster.pods, cluster.said = {"bare": ""}, []
    with pytest.raises(GroundupError, match="no controller makes them again: d/bare"):
        way.begin(REBOOT, "aaaa:1")
    assert cluster.said == []


def test_no_batch_begins_when_too_many_are_missing(way: HostRun) -> None:
    refuse_crowd(PLAN, [OTHER], [])
    way.begin(REBOOT, "aaaa:1")
    refuse_crowd(PLAN, [NAME], [])
    with pytest.raises(GroundupError, match=f"{OTHER} would be too many: in maintenance or silent already are {NAME}"):
        refuse_crowd(PLAN, [OTHER], [])


def test_a_damaged_record_is_told(way: HostRun) -> None:
    journal.directory(PLAN.site).mkdir(parents=True)
    (journal.directory(PLAN.site) / f"{NAME}.json").write_text("{")
    with pytest.raises(GroundupError, match=f"the record of the maintenance of {NAME} cannot be read"):
        way.end()


def test_one_that_is_missing_already_is_gone_on_with_also_when_another_is_lost_meanwhile(way: HostRun) -> None:
    """Else nobody could bring it back: two of its group are missing, with it or without it."""
    way.begin(REBOOT, "aaaa:1")
    refuse_crowd(PLAN, [NAME], [OTHER])
    with pytest.raises(GroundupError, match="would be too many"):
        refuse_crowd(PLAN, ["worker-3"], [OTHER])

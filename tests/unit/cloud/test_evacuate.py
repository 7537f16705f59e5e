"""An evacuation: a dead host's instances come back elsewhere; what would be lost or run twice needs consent."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import compute_host, connection, drain
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

from .hypervisors import HERE, HOST, TASK, THERE, Hypervisors
from .test_drain import UNDRAIN, on, verb_step, writes

SITES = Path(__file__).resolve().parents[3] / "inventories"
CEPH, LOCAL = SITES / "cloud/site.yml", SITES / "lab/site.yml"
LATER = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def step(operator: Any, nova: Hypervisors, said: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Do one step of an action, by default of a site with its instances' disks in its own Ceph."""
    monkeypatch.setattr(connection, "of_site", lambda _: operator)
    monkeypatch.setattr(drain, "time", LATER)

    def run(which: str, *, check: bool = False, name: str = HERE, site: Path = CEPH, **options: Any) -> dict[str, Any]:
        plan = options.pop("plan", None) or make_plan(load_site(site))
        given = {"ceph": in_ceph(nova, name)} | options
        return verb_step("evacuate", which, plan=plan, say=said.append, check=check, machine=name, **given)

    return run


def in_ceph(nova: Hypervisors, host: str) -> Callable[..., dict[str, Any]]:
    """Return a Ceph that has the disks of the instances on ``host``, but of those whose name says otherwise."""

    def ceph(step: str, *, pool: str) -> dict[str, Any]:
        assert (step, pool) == ("images", "vms")
        here = [one for one in nova.of("servers") if one[HOST] == host != "gone-1"]
        # A rescue, or a drive with the configuration, is no disk that is worth a return.
        ends = {str(one["id"]): "_disk.rescue" if "local" in one["name"] else "_disk" for one in here}
        return {"images": [name + end for name, end in ends.items()]}

    return ceph


@pytest.fixture
def dead(nova: Hypervisors) -> Hypervisors:
    nova.service()["state"] = "down"
    nova.moves = "evacuate"
    return nova


def test_a_dry_run_names_what_comes_back_and_changes_nothing(dead: Hypervisors, step: Any) -> None:
    dead.server("web")
    dead.server("other", host=THERE)
    found = step("check")
    assert [line.split(" (")[0] for line in found["changes"]] == [
        f"disable nova-compute of {HERE}: groundup.cloud.evacuate", f"have Nova take {HERE} for dead", "evacuate web",
    ]  # fmt: skip
    assert found["fence"], "the site's own Ceph keeps it from its disks"
    assert step("evacuate", check=True)["changes"] == found["changes"]
    assert writes(dead) == []


def test_all_come_back_elsewhere_and_an_undrain_takes_the_host_back(dead: Hypervisors, step: Any) -> None:
    for name, status in {"web": "ACTIVE", "off": "SHUTOFF", "broken": "ERROR"}.items():
        dead.server(name, status=status)
    dead.server("stuck", task="powering-off")["left"] = 99
    done = step("evacuate", parallel=2)
    assert on(dead, HERE) == set()
    assert {one["result"] for one in done["instances"]} == {f"to {THERE}"}
    states = {one["name"]: one["status"] for one in dead.of("servers")}
    assert states == {"web": "ACTIVE", "off": "SHUTOFF", "broken": "ACTIVE", "stuck": "ACTIVE"}
    assert dead.most == 3, "two, beside the task that the dead host has"
    service = dead.service()
    assert (service["disabled_reason"], service["forced_down"]) == (compute_host.EVACUATE, True)
    step("verify")
    before = writes(dead)
    assert step("evacuate") == {"changed": False, "changes": [], "instances": []}
    assert writes(dead) == before
    assert verb_step(UNDRAIN, "check", check=True)["evacuated"]
    assert verb_step(UNDRAIN, "enable")["changed"]
    service = dead.service()
    assert (service["status"], service["forced_down"]) == ("enabled", False)


def test_nova_takes_it_for_dead_in_one_request_before_anything_is_fenced(dead: Hypervisors, step: Any) -> None:
    dead.server("web")
    assert len(step("close")["changes"]) == 2
    assert dead.hosts.written == [f"disabled {HERE}"]
    service = dead.service()
    assert (service["disabled_reason"], service["forced_down"]) == (compute_host.EVACUATE, True)
    assert on(dead, HERE) == {"web"}


@pytest.mark.usefixtures("step")
def test_an_undrain_waits_until_nova_compute_has_ended_what_runs_elsewhere(dead: Hypervisors) -> None:
    record = dead.migration(dead.server("web", host=THERE), kind="evacuation", status="done")
    with pytest.raises(GroundupError, match=r"not ended 1 evacuated instance\(s\)"):
        verb_step(UNDRAIN, "ended", timeout=0.01)
    record["status"] = "completed"
    assert not verb_step(UNDRAIN, "ended", timeout=0.01)["changed"]


def test_what_a_killed_one_began_is_waited_for(dead: Hypervisors, step: Any) -> None:
    server = dead.server("web")
    dead.service().update(status="disabled", disabled_reason=compute_host.EVACUATE, forced_down=True)
    server |= {TASK: "rebuilding", "status": "REBUILD", "left": 2}
    step("evacuate")
    assert server[HOST] == THERE
    assert not [one for one in writes(dead) if one.endswith("/action")], "it is not begun a second time"


def test_what_does_not_come_back_is_named_after_all_others(dead: Hypervisors, step: Any) -> None:
    paused, failed, _ = dead.server("paused", status="PAUSED"), dead.server("big"), dead.server("web")
    dead.refused[paused["id"]] = "Cannot 'evacuate' instance while it is in vm_state paused"
    dead.fails[failed["id"]] = "No valid host was found"
    with pytest.raises(GroundupError, match=r"2 instance\(s\) of hypervisor-1 did not come back") as caught:
        step("evacuate", parallel=1)
    text = str(caught.value)
    assert "in vm_state paused" in text
    assert "NoValidHost: No valid host was found" in text
    assert "server set --state error" in text
    assert on(dead, HERE) == {"paused", "big"}
    with pytest.raises(GroundupError, match="is not done: instances"):
        step("verify")


def test_a_host_that_reports_is_drained_and_not_evacuated(nova: Hypervisors, step: Any) -> None:
    nova.server("web")
    with pytest.raises(GroundupError, match="its instances run: drain it"):
        step("evacuate", force=["fenced", "disks"])
    assert writes(nova) == []


def test_nobody_takes_them(dead: Hypervisors, step: Any) -> None:
    dead.server("web")
    dead.service(THERE)["status"] = "disabled"
    with pytest.raises(GroundupError, match="no other hypervisor"):
        step("check", force=["fenced", "disks"])


def test_without_a_ceph_of_the_sites_own_somebody_says_that_it_is_off_and_that_disks_are_lost(
    dead: Hypervisors, step: Any
) -> None:
    dead.server("web")["image"] = {"id": "an-image"}
    dead.server("on a volume")["image"] = ""
    with pytest.raises(GroundupError, match="would run twice") as caught:
        step("check", site=LOCAL)
    for said in (
        "1 instance(s) have no disk that is known to outlive it, and would start from their image: web (",
        "[disks, fenced]",
    ):
        assert said in str(caught.value)
    assert not step("check", site=LOCAL, force=["fenced", "disks"])["fence"]


def test_a_machine_that_left_the_site_file_is_kept_from_nothing(dead: Hypervisors, step: Any) -> None:
    server = dead.server("web", host="gone-1")
    dead.hosts.join("gone-1")
    dead.service("gone-1")["state"] = "down"
    server["image"] = {"id": "an-image"}
    with pytest.raises(GroundupError, match=r"run twice.*would start from their image"):
        step("check", name="gone-1")


def test_a_live_migration_that_the_death_cut_may_run_on_its_target(dead: Hypervisors, step: Any) -> None:
    server = dead.server("web", status="MIGRATING", task="migrating")
    dead.server("other")
    dead.migration(server, kind="live-migration", status="preparing")["dest_compute"] = THERE
    with pytest.raises(GroundupError, match=rf"web .* to {THERE} migrated live when it died"):
        step("evacuate")
    assert writes(dead) == []
    assert step("check", force=["migrating"])["changes"]


def test_a_disk_outlives_the_host_by_cephs_own_word_whatever_the_site_file_has_for_new_ones(
    dead: Hypervisors, step: Any
) -> None:
    """The site file was edited: `disks: ceph`, for a host whose instances have theirs as files."""
    for name in ("web", "local"):
        dead.server(name)["image"] = {"id": "an-image"}
    dead.server("local, on a volume")["image"] = ""
    with pytest.raises(GroundupError, match=r"1 instance\(s\) have no disk that .*: local \("):
        step("evacuate")
    assert writes(dead) == []

    def silent(*_: Any, **__: Any) -> Any:
        raise GroundupError("no quorum of monitors", where="", why="", remedy="")

    with pytest.raises(GroundupError, match="no quorum of monitors"):
        step("evacuate", ceph=silent)
    assert writes(dead) == []
    assert step("check", ceph=silent, force=["disks"])["changes"]


def test_instances_whose_disks_are_on_it_may_stay_while_the_others_come_back(dead: Hypervisors, step: Any) -> None:
    for name in ("web", "local"):
        dead.server(name)["image"] = {"id": "an-image"}
    with pytest.raises(GroundupError, match="accept one"):
        step("evacuate", force=["disks", "stay"])
    assert writes(dead) == []
    assert any(line.startswith("leave local (") for line in step("check", force=["stay"])["changes"])
    step("evacuate", force=["stay"])
    assert on(dead, HERE) == {"local"}
    assert on(dead, THERE) == {"web"}
    step("verify", force=["stay"])
    assert not step("check", force=["stay"])["changed"], "what stays is nothing to do"
    with pytest.raises(GroundupError, match="is not done: instances local"):
        step("verify")


def test_what_stays_needs_no_other_hypervisor_and_no_consent(dead: Hypervisors, step: Any) -> None:
    dead.server("local")["image"] = {"id": "an-image"}
    dead.service(THERE)["status"] = "disabled"
    with pytest.raises(GroundupError, match="no other hypervisor"):
        step("check")
    assert step("check", force=["stay"])["changes"]


def test_nobody_vouches_for_disks_in_a_ceph_that_is_not_the_sites_own(dead: Hypervisors, step: Any) -> None:
    dead.server("web")["image"] = {"id": "an-image"}
    plan = make_plan(load_site(CEPH))
    assert plan.ceph
    with pytest.raises(GroundupError, match=r"run twice.*would start from their image: web"):
        step("check", plan=replace(plan, ceph=replace(plan.ceph, backend="external")))


def test_a_disk_of_the_flavor_is_lost_beside_a_volume(dead: Hypervisors, step: Any) -> None:
    dead.server("scratch").update(image="", flavor={"vcpus": 1, "ephemeral": 10, "original_name": "big"})
    with pytest.raises(GroundupError, match=r"1 instance\(s\) have no disk that .*scratch"):
        step("check", site=LOCAL, force=["fenced"])


def test_names_and_numbers_that_are_none(step: Any) -> None:
    for options, match in (({"name": ""}, "no machine is named"), ({"name": "x"}, "no compute service of x")):
        with pytest.raises(GroundupError, match=match):
            step("check", **options)
    with pytest.raises(GroundupError, match="evacuate_parallel"):
        step("check", parallel=-1)

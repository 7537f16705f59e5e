"""A drain: no new instances, each of those it has moves, some at a time; what stays is named; it can be killed."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import verbs
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import compute_host, connection, drain
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.drain import Drain, DrainOptions
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs.base import Asked
from openstack.exceptions import NotFoundException

from .hypervisors import HERE, HOST, TASK, THERE, Hypervisors

SITE = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"
DRAIN, UNDRAIN = "drain", "undrain"


def verb_step(verb: str, step: str, *, plan: Plan | None = None, **asked: Any) -> dict[str, Any]:
    """Do one step of a verb on a machine; return its result without what every step returns."""
    given = {"machine": HERE, "say": lambda _: None, **asked}
    result = verbs.find(verb)(Asked(plan=plan or make_plan(load_site(SITE)), **given)).run(step)
    return {key: value for key, value in result.items() if key not in ("machine", "steps", "next", "stays_off")}


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def step(operator: Any, said: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Do one step of the action."""
    monkeypatch.setattr(connection, "of_site", lambda _: operator)
    monkeypatch.setattr(drain, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None))

    def run(which: str, *, check: bool = False, name: str = HERE, **options: Any) -> dict[str, Any]:
        verb = UNDRAIN if which in ("ended", "enable") else DRAIN
        return verb_step(verb, which, say=said.append, check=check, machine=name, **options)

    return run


def writes(nova: Hypervisors) -> list[str]:
    return [one for one in nova.asked if one.split()[0] != "GET" and "auth" not in one]


def on(nova: Hypervisors, host: str) -> set[str]:
    return {one["name"] for one in nova.of("servers") if one[HOST] == host}


def test_a_dry_run_names_what_moves_and_changes_nothing(nova: Hypervisors, step: Any) -> None:
    nova.server("web")
    nova.server("off", status="SHUTOFF")
    nova.server("new", status="BUILD", task="spawning")
    nova.server("other", host=THERE)
    lines = step("check")["changes"]
    assert [line.split(" (")[0] for line in lines] == [
        f"disable nova-compute of {HERE}: groundup.cloud.drain", "live-migrate web", "migrate off", "wait for new",
    ]  # fmt: skip
    assert step("drain", check=True)["changes"] == lines
    assert writes(nova) == []


def test_every_instance_moves_some_at_a_time(nova: Hypervisors, step: Any, said: list[str]) -> None:
    for number in range(5):
        nova.server(f"web-{number}")
    done = step("drain", parallel=2)
    assert on(nova, HERE) == set()
    assert nova.most == 2
    assert nova.service()["disabled_reason"] == compute_host.DRAIN
    assert [one["result"] for one in done["instances"]] == [f"to {THERE}"] * 5
    assert len([line for line in said if line.startswith("[drain] web-")]) == 5
    step("verify")
    assert step("check")["changes"] == []
    before = writes(nova)
    assert step("drain") == {"changed": False, "changes": [], "instances": []}
    assert writes(nova) == before


def test_an_instance_that_is_off_is_migrated_and_confirmed(nova: Hypervisors, step: Any) -> None:
    server = nova.server("off", status="SHUTOFF")
    step("drain")
    assert (server[HOST], server["status"], nova.of("migrations")[0]["status"]) == (THERE, "SHUTOFF", "confirmed")
    step("verify")


def test_what_stays_is_named_with_novas_reason_after_all_others_moved(nova: Hypervisors, step: Any) -> None:
    refused, failed, _ = nova.server("pinned"), nova.server("big"), nova.server("web")
    nova.refused[refused["id"]] = "it has a device that is passed through"
    nova.fails[failed["id"]] = "No valid host was found"
    with pytest.raises(GroundupError, match=r"2 instance\(s\) stay") as caught:
        step("drain", parallel=1)
    text = str(caught.value)
    assert "it has a device that is passed through" in text
    assert "NoValidHost: No valid host was found" in text
    assert "[cold]" in text
    assert on(nova, HERE) == {"pinned", "big"}
    with pytest.raises(GroundupError, match=r"drain of \S+ is not done"):
        step("verify")


def test_with_consent_it_is_stopped_for_its_move(nova: Hypervisors, step: Any) -> None:
    refused, failed = nova.server("pinned"), nova.server("big")
    nova.refused[refused["id"]] = nova.fails[failed["id"]] = "no"
    done = step("drain", force=["cold"])
    assert on(nova, HERE) == set()
    assert {one["way"] for one in done["instances"]} == {"cold"}
    step("verify")


def test_a_killed_one_goes_on_with_what_nova_began(nova: Hypervisors, step: Any) -> None:
    live, cold, waits = (
        nova.server("live"),
        nova.server("cold", status="SHUTOFF"),
        nova.server("waits", status="SHUTOFF"),
    )
    live |= {TASK: "migrating", "status": "MIGRATING", "left": 3}
    cold |= {TASK: "resize_prep", "status": "RESIZE", "left": 2}
    waits |= {HOST: THERE, "status": "VERIFY_RESIZE"}
    nova.migration(waits)
    nova.service().update(status="disabled", disabled_reason=compute_host.DRAIN)
    step("drain", parallel=3)
    assert on(nova, HERE) == set()
    ended = {(one["migration_type"], one["status"]) for one in nova.of("migrations")}
    assert ended == {("migration", "confirmed"), ("live-migration", "completed")}
    actions = [one for one in writes(nova) if one.endswith("/action")]
    assert len(actions) == 2, "two confirmations; nothing is begun a second time"
    step("verify")


def test_an_instance_that_is_deleted_before_it_is_confirmed_is_no_failure(
    nova: Hypervisors, step: Any, operator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = nova.server("off", status="SHUTOFF")

    def deleted(_identity: str) -> None:
        nova.of("servers").remove(server)
        nova.of("migrations").clear()
        raise NotFoundException("Instance could not be found")

    monkeypatch.setattr(operator.compute, "confirm_server_resize", deleted)
    (done,) = step("drain")["instances"]
    assert done["result"] == "deleted meanwhile"


def test_a_tenants_resize_is_the_tenants(nova: Hypervisors, step: Any) -> None:
    server = nova.server("resized", host=THERE, status="VERIFY_RESIZE")
    nova.migration(server, kind="resize")
    with pytest.raises(GroundupError, match="neither confirmed nor reverted"):
        step("drain")
    assert not [one for one in writes(nova) if one.endswith("/action")]


def test_it_waits_until_nova_has_cleaned_up(nova: Hypervisors, step: Any) -> None:
    nova.server("web")
    nova.cleans = 4
    step("drain")
    step("verify")


def test_one_that_was_on_its_way_here_moves_on(nova: Hypervisors, step: Any) -> None:
    server = nova.server("late", host=THERE)
    arriving = {"source_compute": THERE, "dest_compute": HERE, "left": 6}
    nova.migration(server, kind="live-migration", status="running").update(arriving)
    with pytest.raises(GroundupError, match="migrations not ended"):
        step("verify")
    assert f"wait for the live-migration of {server['id']} from {THERE}" in step("check")["changes"]
    assert [one["result"] for one in step("drain")["instances"]] == [f"to {THERE}"]
    step("verify")


def test_a_migration_that_never_ends_is_named(operator: Any, nova: Hypervisors) -> None:
    server = nova.server("late", host=THERE)
    arriving = {"source_compute": THERE, "dest_compute": HERE, "left": 1000}
    nova.migration(server, kind="live-migration", status="running").update(arriving)
    work = Drain(operator.compute, HERE, DrainOptions(timeout=5, pause=0), lambda _: None)
    times = iter(range(1000))
    work.clock = lambda: float(next(times))
    work.run()
    assert "its live-migration is still running after 5 s" in work.stuck[server["id"]]


def test_one_that_breaks_on_its_way_is_named(nova: Hypervisors, step: Any) -> None:
    nova.breaks.add(nova.server("web")["id"])
    with pytest.raises(GroundupError, match=f"in ERROR on {THERE}"):
        step("drain")


def test_one_that_takes_too_long_is_named_and_not_aborted(operator: Any, nova: Hypervisors) -> None:
    server = nova.server("huge")
    nova.questions = 1000
    work = Drain(operator.compute, HERE, DrainOptions(timeout=5, pause=0), lambda _: None)
    times = iter(range(1000))
    work.clock = lambda: float(next(times))
    work.run()
    assert "still MIGRATING (migrating) after 5 s" in work.stuck[server["id"]]


@pytest.mark.parametrize(("key", "value"), [("state", "down"), ("status", "disabled")])
def test_nothing_begins_while_no_other_takes_instances(nova: Hypervisors, step: Any, key: str, value: str) -> None:
    nova.server("web")
    nova.service(THERE)[key] = value
    with pytest.raises(GroundupError, match="no other hypervisor"):
        step("drain")
    assert writes(nova) == []


def test_a_dead_host_hands_nothing_over(nova: Hypervisors, step: Any) -> None:
    nova.server("web")
    nova.service()["state"] = "down"
    with pytest.raises(GroundupError, match="is down"):
        step("check")


def test_undrain_enables_what_a_verb_of_ours_disabled(nova: Hypervisors, step: Any) -> None:
    step("drain")
    assert step("enable", check=True)["changed"]
    assert nova.service()["status"] == "disabled"
    assert step("enable")["changed"]
    assert nova.service()["status"] == "enabled"
    assert step("enable") == {"changed": False, "changes": [], "evacuated": False}


def test_anothers_reason_stays(nova: Hypervisors, step: Any) -> None:
    nova.service().update(status="disabled", disabled_reason="broken fan")
    step("drain")
    step("verify")
    assert nova.service()["disabled_reason"] == "broken fan"
    done = step("enable")
    assert not done["changed"]
    assert "broken fan" in done["warnings"][0]
    nova.service()["forced_down"] = True
    done = step("enable")
    assert done["changes"] == [f"have Nova hear {HERE} again"]
    assert done["evacuated"], "Ceph is to let it in again, too"
    service = nova.service()
    assert (service["forced_down"], service["disabled_reason"]) == (False, "broken fan")
    assert "it stays disabled" in done["warnings"][0]


def test_a_name_that_nova_does_not_know(step: Any) -> None:
    with pytest.raises(
        GroundupError, match="nobody is neither hypervisor nor storage host: Nova has no compute service"
    ):
        step("check", name="nobody")
    with pytest.raises(GroundupError, match="no machine is named"):
        step("check", name="")

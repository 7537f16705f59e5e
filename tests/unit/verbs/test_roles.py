"""Drain, undrain and retire by the roles of a machine: what its services have decides, then the site file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import verbs
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import compute_host, connection, drain, retire
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.compute_host import ComputeHost
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.retire import LeavingHypervisor
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs.base import Asked

BOTH = "both-1"


class Site:
    """A site whose Nova and Ceph have what a test gives them; `done` is what they were told, in order."""

    def __init__(self) -> None:
        plan = make_plan(load_site(COLLECTION / "inventories/cloud/site.yml"))
        both = replace(plan.hosts["storage-1"], name=BOTH, roles=("storage", "hypervisor"))
        self.plan: Plan = replace(plan, hosts={**plan.hosts, BOTH: both})
        self.hypervisors = {"hypervisor-1": "", BOTH: ""}  # name -> reason of its disabled service
        self.osds = {"storage-1": 1.0, "storage-2": 1.0, BOTH: 1.0}  # name -> weight
        self.drained: set[str] = set()
        self.silent: set[str] = set()
        self.done: list[str] = []
        self.said: list[str] = []

    def look(self, _: Any, name: str) -> ComputeHost:
        if "nova" in self.silent:
            raise GroundupError("Nova does not answer", where="", why="", remedy="")
        reason = self.hypervisors.get(name)
        status = {"status": "disabled" if reason else "enabled", "disabled_reason": reason}
        service = {"id": name, "host": name, "state": "up", "is_forced_down": False, **status}
        return ComputeHost(
            name=name, service=None if reason is None else service, others=("other",), servers=(), migrations=()
        )

    def put(self, _: Any, name: str, body: dict[str, str]) -> None:
        self.done.append(f"nova {body['status']} {name}")
        self.hypervisors[name] = body.get("disabled_reason", "")

    def ceph(self, name: str) -> Callable[..., dict[str, Any]]:
        def step(which: str, *, check: bool = False, **_: Any) -> dict[str, Any]:
            if "ceph" in self.silent:
                raise GroundupError("no storage host answers", where="", why="", remedy="")
            weight = self.osds.get(name)
            osds = [] if weight is None else [{"number": 7, "weight": weight, "groups": 9 if weight else 0}]
            if which == "member":
                return {
                    "member": {"osds": osds, "monitor": False, "place": bool(osds), "drained": name in self.drained}
                }
            if "full" in self.silent:
                raise GroundupError(f"{which} {name}: others would be near full", where="", why="", remedy="")
            if not check:
                self.done.append(f"ceph {which} {name}")
                self.osds[name] = 0.0 if which == "drain" else 1.0
                self.drained.discard(name)
            return {"changes": [f"osd.7: {which}"]}

        return step

    def run(self, verb: str, step: str, name: str, **asked: Any) -> dict[str, Any]:
        """Do one step of a verb."""
        given = Asked(plan=self.plan, machine=name, ceph=self.ceph(name), say=self.said.append, **asked)
        return verbs.find(verb)(given).run(step)

    def play(self, verb: str, name: str) -> list[str]:
        """Do what the playbook does; return what was done."""
        before = len(self.done)
        for step in ("check", *self.run(verb, "check", name)["steps"], "verify"):
            self.run(verb, step, name)
        return self.done[before:]


class Moves:
    """Nothing is on the hypervisors."""

    def __init__(self, *_: Any) -> None:
        self.stuck, self.done = dict[str, Any](), list[Any]()

    def run(self) -> None:
        """Move nothing."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    found = Site()
    monkeypatch.setattr(connection, "of_site", lambda _: SimpleNamespace(compute=None))
    monkeypatch.setattr(compute_host, "look", found.look)
    monkeypatch.setattr(compute_host, "put", found.put)
    monkeypatch.setattr(compute_host, "unended", lambda *_: [])
    monkeypatch.setattr(drain, "Drain", Moves)

    def leaving(_: Any, name: str, **__: Any) -> LeavingHypervisor:
        host = found.look(None, name)
        return LeavingHypervisor(
            host=host, address="10.0.0.9", provider=None, orphans=(), evacuated=(), claims=(), agents=(), aggregates=()
        )

    monkeypatch.setattr(retire, "survey", leaving)
    monkeypatch.setattr(retire, "remove", lambda _, state, *__, **___: found.hypervisors.pop(state.host.name))
    return found


@pytest.mark.parametrize(
    ("name", "away", "back"),
    [
        ("hypervisor-1", ["nova disabled hypervisor-1"], ["nova enabled hypervisor-1"]),
        ("storage-1", ["ceph drain storage-1"], ["ceph undrain storage-1"]),
        (BOTH, [f"nova disabled {BOTH}", f"ceph drain {BOTH}"], [f"ceph undrain {BOTH}", f"nova enabled {BOTH}"]),
    ],
)
def test_instances_leave_before_data_and_come_back_after_them(
    site: Site, name: str, away: list[str], back: list[str]
) -> None:
    assert site.play("drain", name) == away
    site.drained = {name} & {*site.osds}
    assert site.play("undrain", name) == back


@pytest.mark.parametrize("verb", ["drain", "undrain", "retire"])
@pytest.mark.parametrize(
    ("name", "said", "instead"),
    [
        ("control-1", "its roles are control", "groundup.cloud.remove -e machine=control-1"),
        ("worker-1", "its roles are worker", "groundup.cloud.remove -e machine=worker-1"),
        ("seed-1", "its roles are seed", "make another machine the seed first"),
        ("typo-1", "it left the site file, or is called otherwise", "name a hypervisor or a storage host"),
    ],
)
def test_a_machine_of_neither_role_is_refused_with_what_to_use_instead(
    site: Site, verb: str, name: str, said: str, instead: str
) -> None:
    with pytest.raises(GroundupError, match=f"{name} is neither hypervisor nor storage host: .*{said}") as refused:
        site.run(verb, "check", name)
    assert instead in refused.value.remedy
    if verb != "retire" or name != "typo-1":  # one that left is retired
        with pytest.raises(GroundupError, match="neither hypervisor nor storage host"):
            site.run(verb, "verify", name)
    assert site.done == []


def test_what_ceph_has_against_a_drain_stops_it_before_an_instance_moves(site: Site) -> None:
    site.silent = {"full"}
    with pytest.raises(GroundupError, match="others would be near full"):
        site.run("drain", "check", BOTH)
    assert site.done == []


def test_a_dry_run_names_what_both_roles_lose(site: Site) -> None:
    changes = site.run("drain", "check", BOTH)["changes"]
    assert changes == [f"disable nova-compute of {BOTH}: groundup.cloud.drain", "osd.7: drain"]
    assert site.run("drain", "copy", BOTH, check=True)["changes"] == changes
    assert site.done == []


def test_a_drain_that_was_killed_between_its_roles_goes_on_with_the_data(site: Site) -> None:
    site.run("drain", "drain", BOTH)
    with pytest.raises(GroundupError, match=r"osd\.7 has weight 1 and 9 placement groups"):
        site.run("drain", "verify", BOTH)
    assert site.play("drain", BOTH) == [f"ceph drain {BOTH}"]


@pytest.mark.parametrize("name", ["storage-1", "gone-1"])
def test_data_on_a_machine_are_its_role_whatever_the_site_file_says(site: Site, name: str) -> None:
    hosts = {one: host for one, host in site.plan.hosts.items() if one != name}
    if name == "storage-1":
        hosts[name] = replace(site.plan.hosts[name], roles=("worker",))
    site.plan, site.osds[name] = replace(site.plan, hosts=hosts), 1.0
    assert site.play("drain", name) == [f"ceph drain {name}"]


@pytest.mark.parametrize(
    ("silent", "name", "does"),
    [("nova", "storage-1", ["ceph drain storage-1"]), ("ceph", "hypervisor-1", ["nova disabled hypervisor-1"])],
)
def test_a_service_that_is_not_of_its_roles_may_be_silent(site: Site, silent: str, name: str, does: list[str]) -> None:
    site.silent = {silent}
    assert site.play("drain", name) == does
    assert any("was not asked" in line for line in site.said)


@pytest.mark.parametrize(
    ("silent", "name"),
    [
        ("nova", "hypervisor-1"),
        ("ceph", "storage-1"),
        ("nova", BOTH),
        ("ceph", BOTH),
        ("nova", "typo-1"),
        ("ceph", "typo-1"),
    ],
)
def test_a_service_of_its_roles_or_the_only_one_that_could_know_it_must_answer(
    site: Site, silent: str, name: str
) -> None:
    site.silent = {silent}
    with pytest.raises(GroundupError, match="answer"):
        site.run("drain", "check", name)
    assert site.done == []


@pytest.mark.parametrize("verb", ["drain", "undrain", "retire"])
@pytest.mark.parametrize("silent", ["nova", "ceph"])
def test_of_a_machine_that_left_the_site_file_both_services_must_answer(site: Site, verb: str, silent: str) -> None:
    """It may be of either, and the one that answers does not know of the other's."""
    site.plan = replace(site.plan, hosts={name: host for name, host in site.plan.hosts.items() if name != BOTH})
    site.silent = {silent}
    with pytest.raises(GroundupError, match="answer"):
        site.run(verb, "check", BOTH)
    with pytest.raises(GroundupError, match="answer"):
        site.run(verb, "verify", BOTH)
    assert site.done == []


def test_a_cloud_that_falls_silent_while_a_hypervisor_is_retired_is_not_taken_for_done(site: Site) -> None:
    host = replace(site.plan.hosts[BOTH], roles=("storage",))  # Nova has it, too
    site.plan = replace(site.plan, hosts={**site.plan.hosts, BOTH: host})
    assert site.run("retire", "check", BOTH)["hypervisor"]
    site.silent = {"nova"}
    with pytest.raises(GroundupError, match="Nova does not answer"):
        site.run("retire", "remove", BOTH, seen={"stopped": True, "hypervisor": True})


@pytest.mark.parametrize("verb", ["drain", "undrain", "retire"])
def test_by_the_old_names_of_storage_verbs_no_instance_moves(site: Site, verb: str) -> None:
    for step in ("check", *site.run(verb, "check", BOTH)["steps"]):
        with pytest.raises(GroundupError, match=f"{BOTH} is a hypervisor, too, and storage_{verb} acted on Ceph alone"):
            site.run(verb, step, BOTH, formerly=f"storage_{verb}")
    assert site.done == []
    site.run(verb, "check", "storage-1", formerly=f"storage_{verb}")


def test_an_undrain_is_not_done_while_ceph_keeps_the_host_drained(site: Site) -> None:
    site.drained = {"storage-1"}
    with pytest.raises(GroundupError, match="Ceph keeps it drained"):
        site.run("undrain", "verify", "storage-1")
    site.drained = set()
    site.run("undrain", "verify", "storage-1")


def test_a_retired_machine_that_is_dead_is_retired_again_without_a_look_at_its_disks(site: Site) -> None:
    del site.hypervisors[BOTH], site.osds[BOTH]
    found = site.run("retire", "check", BOTH)
    assert (found["hypervisor"], found["storage"]) == (True, False)


def test_an_orchestrators_storage_host_is_left_to_it_and_its_instances_move(site: Site) -> None:
    assert site.plan.ceph
    site.plan = replace(site.plan, ceph=replace(site.plan.ceph, backend="cephadm"))
    with pytest.raises(GroundupError, match="this site runs no Ceph of its own") as refused:
        site.run("drain", "check", "storage-1")
    assert "ceph orch host drain" in refused.value.remedy
    assert site.play("drain", BOTH) == [f"nova disabled {BOTH}"]


def test_weights_that_somebody_else_took_do_not_keep_a_hypervisor_out_of_service(site: Site) -> None:
    site.osds[BOTH], site.hypervisors[BOTH] = 0.0, compute_host.DRAIN
    assert site.play("undrain", BOTH) == [f"nova enabled {BOTH}"]


def test_a_machine_is_retired_role_for_role_and_verified_by_both_services(site: Site) -> None:
    found = site.run("retire", "check", BOTH, force=["lost"])
    assert (found["hypervisor"], found["storage"], found["address"]) == (True, True, "10.0.0.9")
    site.run("retire", "close", BOTH)
    site.run("retire", "remove", BOTH, seen={"stopped": True})
    assert BOTH not in site.hypervisors
    with pytest.raises(GroundupError, match=r"Ceph has its osd\.7; Ceph has its place in the CRUSH map"):
        site.run("retire", "verify", BOTH)
    again = site.run("retire", "check", BOTH)
    assert (again["hypervisor"], again["storage"]) == (False, True), "killed here, it goes on with Ceph"
    del site.osds[BOTH]
    site.run("retire", "verify", BOTH)


@pytest.mark.parametrize(("name", "parts"), [("hypervisor-1", (True, False)), ("storage-1", (False, True))])
def test_a_machine_of_one_role_is_retired_by_that(site: Site, name: str, parts: tuple[bool, bool]) -> None:
    found = site.run("retire", "check", name)
    assert (found["hypervisor"], found["storage"]) == parts
    site.run("retire", "close", name)
    assert site.done == ([f"nova disabled {name}"] if parts[0] else [])

"""The seed's runner: whom it configures, when it begins anew, what it tells; and what the controller makes of that."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import delegated, seed_runner
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import BusyError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.batch import LeftError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.overview import Overview
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.package import packed
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.runner import refuse_two
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.seed_runner import Order, Service, begins, orders
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import MachineCard, WayStep
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan

CALL: dict[str, Any] = {"called": 5.0, "layers": ["host"], "host_keys": ["ssh-ed25519 AAAA"]}


class Contact:
    """The service that keeps the calls."""

    def __init__(self, **calls: dict[str, Any]) -> None:
        self.known = {name.replace("_", "-"): call for name, call in calls.items()}
        self.silent = False
        self.begun: list[str] = []

    def calls(self) -> dict[str, dict[str, Any]]:
        if self.silent:
            raise BusyError("silent", where="here", why="it starts", remedy="wait")
        return {name: dict(call) for name, call in self.known.items()}

    def call_of(self, name: str) -> dict[str, Any] | None:
        return self.calls().get(name)

    def tell(self, name: str, *, called: float, way: list[dict[str, Any]]) -> None:
        assert called == self.known[name]["called"]
        self.known[name]["way"] = way

    def again(self, name: str) -> None:
        self.begun.append(name)
        self.known[name]["again"] = 7.0


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    text = (COLLECTION / "inventories/lab-metal/site.yml").read_text()
    (tmp_path / "site.yml").write_text(text + "seed: {runner: [host]}\n")
    return tmp_path / "site.yml"


@pytest.fixture
def plan(site: Path) -> Plan:
    return make_plan(load_site(site))


def service(site: Path, contact: Contact) -> tuple[Service, list[str]]:
    said: list[str] = []
    ironic: Any = contact
    found = Service(site_file=site, ironic=ironic, at_once=2, pause=0.01, say=said.append, variables={}, pauses=(0.0,))
    return found, said


def test_a_machine_is_configured_that_was_ordered_and_has_called() -> None:
    expected = {"layers": ["host"]}
    found = orders({"late": {**CALL, "called": 9.0}, "dark": expected, "controller-s": {"called": 1.0}, "early": CALL})
    assert [order.name for order in found] == ["early", "late"]


@pytest.mark.parametrize(
    ("taken", "again", "state", "why"),
    [
        ("", 0, "None", "it called home"),
        ("4.0 0.0", 0, "serving", "it called home"),
        ("5.0 0.0", 0, "configuring", ""),
        ("5.0 0.0", 0, "failed", ""),
        ("5.0 0.0", 7, "failed", "begun again"),
        ("5.0 7.0", 7, "failed", ""),
        ("5.0 0.0", 7, "serving", ""),
    ],
    ids=["new", "installed anew", "goes on", "has failed", "mended", "failed once more", "serves"],
)
def test_a_machine_begins_once_a_call_and_once_more_when_it_is_mended(
    taken: str, again: float, state: str, why: str
) -> None:
    (order,) = orders({"worker-1": {**CALL, "again": again}})
    assert begins(order, taken, state) == why


def test_a_service_that_starts_again_goes_on_with_those_that_neither_serve_nor_failed(site: Path) -> None:
    contact = Contact(worker_1=dict(CALL), found_1=dict(CALL))
    first, _ = service(site, contact)
    assert [order.name for order, _ in first.turn()] == ["worker-1", "found-1"]
    home = site.parent / "lab-metal/metal"
    Journal(file_of(home, "worker-1")).note(WayStep(state="configuring", verb="wait", doing="layer host"))
    Journal(file_of(home, "found-1")).note(WayStep(state="serving", verb="done", doing="verified"))
    second, _ = service(site, contact)
    assert [order.name for order, _ in second.turn()] == ["worker-1"]
    assert [line["state"] for line in contact.known["found-1"]["way"]] == ["installed", "serving"]
    states = [line["state"] for line in Journal(file_of(home, "worker-1")).lines()]
    assert states == ["installed", "configuring"], "it began once"


def test_a_seed_that_was_restored_leaves_machines_alone_that_served(site: Path) -> None:
    serves = [line("installed", 1.0), line("serving", 2.0)]
    contact = Contact(worker_1={**CALL, "way": serves}, found_1={**CALL, "way": [line("installed", 1.0)]})
    one, _ = service(site, contact)
    assert [order.name for order, _ in one.turn()] == ["found-1"]
    assert contact.known["worker-1"]["way"] == [{**one, "card": None} for one in serves]


@pytest.mark.parametrize(("way", "begun"), [([], ["worker-1"]), ([("installed", 1.0), ("serving", 2.0)], [])])
def test_a_machine_whose_journal_was_lost_is_where_the_seed_keeps_it(
    site: Path, way: list[tuple[str, float]], begun: list[str]
) -> None:
    contact = Contact(worker_1={**CALL, **({"way": [line(*one) for one in way]} if way else {})})
    one, _ = service(site, contact)
    one.turn()
    file_of(site.parent / "lab-metal/metal", "worker-1").unlink()
    assert [order.name for order, _ in service(site, contact)[0].turn()] == begun
    assert [one["state"] for one in contact.known["worker-1"]["way"]] == ([one[0] for one in way] or ["installed"])


def test_a_fault_of_the_disk_at_one_machine_is_said_once_and_no_other_waits(site: Path) -> None:
    broken = file_of(site.parent / "lab-metal/metal", "worker-1")
    broken.mkdir(parents=True)
    one, said = service(site, Contact(worker_1=dict(CALL), found_1=dict(CALL)))
    for _ in range(2):
        assert [order.name for order, _ in one.turn()] == ["found-1"]
    assert (len(said), "worker-1: [Errno 21] Is a directory" in said[0]) == (1, True)
    broken.rmdir()
    assert [order.name for order, _ in one.turn()] == ["worker-1", "found-1"]


def test_what_is_told_is_of_this_call_and_bounded(site: Path) -> None:
    contact = Contact(worker_1=dict(CALL))
    one, _ = service(site, contact)
    one.turn()
    journal = Journal(file_of(site.parent / "lab-metal/metal", "worker-1"))
    card = MachineCard(what="x" * 5000, why="", remedy="")
    for number in range(100):
        journal.note(WayStep(state="configuring", verb="wait", doing=f"{number} {'y' * 5000}", card=card))
    one.turn()
    way = contact.known["worker-1"]["way"]
    assert (way[0]["state"], len(way)) == ("installed", seed_runner.MOST + 1)
    assert len(str(way)) < 65536
    contact.known["worker-1"] = {**CALL, "called": 6.0}
    one.turn()
    assert [line["doing"] for line in contact.known["worker-1"]["way"]] == ["it called home"]


def test_a_seed_that_starts_and_a_site_file_with_a_fault_are_said_once_and_waited_for(site: Path) -> None:
    contact = Contact(worker_1=dict(CALL))
    contact.silent = True
    one, said = service(site, contact)
    assert (one.turn(), one.turn(), len(said)) == ([], [], 1)
    contact.silent, good = False, site.read_text()
    site.write_text(good.replace("profile: lab", "profile: none"))
    assert (one.turn(), one.turn(), len(said)) == ([], [], 2)
    site.write_text(good)
    assert [order.name for order, _ in one.turn()] == ["worker-1"]


def test_a_machine_that_the_site_file_lacks_has_a_card_and_no_other_waits_for_it(site: Path, plan: Plan) -> None:
    one, said = service(site, Contact())
    order = Order(name="worker-9", called=5.0, layers=("host",), host_keys=(), again=0, told=())
    one._configure(order, plan, threading.Semaphore())
    last = Journal(file_of(site.parent / "lab-metal/metal", "worker-9")).last
    assert last["state"] == "failed"
    assert "has no such machine" in last["card"]["what"]
    assert said[0].startswith("worker-9: failed")


def test_so_many_runs_at_once_and_none_waits_for_one_that_will_be_tried_again(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, most, go = 0, 0, threading.Event()
    lock = threading.Lock()

    class Runner:
        def __init__(self, **given: Any) -> None:
            self.slots = given["slots"]

        def configure(self, _host: str) -> None:
            nonlocal now, most
            with self.slots:
                with lock:
                    now += 1
                    most = max(most, now)
                go.wait(120)
                with lock:
                    now -= 1

    monkeypatch.setattr(seed_runner, "Runner", Runner)
    plan = make_plan(load_site(site))
    one, _ = service(site, Contact())
    slots = threading.Semaphore(1)
    threads = [
        threading.Thread(target=one._configure, args=(orders({name: CALL})[0], plan, slots))
        for name in ("worker-1", "found-1")
    ]
    for thread in threads:
        thread.start()
    assert not wait_until(lambda: "" if now else "nobody runs", timeout=120, pause=0.01)
    go.set()
    for thread in threads:
        thread.join()
    assert most == 1


def line(state: str, at: float, **more: Any) -> dict[str, Any]:
    return {"state": state, "time": at, "doing": state, "card": None, **more}


def follow(contact: Contact, plan: Plan, *, timeout: float = 120.0, left: bool = False) -> None:
    ironic: Any = contact
    event = threading.Event()
    if left:
        event.set()
    delegated.follow(ironic, plan, "worker-1", lambda _line: None, timeout=timeout, pause=0.01, left=event)


def test_a_machine_that_failed_before_begins_again_once_and_its_next_failure_is_the_run_s(plan: Plan) -> None:
    card = {"what": "no kernel module", "why": "w", "remedy": "r", "asks": ""}
    contact = Contact(worker_1={**CALL, "way": [line("failed", 3.0, card=card)]})

    def later() -> None:
        while not contact.begun:
            time.sleep(0.01)
        contact.known["worker-1"]["way"] = [line("failed", 4.0, card=card)]

    thread = threading.Thread(target=later)
    thread.start()
    with pytest.raises(GroundupError, match="no kernel module"):
        follow(contact, plan)
    thread.join()
    assert contact.begun == ["worker-1"]


def test_a_runner_that_does_nothing_is_a_card_and_one_that_is_not_waited_for_is_pending(plan: Plan) -> None:
    with pytest.raises(GroundupError, match="runner does nothing"):
        follow(Contact(worker_1=dict(CALL)), plan, timeout=0.05)
    assert Journal(home_of(plan.site) / "worker-1.jsonl").last["state"] == "failed"
    with pytest.raises(LeftError):
        follow(Contact(worker_1=dict(CALL)), plan, left=True)


def test_a_machine_that_was_installed_before_the_seed_had_a_runner_is_the_next_layers_(plan: Plan) -> None:
    follow(Contact(worker_1={"called": 5.0, "host_keys": []}), plan)


def test_machines_let_the_runner_in_from_the_seed_alone(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        delegated.login_of(plan)
    (tmp_path / "lab-metal/ssh").mkdir(parents=True)
    (tmp_path / "lab-metal" / delegated.PUBLIC_KEY).write_text("ssh-ed25519 AAAA groundup-runner\n")
    assert delegated.login_of(plan) == ('from="10.77.0.8" ssh-ed25519 AAAA groundup-runner',)
    assert delegated.login_of(make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml"))) == ()


def test_the_controller_does_not_run_layers_where_the_seed_does(plan: Plan) -> None:
    with pytest.raises(GroundupError, match="two would configure each machine"):
        refuse_two(plan, ["host"])
    refuse_two(plan, [])
    refuse_two(make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml")), ["host"])


def test_a_table_says_when_the_seed_was_not_asked(plan: Plan, tmp_path: Path) -> None:
    overview = Overview(plan, tmp_path, refresh=lambda: "silent")
    overview.rows()
    assert overview.lacks == "silent"


def test_the_collection_is_packed_the_same_each_time_and_without_tests(tmp_path: Path) -> None:
    digest, archive = packed()
    assert packed() == (digest, archive)
    made = ("plugins/a.py", "plugins/__pycache__/a.pyc", "roles/r.yml", "playbooks/p.yml", "meta/m.yml")
    for name in (*made, "ansible.cfg", "supply.lock"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert packed(tmp_path)[0] != digest

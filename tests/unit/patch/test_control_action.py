"""A control host's way through its maintenance, as the action does it; killed at any effect, the next run goes on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import removal
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import journal, members
from ansible_collections.groundup.cloud.tests.unit.killing import Killer

from .conftest import ILL, REBOOTS, SAME, UPGRADED, Answer, Cluster, Run

CONTROL = "control-1"
PEERS = [{"item": name, "lacks": ""} for name in ("control-2", "control-3")]
STANDS = {"changed": True, "changes": ["start keepalived.service"]}


@pytest.fixture
def site(run: Run, cluster: Cluster) -> Run:
    """The first control host of a site with OVN would reboot."""
    written = yaml.safe_load(run.site_file.read_text())
    run.site_file.write_text(yaml.safe_dump({**written, "openstack": {"services": ["keystone", "neutron"]}}))
    run.said = {CONTROL: REBOOTS}
    cluster.cordoned |= dict.fromkeys([CONTROL, "control-2", "control-3"], False)
    run.answers |= {f"patch {step}": [STANDS] for step in ("stand_down", "halt", "stand_up")}
    run.answers["patch spare"] = [{"changed": False, "lacking": []}]
    return run


def begin(site: Run, **options: Any) -> dict[str, Any]:
    return site.step("begin", CONTROL, **{"peers": PEERS, **options})


def test_a_control_host_is_begun_when_it_and_all_others_are_well(site: Run, cluster: Cluster) -> None:
    done = begin(site)
    assert (done["emptied"], done["control"], done["fresh"]) == (True, True, True)
    assert cluster.cordoned[CONTROL]
    assert site.steps == ["status host", "patch spare"]
    given = site.asked[-1][1]
    assert given["others"] == {"control-2": "10.96.16.1", "control-3": "10.96.16.2"}
    assert (given["address"], given["virtual"]) == ("10.96.16.0", {"10.96.0.2": 6443})
    assert given["peers"] == ["10.96.16.1", "10.96.16.2"]


LACKS: dict[str, tuple[dict[str, Any], dict[str, Answer], dict[str, str]]] = {
    "control-3: no leader": ({"peers": [PEERS[0], {"item": "control-3", "lacks": "no leader"}]}, {}, {}),
    "control-3: no answer": ({"peers": [PEERS[0], {"item": "control-3", "unreachable": True}]}, {}, {}),
    "control-2: it was not asked; control-3: it was not asked": ({"peers": []}, {}, {}),
    "control-2: its etcd is not healthy": (
        {}, {"patch spare": {"changed": False, "lacking": ["control-2: its etcd is not healthy"]}}, {}
    ),
    "no python": ({}, {"patch spare": {"failed": True, "msg": "no python"}}, {}),
    "MariaDB: 2 of 3": ({}, {}, {"unwell": "MariaDB: 2 of 3"}),
    "MariaDB: without mariadb-server-0": ({}, {}, {"lost": "MariaDB: without mariadb-server-0"}),
}  # fmt: skip


@pytest.mark.parametrize("lacks", LACKS)
def test_who_lacks_what_is_named_before_anything_is_changed(
    site: Run, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    options, answers, pods = LACKS[lacks]
    site.answers |= {key: [one] for key, one in answers.items()}
    for name, said in pods.items():
        monkeypatch.setattr(members, name, lambda *_, said=said: iter([said]))
    with pytest.raises(GroundupError, match=f"the site does not do without {CONTROL} now: {lacks}"):
        begin(site, **options)
    assert (journal.hosts("s"), cluster.said) == ([], [])


def test_what_a_killed_run_left_of_the_host_itself_is_not_what_speaks_against_it_and_the_others_do(
    site: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(site)
    site.answers["status host"] = [ILL]
    monkeypatch.setattr(members, "unwell", lambda *_: iter(["its own member waits for its node"]))
    assert begin(site)["control"]
    site.answers["patch spare"] = [{"lacking": ["control-2: HTTP 500"]}, AnsibleConnectionFailure("no route")]
    with pytest.raises(GroundupError, match="control-2: HTTP 500"):
        begin(site)
    with pytest.raises(GroundupError, match=f"{CONTROL} is unreachable: no route"):
        begin(site)
    assert journal.hosts("s") == [CONTROL]


def test_a_control_host_whose_upgrade_nobody_feels_is_neither_spared_nor_emptied(site: Run, cluster: Cluster) -> None:
    site.said = {CONTROL: {**REBOOTS, "reboot": []}}
    done = begin(site, peers=[])
    assert (done["emptied"], done["control"], site.asked, cluster.said) == (False, False, [], [])


def test_another_control_host_is_asked_for_the_layers_on_it_and_its_silence_is_an_answer(site: Run) -> None:
    assert site.step("peer", CONTROL, host="control-2")["lacks"] == ""
    assert site.asked[-1][1]["wanted"]["network"]["name"] == "control-2"
    site.answers["status host"] = [ILL, AnsibleConnectionFailure("no route")]
    said = [site.step("peer", CONTROL, host="control-2")["lacks"] for _ in range(2)]
    assert said == ["kubernetes: kubelet is down", "unreachable: no route"]


@pytest.mark.parametrize("step", ["stand_down", "halt"])
def test_what_a_host_says_to_a_step_is_the_result_and_a_silent_one_is_lost(site: Run, step: str) -> None:
    site.answers[f"patch {step}"] = [
        STANDS,
        {"failed": True, "msg": "nobody takes it"},
        AnsibleConnectionFailure("gone"),
    ]
    assert [site.step(step, CONTROL) for _ in range(2)] == [STANDS, {"failed": True, "msg": "nobody takes it"}]
    with pytest.raises(GroundupError, match=f"{CONTROL} is unreachable: gone"):
        site.step(step, CONTROL)


def test_a_host_takes_back_what_it_handed_over_before_its_node_and_layers_are_judged(site: Run) -> None:
    begin(site)
    site.asked.clear()
    site.answers["patch boot"] = [{"boot": "a:2"}]
    assert site.step("serve", CONTROL) == {"changed": False}
    assert site.steps == ["patch boot", "patch stand_up", "status host"]
    site.answers["patch stand_up"] = [failed := {"failed": True, "msg": "its etcd is 7 entries behind"}]
    assert site.step("serve", CONTROL) == failed


def test_the_next_host_waits_for_members_in_pods_and_a_run_that_goes_on_evicts_nobody_again(
    site: Run, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(site)
    journal.change("s", CONTROL, upgraded=True)
    monkeypatch.setattr(members, "unwell", lambda *_: iter(["MariaDB: 2 of 3"]))
    with pytest.raises(
        GroundupError, match=f"after the maintenance of {CONTROL} not all members are in: MariaDB: 2 of 3"
    ):
        site.step("end", CONTROL)
    assert not cluster.cordoned[CONTROL], "they come back with their node"
    assert site.step("give_up", CONTROL, failure={"msg": "x"})["aside"][0]["reason"] == "x; it stays in maintenance"
    site.said = {CONTROL: {**SAME, "boot": "a:2"}}
    done = begin(site)
    assert (done["changed"], done["emptied"], done["control"]) == (False, False, False)
    monkeypatch.setattr(members, "unwell", lambda *_: iter([]))
    assert site.step("end", CONTROL)["changed"]
    assert journal.hosts("s") == []


def test_a_host_that_came_back_and_must_reboot_once_more_begins_anew(site: Run, cluster: Cluster) -> None:
    begin(site)
    journal.change("s", CONTROL, upgraded=True, returned=True, boot="former")
    assert begin(site)["fresh"]
    assert cluster.cordoned[CONTROL]
    assert (found := journal.find("s", CONTROL))
    assert (found.boot, found.upgraded, found.returned, found.cordoned) == ("a:1", False, False, True)


def test_a_host_whose_packages_are_as_they_were_takes_back_what_it_handed_over(site: Run, cluster: Cluster) -> None:
    begin(site)
    for answer, said in (
        ({"failed": True, "msg": "its etcd: refused"}, "its etcd: refused"),
        (AnsibleConnectionFailure("no route"), f"{CONTROL} is unreachable: no route"),
    ):
        site.answers["patch stand_up"] = [answer]
        (told,) = site.step("give_up", CONTROL, failure={"msg": "x"})["aside"]
        assert told["reason"] == f"x; {said}; it stays in maintenance", "it is set aside, and what follows goes on"
        assert journal.hosts("s") == [CONTROL], "the next run does it"
    site.answers["patch stand_up"] = [STANDS]
    assert site.step("give_up", CONTROL, failure={"msg": "x"})["aside"][0]["reason"] == "x"
    assert (journal.hosts("s"), cluster.cordoned[CONTROL]) == ([], False)


def test_a_host_whose_packages_may_have_changed_stays_as_it_is(site: Run, cluster: Cluster) -> None:
    begin(site)
    journal.change("s", CONTROL, upgraded=True)
    site.asked.clear()
    site.step("give_up", CONTROL, failure={"msg": "x"})
    assert (site.asked, journal.hosts("s"), cluster.cordoned[CONTROL]) == ([], [CONTROL], True)


class Way:
    """The play of one control host, whose packages and boots are kept between runs."""

    def __init__(self, site: Run, cluster: Cluster, killer: Killer) -> None:
        self.site, self.cluster = site, cluster
        self.boots, self.upgraded, self.out = 1, False, False
        site.answers["patch upgrade"] = [self._upgrade]
        site.answers["patch boot"] = [lambda _: {"boot": self.boot}]
        self.take_out, self.put_back, self.reboot = (
            killer.after(one) for one in (self._take_out, self._put_back, self._reboot)
        )

    @property
    def boot(self) -> str:
        return f"boot{self.boots}:1"

    def run(self) -> None:
        said = SAME if self.upgraded else REBOOTS
        self.site.said, self.cluster.boot = {CONTROL: {**said, "boot": self.boot}}, self.boot.partition(":")[0]
        begun = begin(self.site)
        if begun["control"]:
            self.take_out()
            self.site.step("stand_down", CONTROL)
        if self.site.step("upgrade", CONTROL)["reboot"]:
            if begun["control"]:
                self.site.step("halt", CONTROL)
            self.reboot()
        self.site.step("serve", CONTROL)
        if begun["control"]:
            self.put_back()
        self.site.step("end", CONTROL)

    def _upgrade(self, given: dict[str, Any]) -> dict[str, Any]:
        assert self.out or not given["packages"]
        self.upgraded = True
        return {**UPGRADED, "boot": self.boot}

    def _take_out(self) -> None:
        self.out = True

    def _put_back(self) -> None:
        self.out = False

    def _reboot(self) -> None:
        assert self.upgraded
        self.boots += 1
        self.cluster.boot = self.boot.partition(":")[0]


def test_a_run_that_is_killed_after_any_effect_goes_on_to_the_same_end(
    site: Run, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer, real = Killer(), {name: getattr(journal, name) for name in ("keep", "forget")}
    for name, one in real.items():
        monkeypatch.setattr(journal, name, killer.after(one))
    monkeypatch.setattr(cluster, "request", killer.after(cluster.request))
    execute: Callable[..., Any] = killer.after(site.execute)
    monkeypatch.setattr(ActionBase, "_execute_module", execute)
    monkeypatch.setattr(removal, "_PAUSE", 0.0)
    for effect in count(1):
        way = Way(site, cluster, killer)
        cluster.pods, killer.left = {"web": "ReplicaSet"}, effect
        try:
            way.run()
            break
        except KeyboardInterrupt:
            first = journal.hosts("s")
        killer.left = 0
        if first or not way.upgraded:
            way.run()
        assert (journal.hosts("s"), cluster.cordoned[CONTROL], cluster.pods) == ([], False, {}), effect
        assert (way.boots, way.upgraded, way.out) == (2, True, False), effect
    assert effect > 15

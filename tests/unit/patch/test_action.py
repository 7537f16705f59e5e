"""Each step of a host's maintenance, as the action does it: the host and its cluster answer from here."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils import ceph_action
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import journal
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import run as patch_run
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch.decide import LIGHT

from .conftest import (
    BASH,
    ILL,
    LIGHTLY,
    NAME,
    OTHER,
    REBOOTS,
    SAME,
    SERVES,
    UPGRADED,
    Answer,
    Cluster,
    Run,
)
from .test_report import CONTROL, SEED

STORAGE = "storage-1"


def test_a_host_that_is_not_well_is_not_begun(run: Run, cluster: Cluster) -> None:
    run.answers["status host"] = [ILL]
    with pytest.raises(GroundupError, match=f"{NAME} is not well: kubernetes: kubelet is down"):
        run.step("begin")
    assert (journal.hosts("s"), cluster.said) == ([], [])


@pytest.mark.parametrize("answer", [AnsibleConnectionFailure("no route"), {"failed": True, "msg": "no python"}])
def test_a_host_of_which_nobody_knows_whether_it_is_well_is_not_begun(run: Run, answer: Answer) -> None:
    run.answers["status host"] = [answer]
    with pytest.raises(GroundupError, match=r"is not well: (unreachable: no route|no python)"):
        run.step("begin")
    assert journal.hosts("s") == []


def test_a_host_that_is_felt_is_emptied_and_one_in_maintenance_is_gone_on_with(run: Run, cluster: Cluster) -> None:
    done = run.step("begin")
    assert (done["emptied"], done["fresh"], done["packages"]) == (True, True, ["bash", "libc6"]), "not the one of OVN"
    assert cluster.cordoned[NAME]
    assert (found := journal.find("s", NAME))
    assert (found.reboot, found.upgraded) == (("libc6",), False)
    ((asked, given),) = run.asked
    assert asked == "status host"
    assert {"host", "kubernetes"} <= set(given["wanted"])
    run.answers["status host"] = [ILL]
    assert run.step("begin")["emptied"], "what a killed run left is not what speaks against it"


def test_a_host_that_nobody_would_miss_is_neither_asked_nor_emptied(run: Run, cluster: Cluster) -> None:
    run.said = {NAME: LIGHTLY}
    done = run.step("begin")
    assert (done["emptied"], done["packages"]) == (False, ["bash"])
    assert (run.asked, cluster.said, journal.hosts("s")) == ([], [], [])


def test_of_a_host_that_is_not_emptied_the_packages_that_were_told_and_light_units_alone_change(run: Run) -> None:
    run.said = {NAME: LIGHTLY}
    done = run.step("upgrade")
    assert (done["reboot"], done["warnings"], done["changes"]) == (False, [], ["upgrade bash"])
    ((_, given),) = run.asked
    assert (given["packages"], given["reboot"], given["restart"]) == (["bash"], False, sorted(LIGHT))
    assert {"packages_seed", "ca_certificate"} <= set(given)
    run.step("upgrade", groups=["ovn"])
    assert run.asked[-1][1]["packages"] == ["bash", "ovn-common"]
    assert journal.hosts("s") == []


def test_that_packages_may_have_changed_is_written_down_before_they_do(run: Run) -> None:
    def upgrade(given: dict[str, Any]) -> dict[str, Any]:
        assert (found := journal.find("s", NAME))
        assert found.upgraded
        assert (given["reboot"], given["restart"]) == (True, None), "it reboots, else any unit may restart"
        return UPGRADED

    run.answers["patch upgrade"] = [upgrade]
    run.step("begin")
    assert run.step("upgrade")["reboot"]


def test_a_host_that_has_rebooted_since_it_was_begun_does_not_do_so_again(run: Run) -> None:
    run.answers["patch upgrade"] = [{**UPGRADED, "boot": "bbbb:1"}]
    run.step("begin")
    assert not run.step("upgrade")["reboot"]


def test_an_emptied_host_reboots_for_a_reason_that_nobody_foretold(run: Run) -> None:
    run.said = {NAME: {**SAME, "changes": [BASH], "restarts": {"kubelet.service": ["bash"]}}}
    run.answers["patch upgrade"] = [{**UPGRADED, "reboot_waiting": ["a kernel waits"]}]
    run.step("begin")
    assert run.step("upgrade")["reboot"]
    assert (found := journal.find("s", NAME))
    assert found.reboot == ("a kernel waits",)


def test_a_host_of_the_lab_or_that_was_not_emptied_never_reboots_and_says_what_waits(run: Run) -> None:
    run.answers["patch upgrade"] = [{**UPGRADED, "reboot_waiting": ["a kernel waits"], "waiting": ["sessions"]}]
    run.said = {NAME: LIGHTLY}
    done = run.step("upgrade")
    assert (done["reboot"], len(done["warnings"])) == (False, 1)
    assert "sessions, a kernel waits" in done["warnings"][0]

    data = yaml.safe_load(run.site_file.read_text())
    data["machines"]["worker"]["provisioner"] = "container"
    run.site_file.write_text(yaml.safe_dump(data))
    run.said = {NAME: {**SAME, "changes": [BASH], "restarts": {"kubelet.service": ["bash"]}}}
    run.step("begin")
    done = run.step("upgrade")
    assert (done["reboot"], len(done["warnings"])) == (False, 1)
    assert run.step("serve") == {"changed": False}, "nothing waits for a reboot that nobody does"


def test_a_host_that_is_lost_or_refuses_in_its_upgrade_is_one_whose_packages_may_have_changed(run: Run) -> None:
    run.step("begin")
    run.answers["patch upgrade"] = [AnsibleConnectionFailure("no\n route"), {"failed": True, "msg": "more than told"}]
    with pytest.raises(GroundupError, match=f"{NAME} is unreachable: no route") as error:
        run.step("upgrade")
    assert error.value.why.startswith("it is in maintenance")
    assert run.step("upgrade") == {"failed": True, "msg": "more than told"}
    done = run.step("give_up", failure={"msg": "no route"})
    assert done["aside"][0]["reason"] == "no route; it stays in maintenance"
    assert journal.hosts("s") == [NAME]


def test_the_next_host_waits_until_this_one_answers_from_its_boot_and_every_layer_on_it_serves(
    run: Run, cluster: Cluster
) -> None:
    run.step("begin")
    run.asked.clear()
    cluster.boot = "bbbb"
    run.answers["patch boot"] = [AnsibleConnectionFailure("refused"), {"boot": "bbbb:1"}]
    run.answers["status host"] = [ILL, SERVES]
    assert run.step("serve", timeout=5) == {"changed": False}
    assert run.steps == ["patch boot", "patch boot", "status host", "status host"]
    assert journal.hosts("s") == [NAME], "until `end` it is in maintenance"
    assert run.step("end")["changed"]
    assert (journal.hosts("s"), cluster.cordoned[NAME]) == ([], False)


@pytest.mark.parametrize(
    ("boot", "status", "why"),
    [
        (AnsibleConnectionFailure("no route"), SERVES, "is unreachable: unreachable: no route"),
        ({"boot": "a:1"}, SERVES, "did not reboot"),
        ({"boot": "a:2"}, ILL, "is not well after its upgrade: kubernetes: kubelet is down"),
    ],
)
def test_a_host_that_does_not_serve_stays_in_maintenance(run: Run, boot: Answer, status: Answer, why: str) -> None:
    run.step("begin")
    journal.change("s", NAME, upgraded=True)
    run.answers |= {"patch boot": [boot], "status host": [status]}
    with pytest.raises(GroundupError, match=f"{NAME} {why}"):
        run.step("serve")
    assert journal.hosts("s") == [NAME]


def test_a_host_that_was_not_emptied_serves_when_it_answers(run: Run) -> None:
    assert run.step("serve") == {"changed": False}
    assert run.steps == ["patch boot"]


def test_a_batch_has_no_room_beside_a_host_that_was_silent(run: Run) -> None:
    run.said = {NAME: REBOOTS, OTHER: {"fault": "unreachable: no route"}, CONTROL: SAME}
    assert run.step("room", hosts=[CONTROL]) == {"changed": False}
    with pytest.raises(GroundupError, match=f"{NAME} would be too many: in maintenance or silent already are {OTHER}"):
        run.step("room", hosts=[NAME])


def test_the_report_hands_the_order_on_when_hosts_are_patched_then_and_a_check_hands_on_none(run: Run) -> None:
    run.said = {NAME: REBOOTS, OTHER: {"fault": "unreachable: no route"}}
    done = run.step("report")
    assert (done["order"], done["changed"]) == ([[NAME]], False)
    assert done["patch"]["order"] == done["order"]
    assert "unreachable" not in done, "the others are patched all the same; `close` says it at the end"
    checked = run.step("report", apply=False)
    assert (checked["order"], checked["unreachable"]) == ([], True)
    assert run.shown[0].startswith("host ")
    assert run.shown[0] == run.shown[1]


def test_the_end_lets_other_runs_of_the_kubernetes_layer_go_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[str] = []
    monkeypatch.setattr(run_lease, "release", lambda api: released.append(str(api)))
    run.said = {NAME: SAME}
    run.step("close")
    assert released == [], "a site without a cluster has no lease"
    path = kubeconfig_path("s")
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    monkeypatch.setattr(patch_run, "Api", lambda path, **_: path)
    run.said = {NAME: SAME, SEED: REBOOTS}
    with pytest.raises(GroundupError, match="left out"):
        run.step("close")
    assert released == [str(path)]


def test_the_end_names_hosts_that_were_left_out_and_is_unknown_for_silent_ones(run: Run) -> None:
    run.said = {NAME: SAME}
    assert "unreachable" not in run.step("close")
    run.said = {NAME: SAME, OTHER: {"fault": "unreachable: no route"}}
    done = run.step("close")
    assert (done["unreachable"], OTHER in done["msg"]) == (True, True)
    run.said = {NAME: SAME, SEED: REBOOTS}
    with pytest.raises(GroundupError, match=f"1 hosts were left out: {SEED}"):
        run.step("close")


@pytest.mark.parametrize("step", ["rest", "rise"])
def test_a_storage_host_is_asked_about_the_data_of_the_one_in_maintenance(run: Run, step: str) -> None:
    run.answers[f"ceph {step}"] = [{"changed": True, "changes": ["noout"]}]
    assert run.step(step, STORAGE)["changes"] == ["noout"]
    ((_, given),) = run.asked
    assert (given["name"], given["timeout"], given["keys"]) == (STORAGE, 0.05, {ceph_action.ADMIN: "key"})
    assert given["ceph"]["backend"] == "native"


def test_why_data_cannot_rest_is_told_as_the_storage_host_says_it(run: Run) -> None:
    told = str(GroundupError("storage-1 cannot rest", where="ceph", why="clients wait", remedy="more copies"))
    run.answers["ceph rest"] = [
        {"failed": True, "msg": told}, {"failed": True, "module_stderr": "Traceback\nKeyError: x"},
        AnsibleConnectionFailure("no route"),
    ]  # fmt: skip
    with pytest.raises(GroundupError, match="storage-1 cannot rest") as error:
        run.step("rest", STORAGE)
    assert str(error.value) == told
    with pytest.raises(GroundupError, match="module ceph failed: KeyError: x"):
        run.step("rest", STORAGE)
    with pytest.raises(GroundupError, match="no storage host answers: no route"):
        run.step("rest", STORAGE)


@pytest.mark.parametrize("resting", [False, True])
def test_what_a_killed_run_took_from_a_host_is_not_forgotten_when_this_one_cannot_go_on(
    run: Run, cluster: Cluster, *, resting: bool
) -> None:
    """Nova would keep its nova-compute disabled, and nobody would know why."""
    run.step("begin")
    journal.change("s", NAME, disabled=True)
    cluster.pods, cluster.budget = {"web": "ReplicaSet"}, True
    with pytest.raises(GroundupError, match="disruption budget"):
        run.step("begin")
    (told,) = run.step("give_up", failure={"msg": "a budget"}, resting=resting)["aside"]
    assert told["reason"].startswith("a budget")
    assert ("stays in maintenance" in told["reason"], journal.hosts("s")) == (resting, [NAME] if resting else [])


def test_a_host_that_only_its_node_was_taken_from_serves_again(run: Run, cluster: Cluster) -> None:
    run.step("begin")
    assert run.step("give_up", failure={"msg": "x"}, resting=True)["aside"][0]["reason"] == "x"
    assert (journal.hosts("s"), cluster.cordoned[NAME]) == ([], False)


def busy(_site: str) -> list[str]:
    raise GroundupError("another run of the Kubernetes layer is under way", where="Lease", why="y", remedy="r")


@pytest.mark.parametrize("step", ["room", "begin", "upgrade", "serve", "end", "give_up"])
def test_a_second_run_neither_begins_with_a_host_nor_undoes_what_the_first_does_to_it(
    run: Run, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Also to hosts that are no nodes: whose API is asked for nothing else."""
    run.step("begin")
    run.asked.clear()
    monkeypatch.setattr(run_lease, "of_site", busy)
    with pytest.raises(GroundupError, match="another run"):
        run.step(step, hosts=[NAME])
    assert (run.asked, journal.hosts("s"), cluster.cordoned[NAME]) == ([], [NAME], True)


def test_other_runs_are_kept_away_while_a_step_lasts(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, seen = count(), [0]
    monkeypatch.setattr(run_lease, "of_site", lambda _: seen.append(next(asked)))
    monkeypatch.setattr(run_lease, "RENEWED", timedelta(milliseconds=1))

    def upgrade(_: dict[str, Any]) -> dict[str, Any]:
        assert not wait_until(lambda: seen[-1] < 9, timeout=20, pause=0.01)
        return UPGRADED

    run.answers["patch upgrade"] = [upgrade]
    run.step("upgrade")

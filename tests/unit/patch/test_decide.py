"""What is done to a host, and which hosts are left out by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import decide, report
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch.decide import HostWork

from .conftest import NOTHING, PLAN, SAME, change, site
from .test_report import CONTROL, OTHER, SEED

C2, C3 = "control-2", "control-3"
BASH, LIBC = change("bash"), change("libc6")
REBOOTS = {**SAME, "changes": [LIBC], "reboot": ["libc6"]}
RESTARTS = {**SAME, "changes": [BASH], "restarts": {"kubelet.service": ["bash"]}}


def work(host: str, said: dict[str, Any], *groups: str, plan: Any = PLAN) -> HostWork:
    return decide.work(plan, plan.hosts[host], said, groups=groups)


@pytest.mark.parametrize(
    ("said", "emptied"),
    [
        ({**SAME, "changes": [BASH]}, False),
        ({**SAME, "changes": [BASH], "restarts": {"ssh.service": ["bash"]}}, False),
        (RESTARTS, True),
        (REBOOTS, True),
        ({**SAME, "waiting": ["ovs-vswitchd.service"]}, True),
        ({**SAME, "reboot_waiting": ["/run/reboot-required says so"]}, True),
        ({**SAME, "changes": [change("qemu-x", "guests")], "guests": 1}, False),
    ],
)
def test_a_host_is_emptied_when_its_users_would_feel_it(said: dict[str, Any], emptied: bool) -> None:
    assert (found := work(OTHER, said)).emptied is emptied
    assert not found.refused


def test_a_host_without_anything_to_do_is_not_concerned_and_one_of_the_former_snapshot_is() -> None:
    assert not work(OTHER, SAME).concerned
    assert work(OTHER, NOTHING).concerned, "it is to install from the snapshot that the site runs"
    assert not work(OTHER, NOTHING).emptied


def test_packages_of_steps_of_their_own_are_upgraded_when_they_are_asked_for() -> None:
    said = {
        **SAME, "changes": [BASH, change("containerd", "containers"), change("ovn-common", "ovn")],
        "restarts": {"containerd.service": ["containerd"]},
    }  # fmt: skip
    assert work(OTHER, said) == HostWork(packages=("bash",)), "what is not asked for restarts nothing"
    asked = work(OTHER, said, "containers")
    assert (asked.packages, asked.heavy) == (("bash", "containerd"), ("containerd.service",))
    assert work(OTHER, {**SAME, "changes": [change("ovn-common", "ovn")]}) == HostWork()


def test_qemu_is_not_upgraded_under_guests() -> None:
    said = {**SAME, "changes": [change("qemu-system-x86", "guests")], "guests": 2}
    assert work(OTHER, said, "guests").emptied
    assert not work(OTHER, {**said, "guests": 0}, "guests").emptied


def test_a_step_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    decide.check_groups(["ovn", "containers"])
    with pytest.raises(GroundupError, match="no packages have a step conatiners") as error:
        decide.check_groups(["conatiners"])
    assert "openvswitch" in error.value.remedy


@pytest.mark.parametrize("said", [REBOOTS, RESTARTS])
def test_the_seed_is_left_out_when_it_would_be_emptied(said: dict[str, Any]) -> None:
    assert "every host fetches" in work(SEED, said).refused
    assert not work(SEED, {**SAME, "changes": [BASH]}).refused
    assert decide.names({"a": work(SEED, said), "b": work(OTHER, said), "c": HostWork()}) == ["b"]


@pytest.mark.parametrize("said", [REBOOTS, RESTARTS])
@pytest.mark.parametrize(
    ("count", "why"),
    [
        (1, "it is the only control host: nobody answers the Kubernetes API until it is back and for about 45 s more"),
        (2, "etcd has no quorum without it"),
        (3, ""),
    ],
)
def test_a_control_host_is_emptied_where_two_others_go_on_without_it(
    count: int, why: str, said: dict[str, Any]
) -> None:
    plan = replace(PLAN, hosts={name: one for name, one in PLAN.hosts.items() if name not in (C2, C3)[count - 1 :]})
    found = work(CONTROL, said, plan=plan)
    assert (found.emptied, bool(found.refused)) == (not why, bool(why))
    assert why in found.refused
    assert not work(CONTROL, {**SAME, "changes": [BASH]}, plan=plan).refused


def test_what_apt_would_remove_is_left_to_a_person() -> None:
    assert "apt would remove docker.io" in work(OTHER, {**REBOOTS, "removed": ["docker.io"]}).refused


def test_a_host_of_the_lab_is_not_rebooted() -> None:
    plan = site(seed={"count": 1}, control={"count": 1}, worker={"count": 1})
    (name,) = (name for name, host in plan.hosts.items() if host.group == "worker")
    object.__setattr__(plan.hosts[name], "provisioner", "container")
    assert "nothing starts a host of the lab again" in work(name, REBOOTS, plan=plan).refused
    assert not work(name, RESTARTS, plan=plan).refused


def test_the_document_has_the_order_and_names_who_is_left_out_and_who_is_in_maintenance() -> None:
    found = report.document(
        PLAN, {CONTROL: {**REBOOTS, "holds": ["10.96.0.2"]}, C2: REBOOTS, OTHER: SAME, SEED: REBOOTS}, snapshots={},
        time="now", resting=[OTHER],
    )  # fmt: skip
    assert found["order"] == [[OTHER], [C2], [CONTROL]], "a killed run's host is gone on with; the address moves once"
    assert [*found["left_out"]] == [SEED]
    table = report.table(found)
    assert f"1. {OTHER} (emptied first)" in table
    assert f"3. {CONTROL} (emptied first)\n" in table
    assert f"{SEED}: it would reboot (libc6)" in table
    assert f"in maintenance by a run that did not end it: {OTHER}" in table

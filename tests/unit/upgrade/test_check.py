"""What the check of an upgrade sees in a cluster, what it refuses, and what may be accepted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.consent import Reason
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import decide
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.decide import (
    ROOM,
    batches,
    judge,
    leader_last,
    reasons,
    table,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.nodes import CORDONED, OURS
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.steps import UpgradeStep, Version
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.survey import FoundCluster, deprecated

from .cluster import CONTROL, METRICS, NODES, SAID, WORKERS, Cluster, found_in, plan_of


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of()


def against(plan: Plan, found: FoundCluster, said: dict[str, Any] = SAID) -> list[Reason]:
    return list(reasons(plan, found, judge(plan, found), said))


def test_a_whole_cluster_may_be_upgraded_and_every_part_is_in_the_table(plan: Plan) -> None:
    found = found_in(Cluster())
    judged = judge(plan, found)
    assert against(plan, found) == []
    assert judged.drains
    assert judged.hosts("control") == list(CONTROL)
    assert table(found, judged) == [
        "host       API server  etcd      kubelet  containerd",
        *(f"{name}  1.36.3      3.6.16-0  1.36.3   1.7.24" for name in CONTROL),
        *(f"{name}   -           -         1.36.3   1.7.24" for name in WORKERS),
        "kube-proxy 1.36.3, CoreDNS 1.14.2; 1.36.3 -> 1.37.2",
        *(
            f"{number}. API server, controller manager and scheduler of {name}"
            for number, name in enumerate(CONTROL, 1)
        ),
        "4. kubeadm's configuration, kube-proxy and CoreDNS",
        *(f"{number}. kubelet of {name}" for number, name in enumerate(NODES, 5)),
    ]


def test_etcds_leader_is_the_last_control_host_unless_a_former_run_was_at_it(plan: Plan) -> None:
    said = SAID | {"control-1": SAID["control-1"] | {"leads": True}}
    steps = [str(step) for step in leader_last(judge(plan, found_in(Cluster())), said).steps]
    ours = ["control-2", "control-3", "control-1"]
    assert steps[:3] == [f"API server, controller manager and scheduler of {name}" for name in ours]
    assert steps[4:] == [f"kubelet of {name}" for name in [*ours, *WORKERS]]
    begun = judge(plan, found_in(Cluster()), (UpgradeStep(kind="kubelet", host="control-1"),))
    assert leader_last(begun, said).hosts("kubelet")[:3] == list(CONTROL)


def test_a_patch_drains_nothing() -> None:
    plan = plan_of(version="1.36.3")
    found = found_in(Cluster(kubelet="v1.36.1"))
    assert not judge(plan, found).drains
    assert [str(step) for step in judge(plan, found).steps] == [f"kubelet of {name}" for name in NODES]


def test_kubelets_of_the_former_minor_are_drained_also_when_every_api_server_is_new(plan: Plan) -> None:
    found = found_in(Cluster())
    new = Version(1, 37, 2)
    managers = dict.fromkeys(CONTROL, frozenset([new]))
    moved = replace(
        found.versions, servers=dict.fromkeys(CONTROL, new), managers=managers, proxy=new, dns=Version(1, 14, 6)
    )
    judged = judge(plan, replace(found, versions=moved))
    assert {step.kind for step in judged.steps} == {"kubelet"}
    assert judged.drains


def test_control_hosts_change_alone_and_workers_within_the_limit_of_their_group(plan: Plan) -> None:
    assert batches(plan, NODES)[:3] == [[name] for name in CONTROL]
    wide = replace(plan, max_unavailable={**plan.max_unavailable, "worker": 2})
    assert batches(wide, NODES)[3:] == [list(WORKERS)]
    assert batches(plan, WORKERS) == [[name] for name in WORKERS]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"control-2": {"unreachable": True, "msg": "no route"}}, "control-2 does not answer: no route"),
        ({"worker-1": {}}, "worker-1 does not answer: it was not asked"),
        (
            {"control-1": {"room": ROOM, "etcd": {"control-3": False}}},
            "control-1 says that etcd of control-3 is not healthy",
        ),
        ({"control-2": {"room": ROOM, "etcd": {}}}, "no etcd is known of control-2"),
        (
            {"control-3": {"room": ROOM, "etcd": {"control-2": True, "control-3": True}}},
            "etcd of control-3 has the members control-2, control-3; control hosts are control-1, control-2, control-3",
        ),
        ({"worker-1": {"room": 300 << 20, "etcd": {}}}, "worker-1 has 300 MiB free for images, and needs 2048"),
    ],
)
def test_a_host_that_is_silent_sick_or_full_cannot_be_accepted(plan: Plan, said: dict[str, Any], text: str) -> None:
    assert against(plan, found_in(Cluster()), SAID | said) == [Reason(text=text)]


def test_a_node_that_is_not_ready_missing_or_nobodys_cannot_be_accepted(plan: Plan) -> None:
    cluster = Cluster()
    cluster.away = {"worker-2"}
    cluster.nodes = (*CONTROL, "worker-2", "stranger")
    texts = [one.text for one in against(plan, found_in(cluster)) if one.code is None]
    assert texts == [
        "worker-1 are no nodes of the cluster, and the layer kubernetes makes them such",
        "stranger are nodes and not in the site file: nothing upgrades them",
        "worker-2 are not Ready",
    ]


def test_a_version_outside_the_matrix_is_refused() -> None:
    texts = [one.text for one in against(plan_of(version="1.37.0"), found_in(Cluster()))]
    assert texts == ["1.37.0 is not in the version matrix: 1.36.3, 1.37.2 are"]


def test_one_control_host_needs_consent_to_the_seconds_without_an_api() -> None:
    cluster = Cluster(control=("control-1",))
    found = found_in(cluster)
    codes = {
        one.code: one.text for one in reasons(plan_of("lab"), found, judge(plan_of("lab"), found), SAID) if one.code
    }
    assert "45 s without the Kubernetes API" in codes[decide.API_DOWN]


def test_apis_that_the_target_does_not_have_are_named_and_later_ones_are_not(plan: Plan) -> None:
    assert [one.name for one in deprecated(METRICS)] == ["later/v1alpha1 things", "policy/v1beta1 podsecurity"]
    (reason,) = against(plan, found_in(Cluster(metrics=METRICS)))
    assert reason.code == decide.DEPRECATED
    assert reason.text.endswith("does not have: policy/v1beta1 podsecurity (gone in 1.37)")


def test_budgets_that_block_and_pods_without_a_controller_need_consent(plan: Plan) -> None:
    cluster = Cluster()
    cluster.budgets = [
        {"metadata": {"namespace": "openstack", "name": name}, "status": status}
        for name, status in (
            ("mariadb", {"expectedPods": 1, "disruptionsAllowed": 0}),
            ("gone", {"expectedPods": 0, "disruptionsAllowed": 0}),
            ("free", {"expectedPods": 3, "disruptionsAllowed": 1}),
        )
    ]
    cluster.bare = True
    found = {one.code: one.text for one in against(plan, found_in(cluster))}
    assert found[decide.UNDRAINED] == "these PodDisruptionBudgets allow no eviction now: openstack/mariadb"
    assert "kube-system/web-worker-1" in found[decide.BARE]


def test_a_node_that_a_former_run_has_cordoned_does_not_stop_the_run_that_lets_it_in(plan: Plan) -> None:
    """Its own database waits for it, and its budget allows nothing; and no other worker takes pods meanwhile."""
    cluster = Cluster()
    status = {"expectedPods": 1, "disruptionsAllowed": 0}
    cluster.budgets = [{"metadata": {"namespace": "openstack", "name": "mariadb"}, "status": status}]
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    held: dict[str, Any] = {"unschedulable": True, "taints": [cordon]}
    cluster.patched = {name: {"annotations": {}, "spec": held} for name in (*CONTROL, "worker-1")}
    resumed = (UpgradeStep(kind="kubelet", host="worker-1"),)

    def codes() -> list[str | None]:
        found = found_in(cluster)
        return [one.code for one in reasons(plan, found, judge(plan, found, resumed), SAID)]

    assert codes() == [decide.UNDRAINED], "somebody else's cordon stays"
    cluster.patched["worker-1"] = {"annotations": {CORDONED: OURS}, "spec": held}
    assert codes() == []
    taints = [cordon, {"key": "site", "effect": "NoSchedule"}]
    cluster.patched["worker-1"] = {"annotations": {CORDONED: OURS}, "spec": {**held, "taints": taints}}
    assert codes() == [decide.UNDRAINED], "its own taint stays"


def test_hosts_that_change_together_do_not_take_each_others_pods(plan: Plan) -> None:
    cluster = Cluster()
    cluster.patched = {name: {"annotations": {}, "spec": {"unschedulable": True}} for name in CONTROL}
    assert against(plan, found_in(cluster)) == []
    wide = replace(plan, max_unavailable={**plan.max_unavailable, "worker": 2})
    (reason,) = against(wide, found_in(cluster))
    assert reason == Reason(code=decide.UNDRAINED, text="no other node takes the pods of worker-1, worker-2")


def test_a_control_plane_that_is_not_whole_cannot_be_accepted_and_is_in_the_table(plan: Plan) -> None:
    cluster = Cluster()
    cluster.not_ready = {"etcd-control-3", "kube-scheduler-control-1"}
    cluster.half = {"kube-scheduler-control-2": "v1.37.2", "kube-controller-manager-control-2": "none"}
    found = found_in(cluster)
    assert [one.text for one in against(plan, found) if one.code is None] == [
        "pod etcd-control-3 is not Ready", "pod kube-scheduler-control-1 is not Ready",
        "no kube-controller-manager is known of control-2",
    ]  # fmt: skip
    assert table(found, judge(plan, found))[2].endswith("1.7.24      control plane 1.36.3, 1.37.2")
    back = plan_of(version="1.36.3")
    assert "control-2 run a newer version than 1.36.3: a cluster never goes back" in [
        one.text for one in against(back, found)
    ]


def test_the_version_of_a_plan_is_the_target(plan: Plan) -> None:
    assert judge(plan, found_in(Cluster())).target == Version(1, 37, 2)

"""The order of an upgrade: no plan leads through a state that Kubernetes does not support."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade.steps import (
    ClusterVersions,
    Version,
    after,
    refusals,
    skew,
)
from hypothesis import given
from hypothesis import strategies as st

OLD, NEW = Version(1, 36, 3), Version(1, 37, 2)
# Often two of a real upgrade: of clusters by chance alone, nearly all are refused.
VERSIONS = st.sampled_from(
    [OLD] * 90 + [NEW] * 10 + [Version(1, minor, patch) for minor in range(34, 40) for patch in range(4)]
)
CONTROL, WORKERS = ("control-1", "control-2", "control-3"), ("worker-1", "worker-2")
CLUSTER = ClusterVersions(
    servers=dict.fromkeys(CONTROL, OLD), kubelets=dict.fromkeys((*CONTROL, *WORKERS), OLD), proxy=OLD,
    runtimes=dict.fromkeys((*CONTROL, *WORKERS), Version(1, 7, 24)),
)  # fmt: skip


def clusters() -> st.SearchStrategy[ClusterVersions]:
    """Any cluster, also those that no run of ours leaves."""
    return st.builds(
        ClusterVersions,
        servers=st.fixed_dictionaries(dict.fromkeys(CONTROL, VERSIONS)),
        kubelets=st.fixed_dictionaries(dict.fromkeys((*CONTROL, *WORKERS), VERSIONS)),
        managers=VERSIONS.map(lambda one: {"control-2": frozenset([one])}),
        proxy=st.none() | VERSIONS,
        dns=st.none() | VERSIONS,
        runtimes=st.fixed_dictionaries(
            dict.fromkeys(
                WORKERS, st.builds(Version, st.integers(1, 2), VERSIONS.map(lambda one: one.patch), st.just(0))
            )
        ),
    )


@given(found=clusters(), target=VERSIONS)
def test_no_plan_that_is_not_refused_ever_breaks_a_rule(found: ClusterVersions, target: Version) -> None:
    if list(refusals(found, target)):
        return
    assert abs(target.minors_after(found.lowest)) <= 1
    at = found
    for step in steps.steps(found, target):
        at = after(at, step, target)
        servers = at.servers.values()
        parts = [*at.kubelets.values(), *([at.proxy] if at.proxy else [])]
        assert all(one.minor <= server.minor <= one.minor + 3 for one in parts for server in servers)
        assert max(servers).minor - min(servers).minor <= 1
    assert {*at.servers.values(), *at.kubelets.values(), *(one for each in at.managers.values() for one in each)} == {
        target
    }
    assert at.proxy in (None, target)
    assert steps.steps(at, target) == []


@given(done=st.integers(0, 9))
def test_a_run_that_is_killed_after_any_step_goes_on_with_the_next_one(done: int) -> None:
    whole, at = steps.steps(CLUSTER, NEW), CLUSTER
    for step in whole[:done]:
        at = after(at, step, NEW)
    assert list(refusals(at, NEW)) == []
    assert steps.steps(at, NEW) == whole[done:]


def test_control_hosts_come_first_then_the_add_ons_then_kubelets_of_control_hosts_then_others() -> None:
    found = steps.steps(CLUSTER, NEW)
    assert [step.kind for step in found] == ["control"] * 3 + ["add-ons"] + ["kubelet"] * 5
    assert [step.host for step in found[4:]] == [*CONTROL, *WORKERS]


def test_a_cluster_never_goes_back() -> None:
    mixed = replace(CLUSTER, servers={**CLUSTER.servers, "control-1": NEW})
    assert "never goes back" in next(refusals(mixed, OLD))


def test_two_minors_at_once_are_refused() -> None:
    assert "one minor at a time" in next(refusals(CLUSTER, Version(1, 38, 0)))


def test_a_kubelet_newer_than_an_api_server_is_named() -> None:
    assert list(skew(replace(CLUSTER, kubelets={**CLUSTER.kubelets, "worker-2": NEW}))) == [
        "the kubelet of worker-2 is 1.37.2, newer than an API server (1.36.3)"
    ]


def test_containerd_1_7_does_not_run_a_kubelet_of_1_38_and_runs_one_of_1_37() -> None:
    at = ClusterVersions(
        servers=dict.fromkeys(CONTROL, NEW), kubelets=dict.fromkeys(CONTROL, NEW), proxy=NEW,
        runtimes={"control-1": Version(1, 7, 24), "control-2": Version(2, 1, 9)},
    )  # fmt: skip
    assert list(refusals(at, Version(1, 38, 0))) == ["containerd of control-1 is 1.7.24: a kubelet 1.38.0 needs 2.0"]
    assert list(refusals(CLUSTER, NEW)) == []


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.36.3", OLD),
        ("v1.37.2+site.1", NEW),
        ("containerd://1.7.24", Version(1, 7, 24)),
        ("none", None),
    ],
)
def test_versions_are_read_from_what_nodes_and_tags_say(text: str, version: Version | None) -> None:
    assert Version.of(text) == version

"""The order of releases: D1, D3."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.graph.limits import Limits, claims
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.graph.order import Graph
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutError


def release(name: str, *needs: str) -> ReleasePlan:
    return ReleasePlan(
        name=name, chart=name, version="2026.1.0", namespace="openstack", needs=needs, verify="workloads", values={}
    )


CLOUD = (
    release("horizon", "keystone"),
    release("nova", "keystone", "placement"),
    release("placement", "keystone"),
    release("keystone", "mariadb", "rabbitmq", "memcached"),
    release("mariadb"),
    release("rabbitmq"),
    release("memcached"),
)


def test_a_release_is_ready_as_soon_as_its_own_needs_are_and_not_before() -> None:
    graph = Graph(CLOUD)
    assert set(graph.ready()) == {"mariadb", "rabbitmq", "memcached"}
    graph.done("mariadb")
    graph.done("rabbitmq")
    assert graph.ready() == []
    graph.done("memcached")
    assert graph.ready() == ["keystone"]


def test_no_release_waits_for_a_slow_one_it_does_not_need() -> None:
    graph = Graph([release("slow"), release("quick"), release("after-quick", "quick")])
    graph.ready()
    graph.done("quick")
    assert graph.ready() == ["after-quick"]


def test_the_longest_path_goes_first() -> None:
    graph = Graph(CLOUD)
    for name in ("mariadb", "rabbitmq", "memcached"):
        graph.ready()
        graph.done(name)
    graph.ready()
    graph.done("keystone")
    assert graph.ready() == ["placement", "horizon"]  # nova waits behind placement


def test_measured_seconds_decide_what_is_long() -> None:
    graph = Graph([release("a"), release("b")], seconds={"b": 40.0, "a": 3.0})
    assert graph.ready() == ["b", "a"]


def test_horizon_is_never_first() -> None:
    assert "horizon" not in Graph(CLOUD).ready()


def test_a_failure_takes_down_what_needs_it_and_nothing_else() -> None:
    graph = Graph(CLOUD)
    graph.ready()
    assert graph.lost("placement") == ("nova",)
    assert graph.lost("keystone") == ("horizon", "placement")


def test_what_a_release_stands_on_is_listed_nearest_first() -> None:
    assert Graph(CLOUD).needs("nova")[:2] == ("keystone", "placement")
    assert set(Graph(CLOUD).needs("nova")) == {"keystone", "placement", "mariadb", "rabbitmq", "memcached"}


def test_a_circle_is_refused_with_its_members() -> None:
    with pytest.raises(RolloutError, match=r"circle: .*a.*b|circle: .*b.*a"):
        Graph([release("a", "b"), release("b", "a")])


def test_a_need_that_is_no_release_is_refused_with_both_names() -> None:
    with pytest.raises(RolloutError, match="nova needs glance"):
        Graph([release("nova", "glance")])


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(RolloutError, match="a is there twice"):
        Graph([release("a"), release("a")])


def test_limits_that_are_unknown_or_below_one_are_refused() -> None:
    with pytest.raises(RolloutError, match="unknown limit speed"):
        Limits({"speed": 3})
    with pytest.raises(RolloutError, match="render is below 1"):
        Limits({"render": 0})


def test_only_releases_on_the_database_fall_under_its_limit() -> None:
    assert claims(release("keystone", "mariadb")) == ("apply", "database")
    assert claims(release("memcached")) == ("apply",)

"""The order of releases and artifacts: D1, D3. How they are run."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Event

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.graph import Graph, GraphError, run
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.limits import RolloutLimits, claims
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutError


def release(name: str, *needs: str) -> ReleasePlan:
    return ReleasePlan(
        name=name, chart=name, version="2026.1.0", namespace="openstack", needs=needs, verify="workloads", values={}
    )


CLOUD = {
    "horizon": ("keystone",),
    "nova": ("keystone", "placement"),
    "placement": ("keystone",),
    "keystone": ("mariadb", "rabbitmq", "memcached"),
    "mariadb": (),
    "rabbitmq": (),
    "memcached": (),
}


def graph_of(needs: dict[str, tuple[str, ...]], **cost: float) -> Graph:
    return Graph(needs.items(), cost=cost, kind="release", where="openstack.services")


def test_a_release_is_ready_as_soon_as_its_own_needs_are_and_not_before() -> None:
    graph = graph_of(CLOUD)
    assert set(graph.ready()) == {"mariadb", "rabbitmq", "memcached"}
    graph.done("mariadb")
    graph.done("rabbitmq")
    assert graph.ready() == []
    graph.done("memcached")
    assert graph.ready() == ["keystone"]


def test_no_release_waits_for_a_slow_one_it_does_not_need() -> None:
    graph = graph_of({"slow": (), "quick": (), "after-quick": ("quick",)})
    graph.ready()
    graph.done("quick")
    assert graph.ready() == ["after-quick"]


def test_the_longest_path_goes_first() -> None:
    graph = graph_of(CLOUD)
    for name in ("mariadb", "rabbitmq", "memcached"):
        graph.ready()
        graph.done(name)
    graph.ready()
    graph.done("keystone")
    assert graph.ready() == ["placement", "horizon"]  # nova waits behind placement


def test_the_longest_path_is_known_from_its_beginning() -> None:
    assert graph_of(CLOUD, rabbitmq=9.0).longest() == ("rabbitmq", "keystone", "placement", "nova")
    assert graph_of(CLOUD, horizon=9.0).longest() == ("mariadb", "keystone", "horizon")
    assert graph_of({}).longest() == ()


def test_measured_seconds_decide_what_is_long() -> None:
    graph = graph_of({"a": (), "b": ()}, b=40.0, a=3.0)
    assert graph.ready() == ["b", "a"]


def test_horizon_is_never_first() -> None:
    assert "horizon" not in graph_of(CLOUD).ready()


def test_a_failure_takes_down_what_needs_it_and_nothing_else() -> None:
    graph = graph_of(CLOUD)
    graph.ready()
    assert graph.lost("placement") == ("nova",)
    assert graph.lost("keystone") == ("horizon", "placement")


def test_what_a_release_stands_on_is_listed_nearest_first() -> None:
    assert graph_of(CLOUD).needs("nova")[:2] == ("keystone", "placement")
    assert set(graph_of(CLOUD).needs("nova")) == {"keystone", "placement", "mariadb", "rabbitmq", "memcached"}


def test_a_circle_is_refused_with_its_members() -> None:
    with pytest.raises(GraphError, match=r"circle: .*a.*b|circle: .*b.*a"):
        graph_of({"a": ("b",), "b": ("a",)})


def test_a_need_that_is_no_release_is_refused_with_both_names() -> None:
    with pytest.raises(GraphError, match="nova needs glance"):
        graph_of({"nova": ("glance",)})


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(GraphError, match="a is there twice"):
        Graph([("a", ()), ("a", ())], kind="release", where="openstack.services")


class Worked:
    """Notes the order in which names were begun; those in ``bad`` fail."""

    def __init__(self, *bad: str) -> None:
        self.bad, self.begun, self.failed = bad, list[str](), list[str]()

    def work(self, name: str) -> str:
        self.begun.append(name)
        if name in self.bad:
            raise ValueError(name)
        return name

    def ended(self, name: str, future: Future[str]) -> bool:
        if future.exception() is not None:
            self.failed.append(name)
        return future.exception() is None

    def run(self, graph: Graph, *, jobs: int) -> None:
        run(graph, self.work, self.ended, jobs=jobs, threads="test", stop=lambda: None)


def test_work_is_done_needs_first_and_the_longest_chain_first() -> None:
    done = Worked()
    done.run(graph_of(CLOUD, mariadb=3.0, rabbitmq=2.0), jobs=1)
    assert done.begun == ["mariadb", "rabbitmq", "memcached", "keystone", "placement", "horizon", "nova"]


def test_what_needs_failed_work_is_not_begun_and_the_rest_is_done() -> None:
    done = Worked("placement")
    done.run(graph_of(CLOUD), jobs=3)
    assert done.failed == ["placement"]
    assert set(done.begun) == set(CLOUD) - {"nova"}


def test_work_under_way_is_told_to_stop_when_the_run_is_interrupted() -> None:
    stopped = Event()

    def ended(_name: str, _future: Future[bool]) -> bool:
        raise KeyboardInterrupt

    def work(name: str) -> bool:
        return name == "quick" or stopped.wait(20)

    with pytest.raises(KeyboardInterrupt):
        run(graph_of({"quick": (), "slow": ()}), work, ended, jobs=2, threads="test", stop=stopped.set)
    assert stopped.is_set()


def test_limits_that_are_unknown_or_below_one_are_refused() -> None:
    with pytest.raises(RolloutError, match="unknown limit speed"):
        RolloutLimits({"speed": 3})
    with pytest.raises(RolloutError, match="render is below 1"):
        RolloutLimits({"render": 0})


def test_every_release_on_the_database_falls_under_its_limit_also_through_another_one() -> None:
    graph = graph_of({"mariadb": (), "memcached": (), "keystone": ("mariadb", "memcached"), "horizon": ("keystone",)})
    assert claims(graph.needs("keystone")) == ("apply", "database")
    assert claims(graph.needs("horizon")) == ("apply", "database")
    assert claims(graph.needs("memcached")) == claims(graph.needs("mariadb")) == ("apply",)

"""The queue before Ironic: racks in turn, critical machines first, never more than may be under way."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.queue import QueueLimits, Waiting, admitted


def waiting(*names: str, critical: str = "") -> list[Waiting]:
    """Return machines named <rack>-<number>."""
    return [Waiting(name=name, rack=name.split("-")[0], critical=name in critical.split()) for name in names]


def test_racks_take_turns_so_that_a_large_one_keeps_no_small_one_waiting() -> None:
    line = waiting("a-1", "a-2", "a-3", "a-4", "b-1", "c-1")
    assert admitted(line, {}, QueueLimits(at_once=4)) == ["a-1", "b-1", "c-1", "a-2"]


def test_a_rack_with_machines_under_way_comes_after_those_without() -> None:
    line = waiting("a-3", "b-1", "b-2")
    under_way = {"a-1": "a", "a-2": "a"}
    assert admitted(line, under_way, QueueLimits(at_once=5)) == ["b-1", "b-2", "a-3"]


def test_critical_machines_begin_first_whatever_their_rack() -> None:
    line = waiting("a-1", "b-1", "a-2", "a-3", critical="a-2 a-3")
    assert admitted(line, {}, QueueLimits(at_once=3)) == ["a-2", "a-3", "b-1"]


@pytest.mark.parametrize(("at_once", "begin"), [(0, 0), (1, 0), (2, 0), (3, 1), (9, 2)])
def test_what_another_run_has_under_way_counts(at_once: int, begin: int) -> None:
    under_way = {"x-1": "x", "x-2": "x"}
    assert len(admitted(waiting("a-1", "b-1"), under_way, QueueLimits(at_once=at_once))) == begin


def test_a_limit_of_none_in_a_rack_is_one_because_a_run_would_wait_for_ever() -> None:
    assert admitted(waiting("a-1", "a-2"), {}, QueueLimits(at_once=9, per_rack=0)) == ["a-1"]


def test_a_full_rack_waits_and_the_others_go_on() -> None:
    line = waiting("a-1", "a-2", "a-3", "b-1", critical="a-1 a-2 a-3")
    assert admitted(line, {}, QueueLimits(at_once=9, per_rack=2)) == ["a-1", "a-2", "b-1"]


def test_a_machine_that_a_killed_run_left_under_way_is_not_begun_twice() -> None:
    assert admitted(waiting("a-1", "a-2"), {"a-1": "a"}, QueueLimits(at_once=9)) == ["a-2"]


def test_every_machine_begins_once_and_the_limits_hold_at_every_moment() -> None:
    limits = QueueLimits(at_once=20, per_rack=6)
    line = waiting(*(f"r{rack}-{number}" for rack in range(10) for number in range(1 + rack * 3)))
    under_way: dict[str, str] = {}
    begun: list[str] = []
    for _ in itertools.repeat(None, 1000):
        new = admitted([one for one in line if one.name not in begun], under_way, limits)
        begun += new
        under_way |= {name: name.split("-")[0] for name in new}
        assert len(under_way) <= limits.at_once
        assert all(list(under_way.values()).count(rack) <= 6 for rack in set(under_way.values()))
        if not under_way:
            break
        under_way.pop(next(iter(under_way)))
    assert sorted(begun) == sorted(one.name for one in line)

"""When so many of a group serve that a run goes on without the others."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.enough import SuccessCriteria, lacking

WORKERS = SuccessCriteria(size=10, machines=6, racks={"r1": (5, 2), "r2": (5, 2)}, critical=("worker-1",))


@pytest.mark.parametrize(
    ("away", "lacks"),
    [
        ({}, []),
        ({"worker-2": "r1", "worker-3": "r2", "worker-4": "r1", "worker-5": "r2"}, []),
        ({"worker-1": "r1"}, ["worker-1 does not serve, and is critical"]),
        ({f"worker-{n}": "r1" for n in (2, 3, 4, 5)}, ["1 of 5 of worker in rack r1 serve, 2 are enough"]),
        (
            {f"worker-{n}": f"r{1 + n % 2}" for n in (2, 3, 4, 5, 6)},
            ["5 of 10 of worker serve, 6 are enough"],
        ),
    ],
)
def test_what_lacks_is_said_by_number_rack_and_name(away: dict[str, str], lacks: list[str]) -> None:
    assert lacking("worker", WORKERS, away) == lacks


def test_a_group_can_do_without_what_its_strictest_criterion_leaves() -> None:
    assert WORKERS.spare == 4
    assert SuccessCriteria(size=10, machines=1, racks={"r1": (5, 4), "r2": (5, 4)}, critical=()).spare == 2

"""Connections to a load balancer's address reach the instances behind it, from outside and from within.

Needs tests/e2e/objects/site.yml.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.clients.balancer import ASKED
from ansible_collections.groundup.cloud.tests.e2e.failover import hypervisors

pytestmark = [pytest.mark.lab, pytest.mark.long]


@pytest.fixture(scope="module")
def seen(plan: Plan, outside: Callable[..., Any]) -> Any:
    """What a tenant saw of a balancer."""
    if "octavia" not in plan.openstack.services or len(hypervisors(plan)) < 2:
        pytest.skip("Octavia and two hypervisors are needed: see tests/e2e/objects/site.yml")
    found = outside("balancer.py", *hypervisors(plan)[:2], str(guest_image(None, progress=lambda _: None)))
    print(f"\n{json.dumps({'case': 'balancer: seconds until', **found['seconds']})}", flush=True)
    return found


@pytest.mark.parametrize("where", ["outside", "inside"])
def test_both_instances_answer_and_no_connection_is_lost(seen: Any, where: str) -> None:
    assert set(seen[where]) == {"first", "second"}
    assert sum(seen[where].values()) == ASKED


def test_one_that_is_taken_out_is_asked_no_more(seen: Any) -> None:
    assert list(seen["less"].values()) == [ASKED]
    assert set(seen["less"]) < {"first", "second"}


def test_nothing_of_a_deleted_balancer_is_left(seen: Any) -> None:
    assert seen["left"] == []

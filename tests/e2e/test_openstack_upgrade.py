"""OpenStack goes from 2026.1 to 2026.2 while somebody asks and an instance answers, killed in the middle.

Needs inventories/cloud or tests/e2e/tenant, which run the former release. The site file that names the next one is a
copy; afterwards the cloud is not as the shipped one: end the lab.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.tests.e2e.cluster import play, site_with
from ansible_collections.groundup.cloud.tests.e2e.drilling import killed
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, hypervisors, kept_instance, root
from ansible_collections.groundup.cloud.tests.e2e.pinging import pinged
from ansible_collections.groundup.cloud.tests.e2e.test_rolling import probed

pytestmark = [pytest.mark.lab, pytest.mark.long]
FORMER, NEXT = "2026.1", "2026.2"
FORCE = ["data"]  # Nova's data were never migrated on a cloud that is a few minutes old: there are none
GUESTS = "pgrep --list-name qemu-system | sort"  # those that restart have another number
RARELY = 3.0  # seconds: more often, the questions alone take both cores of a small machine
KILLS = ("neutron    applying", "Converge the hosts of the batch")


@pytest.fixture(scope="module")
def written(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the site file, which names the next release."""
    if len(hypervisors(plan)) < 2 or not plan.ceph:
        pytest.skip("a cloud with two hypervisors is needed: see inventories/cloud/site.yml")
    if plan.openstack.release != FORMER:
        pytest.skip(f"the site runs {plan.openstack.release}, not {FORMER}")
    return site_with(tmp_path_factory.mktemp("next"), f'release: "{FORMER}"', f'release: "{NEXT}"')


@pytest.fixture
def guests(plan: Plan, connect: Connect) -> Callable[[], list[str]]:
    """Return a function that gives the processes of instances."""
    return lambda: [root(connect(name), GUESTS) for name in hypervisors(plan)]


def test_another_release_is_refused_by_the_layer_and_shown_by_the_check(written: Path) -> None:
    assert "release-step" in play("openstack", "--tags", "check", site=written, code=2)
    said = play("openstack_upgrade", "--tags", "check", site=written, openstack_upgrade_force=FORCE)
    assert "1. make and publish artifacts, back up, place hypervisors' environments" in said


def test_a_step_that_is_killed_goes_on_and_nobody_notices(
    written: Path,
    *,
    plan: Plan,
    state: Path,
    outside: Callable[..., Any],
    guests: Callable[[], list[str]],
    tmp_path: Path,
) -> None:
    with kept_instance(plan, outside) as address, pinged(address, tmp_path / "pings") as pings:
        before, runs = guests(), []  # seconds of each run, without what is asked between them
        with probed(state, every=RARELY) as figures:
            for at in KILLS:
                runs.append(killed("openstack_upgrade", at=at, site=written, openstack_upgrade_force=FORCE))
                assert journal.opened(plan.site, journal.OPENSTACK), f"killed at {at}, and nothing says so"
                assert "what is left follows" in play("openstack_upgrade", "--tags", "check", site=written)
            begun = time.monotonic()
            play("openstack_upgrade", site=written)
            runs.append(time.monotonic() - begun)
        assert guests() == before
    took = {"minutes": round(sum(runs) / 60, 1), "of runs": [round(one / 60, 1) for one in runs]}
    print(json.dumps({"upgrade of OpenStack": {**took, "pings": str(pings[0])}}))
    figures.pop("watch")
    assert figures
    assert {name: one for name, one in figures.items() if one["failed"] or one["unanswered"]} == {}
    assert pings[0].lost == 0


def test_nothing_is_left_to_change_and_an_instance_boots(written: Path) -> None:
    assert f"OpenStack {NEXT} on every service" in play("openstack_upgrade", "--tags", "verify", site=written)
    assert "nothing changed" in play("openstack", "--tags", "check", site=written)
    play("tenant_smoke", site=written)

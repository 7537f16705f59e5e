"""OpenStack goes from 2026.1 to 2026.2 while somebody asks and an instance answers, killed in the middle.

Needs inventories/cloud or tests/e2e/tenant, which run the former release. The site file is as before afterwards, and
the cloud is not: end the lab then.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.conftest import SITE_FILE
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
def written(plan: Plan) -> Iterator[Path]:
    """The site file, which names the next release."""
    if len(hypervisors(plan)) < 2 or not plan.ceph:
        pytest.skip("a cloud with two hypervisors is needed: see inventories/cloud/site.yml")
    before = SITE_FILE.read_text()
    if (was := f'release: "{FORMER}"') not in before:
        pytest.skip(f"the site file names another release than {FORMER}")
    SITE_FILE.write_text(before.replace(was, f'release: "{NEXT}"'))
    yield SITE_FILE
    SITE_FILE.write_text(before)


@pytest.fixture
def guests(plan: Plan, connect: Connect) -> Callable[[], list[str]]:
    """Return a function that gives the processes of instances."""
    return lambda: [root(connect(name), GUESTS) for name in hypervisors(plan)]


@pytest.mark.usefixtures("written")
def test_another_release_is_refused_by_the_layer_and_shown_by_the_check() -> None:
    assert "release-step" in play("openstack", "--tags", "check", code=2)
    said = play("openstack_upgrade", "--tags", "check", openstack_upgrade_force=FORCE)
    assert "1. make and publish artifacts, back up, place hypervisors' environments" in said


@pytest.mark.usefixtures("written")
def test_a_step_that_is_killed_goes_on_and_nobody_notices(
    plan: Plan, state: Path, outside: Callable[..., Any], guests: Callable[[], list[str]], tmp_path: Path
) -> None:
    with kept_instance(plan, outside) as address, pinged(address, tmp_path / "pings") as pings:
        before, begun = guests(), time.monotonic()
        with probed(state, every=RARELY) as figures:
            for at in KILLS:
                killed("openstack_upgrade", at=at, openstack_upgrade_force=FORCE)
                assert journal.opened(plan.site, journal.OPENSTACK), f"killed at {at}, and nothing says so"
                assert "what is left follows" in play("openstack_upgrade", "--tags", "check")
            play("openstack_upgrade")
        minutes = (time.monotonic() - begun) / 60
        assert guests() == before
    print(json.dumps({"upgrade of OpenStack": {"minutes": round(minutes, 1), "pings": str(pings[0])}}))
    figures.pop("watch")
    assert figures
    assert {name: one for name, one in figures.items() if one["failed"] or one["unanswered"]} == {}
    assert pings[0].lost == 0


def test_nothing_is_left_to_change_and_an_instance_boots(written: Path) -> None:
    assert f"OpenStack {NEXT} on every service" in play("openstack_upgrade", "--tags", "verify", site=written)
    assert "nothing changed" in play("openstack", "--tags", "check", site=written)
    play("tenant_smoke", site=written)

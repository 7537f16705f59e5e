"""What one instance wrote to a volume another reads, on another host; images and volumes are in the site's own Ceph.

Needs tests/e2e/volumes/site.yml.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import CephPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.failover import hypervisors, root

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def ceph(plan: Plan) -> CephPlan:
    """The plan's Ceph."""
    if not plan.ceph or "cinder" not in plan.openstack.services or len(hypervisors(plan)) < 2:
        pytest.skip("a Ceph, Cinder and two hypervisors are needed: see tests/e2e/volumes/site.yml")
    return plan.ceph


@pytest.fixture(scope="module")
def seen(plan: Plan, ceph: CephPlan, outside: Callable[..., Any], ssh_config: Path) -> Any:
    """What a tenant saw, and what Ceph said of its image and its volume meanwhile."""
    script = (
        f"sudo rbd -p {ceph.pools['images'].name} --format json ls -l; echo; "
        f"sudo rbd -p {ceph.pools['volumes'].name} --format json ls -l"
    )
    # Of the client's own words, which follow, it has no use: it lists all.
    host = plan.hosts[ceph.monitors[0].name].address
    look = ["sh", "-c", f"ssh -F {ssh_config} {host} '{script}' | jq -s ."]
    image = guest_image(None, progress=lambda _: None)
    return outside("volumes.py", *hypervisors(plan)[:2], str(image), *look)


def test_what_one_instance_wrote_another_reads(seen: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with capfd.disabled():
        print(f"\n{json.dumps({'case': 'seconds until', **seen['seconds']})}", flush=True)
    assert seen["found"]["first"] == seen["sent"]["written"]
    assert seen["found"]["second"] == seen["sent"]["written"]


def test_a_volume_of_an_image_has_its_content_and_is_a_clone_of_it(seen: Any, ceph: CephPlan) -> None:
    images, volumes = seen["looked"]
    assert seen["found"]["clone"] == seen["sent"]["image"]
    assert seen["image"] in {one["image"] for one in images}
    (clone,) = [one for one in volumes if one["image"] == f"volume-{seen['clone']}"]
    assert clone["parent"]["pool"] == ceph.pools["images"].name
    assert clone["parent"]["image"] == seen["image"], "nothing was copied"


@pytest.mark.usefixtures("seen")
def test_nothing_stays_in_the_pools(ceph: CephPlan, connect: Callable[[str], Any]) -> None:
    host = connect(ceph.monitors[0].name)
    for pool in ("images", "volumes"):
        assert json.loads(root(host, f"rbd -p {ceph.pools[pool].name} --format json ls")) == []

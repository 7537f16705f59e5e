"""What one instance wrote to a volume that lost an OSD another reads, on another host; images are in that Ceph, too.

Needs inventories/cloud/site.yml.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.failover import hypervisors, root
from ansible_collections.groundup.cloud.tests.e2e.test_storage import Ask, ask, healthy
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab
__all__ = ["ask"]  # a fixture


@pytest.fixture(scope="module")
def ceph(plan: Plan) -> CephPlan:
    """The plan's Ceph."""
    if not plan.ceph or "cinder" not in plan.openstack.services or len(hypervisors(plan)) < 2:
        pytest.skip("a Ceph, Cinder and two hypervisors are needed: see inventories/cloud/site.yml")
    return plan.ceph


@pytest.fixture(scope="module")
def seen(
    *, plan: Plan, ceph: CephPlan, ask: Ask, outside: Callable[..., Any], ssh_config: Path, tmp_path_factory: Any
) -> Any:
    """What a tenant saw, and what Ceph said of its image and its volume meanwhile."""
    dies = ceph.monitors[-1].name
    (number,) = ask(f"osd ls-tree {dies}")
    unit, pools = f"ceph-osd@{number}.service", [ceph.pools[name].name for name in ("images", "volumes")]
    listed = "; echo; ".join(f"rbd -p {pool} --format json ls -l" for pool in pools)
    lose = f"systemctl mask --quiet --runtime {unit}; systemctl kill --signal KILL {unit}"
    noticed = f'until ceph osd tree down | grep -qw "osd.{number}"; do sleep 1; done'
    back = f"systemctl unmask --quiet --runtime {unit}; systemctl reset-failed {unit} || true; systemctl start {unit}"
    script = tmp_path_factory.mktemp("look") / "look.sh"
    script.write_text(
        f"""
run() {{ ssh -F {ssh_config} {plan.hosts[dies].address} sudo sh -euc "'$1'"; }}
case $1 in
  pools) run '{listed}' ;;
  lose) run '{lose}; {noticed}' ;;
  back) run '{back}' ;;
esac | jq -s .
""",
        encoding="utf-8",
    )
    image = guest_image(None, progress=lambda _: None)
    return outside("volumes.py", *hypervisors(plan)[:2], str(image), "bash", "-euo", "pipefail", str(script))


def test_what_one_instance_wrote_while_an_osd_died_another_reads(seen: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with capfd.disabled():
        blocks = {"blocks": len(seen["written"]), "without the OSD": seen["without"]}
        print(f"\n{json.dumps({'case': 'seconds until', **seen['seconds'], **blocks})}", flush=True)
    assert seen["without"] > 0
    assert seen["read"] == seen["written"]


def test_a_volume_of_an_image_has_its_content_and_is_a_clone_of_it(seen: Any, ceph: CephPlan) -> None:
    images, volumes = seen["looked"]
    assert seen["copy"] == seen["sent"]
    assert seen["image"] in {one["image"] for one in images}
    (clone,) = [one for one in volumes if one["image"] == f"volume-{seen['clone']}"]
    assert clone["parent"]["pool"] == ceph.pools["images"].name
    assert clone["parent"]["image"] == seen["image"], "nothing was copied"


@pytest.mark.usefixtures("seen")
def test_nothing_stays_in_the_pools(ceph: CephPlan, connect: Callable[[str], Any]) -> None:
    host = connect(ceph.monitors[0].name)

    def empty(pool: str) -> bool:
        return not json.loads(root(host, f"rbd -p {ceph.pools[pool].name} --format json ls"))

    for pool in ("images", "volumes"):
        until(partial(empty, pool), seconds=180)


@pytest.mark.usefixtures("seen")
def test_the_osd_is_back_and_all_is_whole(ceph: CephPlan, ask: Ask) -> None:
    until(lambda: healthy(ask, ceph.monitors[0].name), seconds=600)

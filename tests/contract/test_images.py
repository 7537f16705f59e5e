"""What is published reaches every container: no chart prints an image otherwise than it was told."""

from __future__ import annotations

import hashlib

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_images
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.workloads import images
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS, of_kind
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.digests import PublishedDigests

from .conftest import ROOT, Render, chart_in, objects


@pytest.fixture(scope="module")
def pinned() -> Plan:
    """The plan of the lab with every service that is deployed, as if every image of it were published."""
    data = yaml.safe_load((ROOT / "inventories/lab/site.yml").read_text())
    data["openstack"]["services"] = [record.name for record in of_kind("service")]
    plan = make_plan(build_site(data))
    names = [reference.removeprefix(f"{plan.supply.registry}/") for reference in plan.supply.images.values()]
    record = PublishedDigests(images={name: f"sha256:{hashlib.sha256(name.encode()).hexdigest()}" for name in names})
    return with_images(plan, record.pin(plan.supply.images, registry=plan.supply.registry))


def run_by(plan: Plan, name: str, text: str) -> set[str]:
    """Return the images of release ``name``; fails for one that is not in the plan with its digest."""
    found = {image for item in objects(text) for image in images(item)}
    assert found, f"{name} runs nothing"
    assert found <= set(plan.supply.images.values()), f"{name}: an image is not what was published"
    assert all("@sha256:" in image for image in found)
    return found


def test_every_container_of_a_built_in_chart_runs_what_was_published(pinned: Plan, render: Render) -> None:
    for release in pinned.openstack.releases:
        run_by(pinned, release.name, render(release, ROOT / "charts" / release.chart))


@pytest.mark.parametrize("name", list(RECORDS))
def test_every_container_of_a_real_chart_runs_what_was_published(
    name: str, pinned: Plan, render: Render, request: pytest.FixtureRequest
) -> None:
    directory = request.getfixturevalue("real_charts")
    release = next(release for release in pinned.openstack.releases if release.name == name)
    run_by(pinned, name, render(release, chart_in(directory, name)))

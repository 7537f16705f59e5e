"""OpenStack-Helm's own charts, unmodified, take our values. Skipped with the reason when there are none here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

from .conftest import Render, chart_in, objects


def test_every_release_renders_with_the_real_chart(plan: Plan, render: Render, real_charts: Path) -> None:
    for release in plan.openstack.releases:
        kinds = {item["kind"] for item in objects(render(release, chart_in(real_charts, release.chart)))}
        assert kinds & {"StatefulSet", "Deployment"}, release.name


def test_no_object_is_made_twice(plan: Plan, render: Render, real_charts: Path) -> None:
    for release in plan.openstack.releases:
        made = [
            (item["kind"], item["metadata"]["name"])
            for item in objects(render(release, chart_in(real_charts, release.chart)))
        ]
        assert [each for each in made if made.count(each) > 1] == [], release.name


def test_two_renders_of_the_real_charts_are_identical(plan: Plan, render: Render, real_charts: Path) -> None:
    for release in plan.openstack.releases:
        chart = chart_in(real_charts, release.chart)
        assert render(release, chart) == render(release, chart), release.name


def test_every_image_of_the_real_charts_comes_from_the_sites_registry(
    plan: Plan, render: Render, real_charts: Path
) -> None:
    def images(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["image"]] if isinstance(value.get("image"), str) else []
            return own + [image for item in value.values() for image in images(item)]
        return [image for item in value for image in images(item)] if isinstance(value, list) else []

    for release in plan.openstack.releases:
        found = images(objects(render(release, chart_in(real_charts, release.chart))))
        assert found
        assert {image for image in found if not image.startswith(plan.supply.registry + "/")} == set(), release.name


def test_the_real_charts_register_the_public_url_of_the_plan(plan: Plan, render: Render, real_charts: Path) -> None:
    keystone = next(release for release in plan.openstack.releases if release.name == "keystone")
    text = render(keystone, chart_in(real_charts, "keystone"))
    url = next(endpoint.url for endpoint in plan.edge.endpoints if endpoint.service == "keystone")
    assert f"value: {url}\n" in text

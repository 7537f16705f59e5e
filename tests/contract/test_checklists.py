"""docs/checklists.md says what is: every point is asserted anew, and what fails has a reason."""

from __future__ import annotations

import os
from typing import Any

import jinja2
import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import of_kind

from .checklists import CHECKS, PAGE, POINTS, ROOT, Seen, kubernetes, page
from .conftest import CHARTS, SITES, Render, objects
from .test_settings import settings_of


@pytest.fixture(scope="module")
def seen(render: Render) -> Seen:
    """What is asked: the site of the largest profile, with all services."""
    data = yaml.safe_load(SITES["region"].read_text())
    data["openstack"]["services"] = [record.name for record in of_kind("service")]
    plan = with_values(make_plan(build_site(data)))
    items = {one.name: objects(render(one, CHARTS / one.chart)) for one in plan.openstack.releases}
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701  # YAML, not HTML
    text = environment.from_string((ROOT / "roles/kubernetes/templates/namespaces.yml.j2").read_text())
    site: dict[str, Any] = {"openstack": {"namespace": plan.openstack.namespace, "charts": plan.openstack.charts}}
    namespace = next(yaml.safe_load_all(text.render(kubernetes_site=site)))
    flags, cluster, kubelet = kubernetes()
    return Seen(flags, cluster, kubelet, items, namespace["metadata"]["labels"], settings_of(items))


def test_every_point_is_asserted_and_what_fails_has_a_reason(seen: Seen) -> None:
    points = {name: one for part in yaml.safe_load(POINTS.read_text()).values() for name, one in part["points"].items()}
    assert points.keys() == CHECKS.keys()
    failed = {name for name in points if not CHECKS[name](seen)}
    assert failed == {name for name, point in points.items() if "reason" in point}
    for point in points.values():
        if "host" in point:
            path, _, test = point["host"].partition("::")
            assert f"def {test}(" in (ROOT / path).read_text(), point["host"]


def test_the_page_is_what_the_assertions_say(seen: Seen) -> None:
    """GROUNDUP_WRITE_CHECKLISTS=1 writes it."""
    made = page(seen)
    if os.environ.get("GROUNDUP_WRITE_CHECKLISTS"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.is_file()
    assert PAGE.read_text(encoding="utf-8") == made

"""Recipes of docs/custom-configuration.md: each is planned, rendered, and has the effect that the page says."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import merge

from .conftest import CHARTS, ROOT, SITES, Render, chart_in, objects
from .test_builtin_charts import pods

BLOCK = re.compile(r"<!-- (recipe|file|playbook): (\S+) -->\n```yaml\n(.*?)```\n", re.DOTALL)
FOUND = BLOCK.findall((ROOT / "docs/custom-configuration.md").read_text())
RECIPES = {name: yaml.safe_load(text) for kind, name, text in FOUND if kind == "recipe"}


def site_of(home: Path, *recipes: str, **cloud: Any) -> Path:
    """Write a site with ``recipes`` and the page's files beside it; return its path."""
    site = yaml.safe_load(SITES["cloud"].read_text())
    for recipe in recipes:
        site = merge(site, RECIPES[recipe])
    for kind, name, text in FOUND:
        if kind in ("file", "playbook"):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
    path = home / "site.yml"
    path.write_text(yaml.safe_dump(merge(site, {"openstack": cloud})))
    return path


def release(plan: Plan, name: str) -> ReleasePlan:
    return next(one for one in plan.openstack.releases if one.name == name)


def data(items: list[dict[str, Any]], secret: str, file: str) -> str:
    """Return a file in a Secret or ConfigMap."""
    found = [item for item in items if item["metadata"]["name"] == secret and file in (item.get("data") or {})]
    text = str(found[0]["data"][file])
    return base64.b64decode(text).decode() if found[0]["kind"] == "Secret" else text


@pytest.fixture(params=["builtin", "real"])
def rendered(request: pytest.FixtureRequest, tmp_path: Path, render: Render) -> Any:
    """A function: what a release is rendered to in a site with a recipe, with either set of charts."""

    def run(recipe: str, name: str) -> list[dict[str, Any]]:
        charts = {} if request.param == "builtin" else {"charts": str(request.getfixturevalue("real_charts"))}
        plan = site_plan(site_of(tmp_path, recipe, **charts))
        assert [one for one in plan.findings if one.name.startswith(("override-", "undocumented-", "extra-"))] == []
        chart = CHARTS / name if request.param == "builtin" else chart_in(Path(charts["charts"]), name)
        return objects(render(release(plan, name), chart))

    return run


def test_every_recipe_of_the_page_is_tried_here() -> None:
    text = Path(__file__).read_text()
    assert [name for name in RECIPES if f'"{name}"' not in text] == []
    assert len(RECIPES) == 5
    assert (ROOT / "docs/custom-configuration.md").read_text().count("```yaml") == len(FOUND)


def test_an_option_is_in_nova_conf_and_in_that_of_hypervisors(rendered: Any) -> None:
    items = rendered("nova-option", "nova")
    for file in ("nova.conf", "nova-compute.conf"):
        text = data(items, "nova-etc", file)
        assert re.search(r"^shelved_offload_time = 3600$", text, re.MULTILINE)
        assert re.search(r"\[scheduler\]\n(?:[^\[]*\n)?max_attempts = 5$", text, re.MULTILINE)


def test_a_rule_is_in_the_policy(rendered: Any) -> None:
    policy = yaml.safe_load(data(rendered("policy", "nova"), "nova-etc", "policy.yaml"))
    assert policy["os_compute_api:os-extended-server-attributes"].startswith("role:manager and ")


def test_the_dashboard_has_another_name_and_theme(rendered: Any) -> None:
    text = data(rendered("dashboard", "horizon"), "horizon-etc", "local_settings")
    for line in ('SITE_BRANDING = "Example Cloud"', 'DEFAULT_THEME = "material"', "SESSION_TIMEOUT = 1800"):
        assert line in text
    compile(text, "local_settings", "exec")


def test_sizes_are_those_of_the_pods(rendered: Any, tmp_path: Path) -> None:
    items = rendered("sizes", "nova")
    counts = {item["metadata"]["name"]: item["spec"].get("replicas") for item in items if item["kind"] == "Deployment"}
    assert counts["nova-api-osapi"] == 3
    scheduler = dict(pods(items))["Deployment/nova-scheduler"]["containers"][0]
    assert scheduler["resources"]["limits"]["memory"] == "2Gi"
    plan = site_plan(site_of(tmp_path, "sizes"))
    assert release(plan, "keystone").values["pod"]["replicas"]["api"] == 5


def test_an_extra_release_runs_the_copy_of_its_image_with_a_secret_of_the_store(tmp_path: Path, render: Render) -> None:
    plan = site_plan(site_of(tmp_path, "extra-release"))
    assert [one for one in plan.findings if one.name.startswith(("override-", "extra-"))] == []
    hello = release(plan, "hello")
    assert (hello.needs, hello.namespace) == (("keystone",), "hello")
    items = objects(render(hello, Path(hello.chart)))
    image = dict(pods(items))["Deployment/hello"]["containers"][0]["image"]
    assert image == f"{plan.supply.registry}/mirror/docker.io/library/nginx:1.29"
    assert items[0]["stringData"] == {"password": "secrethellopassword"}

"""Releases of the site's own are in the graph of ours, with their images from the seed and values of their own."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan, with_images, with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers import mirror
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, to_json
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import site_vars
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import load_lock, missing
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Source
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import required

from .conftest import ROOT
from .extra_cases import DIGEST, PROBE, extra, two

IMAGE = f"quay.io/org/probe:1.0{DIGEST}"
Planner = Callable[..., Plan]


def release(plan: Plan, name: str = "probe") -> ReleasePlan:
    return next(one for one in plan.openstack.releases if one.name == name)


def test_a_site_without_them_has_the_plan_it_had(plan_of: Planner) -> None:
    plan = plan_of("lab")
    assert [one.name for one in plan.openstack.releases if one.is_extra] == []
    assert not [name for name in (*plan.supply.images, *plan.supply.chosen) if name.startswith("mirror")]


def test_it_is_planned_after_what_it_needs_and_in_a_namespace_of_its_own(plan_of: Planner) -> None:
    plan = plan_of("lab", extra(needs=["keystone"], timeout=600))
    one = release(plan)
    assert (one.namespace, one.needs, one.verify, one.slowness) == ("probe", ("keystone",), "workloads", 0.5)
    assert plan.findings == ()


def test_what_needs_something_unknown_is_left_out_with_what_needs_it_and_nothing_else(plan_of: Planner) -> None:
    changes = two({"needs": ["two"]}, {"needs": ["nowhere"]})
    changes["openstack/extra_releases"]["three"] = {"chart": PROBE, "version": "2026.1.0"}
    plan = plan_of("lab", changes)
    assert [one.name for one in plan.openstack.releases if one.is_extra] == ["three"]
    assert [one.name for one in plan.findings] == ["extra-release-need-unknown"]


def test_its_images_are_copied_by_digest_and_named_in_its_values(plan_of: Planner) -> None:
    values = {"image": {"$image": "a"}, "command": [{"$image": "a.repository"}, {"$image": "a.tag"}]}
    plan = plan_of("lab", extra(images={"a": IMAGE}, values=values))
    artifact = mirror.artifact(IMAGE)
    assert mirror.reference_of(artifact) == IMAGE
    plain = "registry.lab.test:5000/mirror/quay.io/org/probe:1.0"
    assert plan.supply.images[artifact] == plain
    assert artifact in plan.supply.chosen
    assert release(plan).values == {"image": plain, "command": [plain.rpartition(":")[0], "1.0"]}

    pinned = release(with_images(plan, {**plan.supply.images, artifact: f"{plain}{DIGEST}"})).values
    assert pinned["image"] == f"{plain}{DIGEST}"
    assert ":".join(pinned["command"]) == f"{plain}{DIGEST}"
    assert "sha256" not in json.dumps(release(with_values(plan)).values)


def test_parts_of_an_image_for_charts_that_want_the_registry_apart(plan_of: Planner) -> None:
    values = {"command": [{"$image": f"a.{part}"} for part in ("registry", "path", "tag")]}
    registry, path, tag = release(plan_of("lab", extra(images={"a": IMAGE}, values=values))).values["command"]
    assert f"{registry}/{path}:{tag}" == "registry.lab.test:5000/mirror/quay.io/org/probe:1.0"


def test_supply_makes_the_copy_from_its_name_alone() -> None:
    name = mirror.artifact(IMAGE)
    entry = load_lock().including([name]).artifacts[name]
    assert (entry.builder, entry.image) == ("upstream", "mirror/quay.io/org/probe:1.0")
    assert entry.inputs["reference"] == "quay.io/org/probe:1.0"
    assert entry.inputs["digest"] == DIGEST.removeprefix("@")
    sources: tuple[Source, ...] = ("build", "upstream")
    for source in sources:
        assert missing([name], source=source) == (name,)


@pytest.mark.parametrize("name", ["kubernetes", "mirror,x", "mirror,quay.io+org+a=1", "machine-13+bnx2x"])
def test_no_other_name_is_a_copy(name: str) -> None:
    assert mirror.reference_of(name) is None


def test_a_registry_of_the_sites_own_has_the_images_already(plan_of: Planner) -> None:
    own = f"images.example.org:443/org/a:1{DIGEST}"
    changes = {
        **extra(images={"a": own}, values={"image": {"$image": "a"}}),
        "supply/registry": "images.example.org:443",
        "supply/files_url": "https://files.example.org",
        "machines/seed": {"count": 1, "roles": ["worker"]},
    }
    plan = plan_of("lab", changes)
    assert release(plan).values == {"image": own}
    assert not [name for name in plan.supply.chosen if "images.example.org" in name]


def test_paths_are_beside_the_site_file_and_values_may_be_a_file(tmp_path: Path) -> None:
    site = (ROOT / "inventories/lab/site.yml").read_text()
    with tarfile.open(tmp_path / "probe-2026.1.0.tgz", "w:gz") as archive:
        archive.add(PROBE, arcname="probe")
    (tmp_path / "values.yml").write_text('greeting: "{{ never a template }}"\npassword: {$secret: probe/password}\n')
    more = "  extra_releases:\n    probe: {chart: ./probe-2026.1.0.tgz, version: 2026.1.0, values: values.yml}\n"
    lines = site.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith("openstack:")) + 1
    (tmp_path / "site.yml").write_text("".join([*lines[:at], more, *lines[at:]]))
    plan = site_plan(tmp_path / "site.yml")
    assert plan.findings == ()
    assert release(plan).chart == str(tmp_path / "probe-2026.1.0.tgz")
    assert release(plan).values["greeting"] == "{{ never a template }}"
    assert "probe/password" in required(plan)
    assert "never a template" in to_json(plan)
    assert "never a template" not in json.dumps(site_vars(plan))  # Ansible would read it as one


def test_a_chart_in_a_registry_is_planned_by_its_digest_and_nothing_is_fetched(plan_of: Planner) -> None:
    chart = f"oci://images.example.org/charts/probe{DIGEST}"
    plan = plan_of("lab", extra(chart=chart, values={"anything": 1}))
    assert (release(plan).chart, plan.findings) == (chart, ())


def test_the_chart_tells_which_values_it_has_and_maps_of_names_are_open(tmp_path: Path, plan_of: Planner) -> None:
    chart = tmp_path / "own"
    (chart / "templates").mkdir(parents=True)
    (chart / "charts/inner").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: own\nversion: 2026.1.0\ndependencies: [{name: inner, alias: other}]\n")
    (chart / "charts/inner/Chart.yaml").write_text("name: inner\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("labels: {a: b}\nserver: {port: 80, env: {}}\n")
    (chart / "templates/x.yaml").write_text("{{ toYaml .Values.labels }}{{ .Values.server.port }}{{ .Values.unset }}")
    known: dict[str, Any] = {
        "labels": {"mine": "x"}, "server": {"port": 1, "env": {"A": "1"}}, "unset": 1, "other": {"x": 1}, "global": {},
    }  # fmt: skip
    assert plan_of("lab", extra(chart=str(chart), values=known)).findings == ()
    found = plan_of("lab", extra(chart=str(chart), values={"server": {"prot": 1}, "iner": {}})).findings
    assert sorted(one.where[0].partition("values.")[2] for one in found) == ["iner", "server.prot"]


def test_a_chart_without_the_charts_it_needs_is_told(tmp_path: Path, plan_of: Planner) -> None:
    (tmp_path / "Chart.yaml").write_text("name: own\nversion: 2026.1.0\ndependencies: [{name: inner}]\n")
    (found,) = plan_of("lab", extra(chart=str(tmp_path))).findings
    assert "needs the charts inner" in found.what


@pytest.mark.parametrize("values", [[], "", "a b", 3, None])
def test_values_that_are_neither_a_mapping_nor_a_path_are_refused(plan_of: Planner, values: object) -> None:
    with pytest.raises(Exception, match=r"openstack\.extra_releases\.probe\.values"):
        plan_of("lab", extra(values=values))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("born: 2026-01-01\n", "YAML reads 2026-01-01 as a date"),
        ("- a\n", "is no mapping"),
        ("a: {b\n", "cannot be read"),
        ("3: x\n", "is not text"),
    ],
)
def test_a_file_of_values_is_held_to_what_charts_take(tmp_path: Path, plan_of: Planner, content: str, why: str) -> None:
    (tmp_path / "values.yml").write_text(content)
    (found,) = plan_of("lab", extra(values=str(tmp_path / "values.yml"))).findings
    assert found.name == "extra-release-values"
    assert why in found.what


def test_an_empty_file_of_values_and_links_in_a_circle_are_no_fault(tmp_path: Path, plan_of: Planner) -> None:
    (tmp_path / "values.yml").write_text("")
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "Chart.yaml").write_text("name: own\nversion: 2026.1.0\n")
    (chart / "circle").symlink_to(chart)
    assert plan_of("lab", extra(chart=str(chart), values=str(tmp_path / "values.yml"))).findings == ()

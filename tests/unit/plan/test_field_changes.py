"""What a site file of a former version needs: each record of the table holds, and unknown keys of before are told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import parse_site
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.input import field_changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.input.field_changes import FIELD_CHANGES, FieldChange
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model import Site
from ansible_collections.groundup.cloud.tests.unit.plan.refusal import LAB, refused

ROOT = Path(__file__).resolve().parents[3]
KEPT = [one for one in FIELD_CHANGES if one.write]


def with_key(key: str, value: Any = True) -> str:
    """Return the lab with ``key``, whose stars are its first group's name."""
    first, *rest = key.replace("*", "control").split(".")
    for part in reversed(rest):
        value = {part: value}
    site = yaml.safe_load(LAB)
    site[first] = site.get(first, {}) | value if rest else value
    return yaml.safe_dump(site)


@pytest.mark.parametrize("one", [one for one in FIELD_CHANGES if one.gone], ids=lambda one: one.key)
def test_a_field_that_is_gone_is_refused_with_the_version_and_what_to_write(one: FieldChange) -> None:
    problem = refused(with_key(one.key)).problems[0]
    assert (problem.key, problem.reason) == (one.key.replace("*", "control"), "unknown key")
    assert f"{one.happened} in {one.since}" in problem.remedy
    assert (f"write {one.write}" if one.write else "leave it out") in problem.remedy


def test_a_field_of_one_machine_is_told_as_that_of_its_group() -> None:
    told = field_changes.remedy("machines.worker.machines.worker-1.bmc.verify_ca")
    assert told == "it was removed in 0.1.0 (nothing read it): leave it out"


def test_a_renamed_field_is_told_with_its_new_name(monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = FieldChange(
        key="machines.*.colour", since="1.2", what="one name", write="machines: {control: {label: red}}", gone=True,
        now="machines.*.label",
    )  # fmt: skip
    told = field_changes.remedy("machines.control.colour", (renamed,))
    assert told == ("it was renamed to machines.*.label in 1.2 (one name): write machines: {control: {label: red}}")
    assert field_changes.remedy("machines.control.color", (renamed,)) is None
    monkeypatch.setattr(field_changes.remedy, "__defaults__", ((renamed,),))
    assert "renamed to machines.*.label in 1.2" in refused(with_key("machines.control.colour")).problems[0].remedy


def test_a_key_that_no_version_had_is_taken_for_a_slip() -> None:
    assert "did you mean" in refused(with_key("kubernetes.verson", "1")).problems[0].remedy


@pytest.mark.parametrize("one", KEPT, ids=lambda one: one.key)
def test_what_is_to_be_written_is_a_field_of_this_version(one: FieldChange) -> None:
    written = yaml.safe_load(one.write)
    assert parse_site((LAB + one.write).encode())
    for part in (one.now or one.key).split("."):
        assert part in written, one.key
        written = written[part]


@pytest.mark.parametrize(
    ("key", "default"), [("ovn.tunnel_ids", "1-65536"), ("identity.token_life", 3600), ("openstack.image_sources", [])]
)
def test_a_default_is_the_one_that_the_table_tells(key: str, default: Any) -> None:
    found: Any = parse_site(LAB.encode())
    for part in key.split("."):
        found = getattr(found, part)
    assert found == default
    assert not isinstance(default, str | int) or str(default) in next(o.what for o in FIELD_CHANGES if o.key == key)


def test_every_version_is_a_number_and_every_top_field_exists() -> None:
    for one in FIELD_CHANGES:
        assert re.fullmatch(r"\d+\.\d+\.\d+", one.since)
        assert one.key.split(".")[0] in Site.model_fields

"""What a site file of a former version needs: each record of the table holds, and unknown keys of before are told."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import parse_site
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.input import field_changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.input.field_changes import (
    FIELD_CHANGES,
    SiteFieldChange,
)
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
def test_a_field_that_is_gone_is_refused_with_the_version_and_what_to_write(one: SiteFieldChange) -> None:
    problem = refused(with_key(one.key)).problems[0]
    assert (problem.key, problem.reason) == (one.key.replace("*", "control"), "unknown key")
    assert f"{one.happened} in {one.since}" in problem.remedy
    assert (f"write {one.write}" if one.write else "leave it out") in problem.remedy


def test_a_field_of_one_machine_is_told_as_that_of_its_group() -> None:
    told = field_changes.remedy("machines.worker.machines.worker-1.bmc.verify_ca")
    assert told == "it was removed in 0.1.0 (nothing read it): leave it out"


def test_a_renamed_field_is_told_with_its_new_name(monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = SiteFieldChange(
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
def test_what_is_to_be_written_is_a_field_of_this_version(one: SiteFieldChange) -> None:
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


def described(schema: dict[str, Any], part: Any = None, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every field of a schema by its path, with its default."""
    part = schema if part is None else part
    if "$ref" in part:
        yield from described(schema, schema["$defs"][part["$ref"].rpartition("/")[2]], path)
    for choice in part.get("anyOf", ()):
        yield from described(schema, choice, path)
    for key, inner in part.get("properties", {}).items():
        name = f"{path}.{key}".lstrip(".")
        yield name, inner.get("default")
        yield from described(schema, inner, name)
    for inner in (part.get("additionalProperties"), part.get("items"), *part.get("patternProperties", {}).values()):
        if isinstance(inner, dict):
            yield from described(schema, inner, f"{path}.*")


@pytest.mark.parametrize(
    "tree",
    [
        "a3324c7d",
        "33d5c0c5",
        "0adaad64",
        "753db3e3",
    ],
    ids=["first fields", "before 0.2.0", "before upgrades", "0.2.0"],
)
def test_what_the_schema_of_a_former_tree_had_is_there_or_in_the_table(tree: str) -> None:
    former = subprocess.run(
        ["git", "-C", ROOT, "show", f"{tree}:docs/site.schema.json"], check=False, capture_output=True, text=True
    )
    if former.returncode:
        pytest.skip(f"no history here: {former.stderr.strip()}")
    now = dict(described(json.loads((ROOT / "docs/site.schema.json").read_text())))
    before = dict(described(json.loads(former.stdout)))
    gone = [one.key for one in FIELD_CHANGES if one.gone]
    assert [key for key in before if key not in now and not any(fnmatchcase(key, one) for one in gone)] == []
    kept = {one.key for one in FIELD_CHANGES if not one.gone}
    assert [key for key in before if key in now and before[key] != now[key] and key not in kept] == []

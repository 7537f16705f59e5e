"""The committed schema and reference page are the model's, and the schema judges as the model does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from ansible_collections.groundup.cloud.ci.reference import contents
from ansible_collections.groundup.cloud.ci.reference import site_file as reference

ROOT = Path(__file__).resolve().parents[3]


def test_the_committed_pages_tables_and_pictures_are_fresh() -> None:
    assert [name for name, text in contents(ROOT).items() if (ROOT / name).read_text() != text] == []


@pytest.fixture
def schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reference.json_schema())
    jsonschema.Draft202012Validator.check_schema(found)
    return found


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("openstack", {"services": ["keystnoe"]}),
        ("openstack", {"overrides": {"keystnoe": {"values": {}}}}),
        ("openstack", {"extra_releases": {"a": {"version": "1.0.0"}}}),
        ("networks", {"management": {"cidr": "10.0.0.0"}}),
        ("networks", {"management": {"cidr": "10.0.0.0/33"}}),
        ("domain", "Not a domain"),
        ("site", "Upper"),
    ],
)
def test_an_editor_tells_names_and_networks_that_cannot_be(schema: dict[str, Any], part: str, change: Any) -> None:
    data = yaml.safe_load((ROOT / "inventories/lab/site.yml").read_text())
    jsonschema.validate(data, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data | {part: change}, schema)
    assert schema["$id"].endswith("/docs/site.schema.json")


def test_the_schema_refuses_an_unknown_key_and_a_wrong_choice(schema: dict[str, Any]) -> None:
    changes: list[dict[str, Any]] = [{"foo": 1}, {"profile": "lob"}, {"networks": {"management": {}}}]
    for change in changes:
        data = yaml.safe_load((ROOT / "inventories/lab/site.yml").read_text()) | change
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data, schema)


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("kubernetes", {"cni": "flanel"}, "'flanel' is not one of ['flannel', 'cilium', 'calico', None]"),
        (
            "networks",
            {"management": {"cidr": "10.0.0.0/24", "mtu": 90000}},
            "90000 is greater than the maximum of 9216",
        ),
    ],
)
def test_an_editor_says_what_is_wrong_with_a_field_that_may_be_left_out(
    schema: dict[str, Any], part: str, change: Any, said: str
) -> None:
    data = yaml.safe_load((ROOT / "inventories/lab/site.yml").read_text())
    with pytest.raises(jsonschema.ValidationError) as refused:
        jsonschema.validate(data | {part: change}, schema)
    assert refused.value.message == said


def test_every_field_of_every_part_is_described(schema: dict[str, Any]) -> None:
    parts = {"the file": schema, **schema["$defs"]}
    page = reference.page()
    for name, part in parts.items():
        for key, value in part.get("properties", {}).items():
            assert value.get("description") or "$ref" in value, f"{name}.{key}"
            assert f"| `{key}` |" in page

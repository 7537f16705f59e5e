"""Questions to the plan: answers as text, errors that say what to ask, and every recipe of the page on a real plan."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, to_json
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.query import answer
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.zone import zone

PAGE = (Path(__file__).resolve().parents[3] / "docs/plan-query.md").read_text()
RECIPES = [one.replace("\\|", "|") for one in re.findall(r"^\| .* \| `(.+)` \|$", PAGE, flags=re.M)]
PLAN = {"names": ["a", "b"], "hosts": {"a": {"rack": "r1"}}, "none": None, "empty": [], "count": 0}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("names", "a\nb"),
        ("hosts.a.rack", '"r1"'),
        ("hosts", '{\n  "a": {\n    "rack": "r1"\n  }\n}'),
        ("empty", ""),
        ("count", "0"),
    ],
)
def test_a_list_of_texts_is_lines_and_the_rest_is_json(query: str, text: str) -> None:
    assert answer(PLAN, query).text == text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("hosts[", "not a question in JMESPath"),
        ("", "not a question in JMESPath"),
        ("nothing(names)", "not a question in JMESPath"),
        ("join(',', names[0])", "not a question in JMESPath"),
        ("hots", "the plan has nothing at hots"),
        ("none", "the plan has nothing at none"),
    ],
)
def test_a_wrong_question_is_told_with_what_there_is_to_ask(query: str, said: str) -> None:
    with pytest.raises(GroundupError, match=said) as error:
        answer(PLAN, query)
    assert "plan_query" in str(error.value)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_of_the_page_has_an_answer(plan_of: Callable[..., Plan], recipe: str) -> None:
    plan: dict[str, Any] = json.loads(to_json(plan_of("ha")))
    assert answer(plan, recipe).text


def test_the_page_has_its_recipes() -> None:
    assert len(RECIPES) > 8


def test_a_zone_has_each_name_of_the_site_once_and_absolute(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("ha")
    lines = [line.split() for line in zone(plan).splitlines() if line[0] not in ";$"]
    records = {name.removesuffix("."): address for name, _, _, address in lines}
    assert len(records) == len(lines)
    assert all(name.endswith(".") for name, *_ in lines)
    assert records == plan.host.names | {host.fqdn: host.address for host in plan.hosts.values()}

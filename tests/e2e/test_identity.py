"""The cloud as its user sees it, from outside the cluster: names resolve, TLS verifies, a scoped token is issued."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def seen(outside: Callable[..., Any]) -> Any:
    """What openstacksdk got."""
    return outside("catalog.py")


def test_a_scoped_token_is_issued_through_the_public_name(seen: Any) -> None:
    assert seen["project"] == "admin"
    assert datetime.fromisoformat(seen["expires"]) > datetime.now(tz=UTC)


def test_the_catalog_lists_exactly_the_plan_s_public_endpoints(seen: Any, plan: Plan) -> None:
    project = seen["project_id"]
    routes = [one for one in plan.edge.endpoints if one.in_catalog]
    listed = {one.type: [one.url.replace("%(project_id)s", project)] for one in routes}
    older = [api for one in routes for api in RECORDS[one.service].apis if api.type == one.type and api.official]
    listed |= {api.official: listed[api.type] for api in older}
    assert seen["public"] == listed

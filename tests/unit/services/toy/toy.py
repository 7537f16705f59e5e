"""Toy: an API service that only a test knows. It is copied into a tree as plugins/plugin_utils/services/toy.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ansible_collections.groundup.cloud.plugins.plugin_utils.health.verification import Check, Verification
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import api_values, merge, public_endpoint
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.record import PublicApi, ServiceRecord, Values
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.secrets import secret
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.sizes import Sizes

if TYPE_CHECKING:
    from ansible_collections.groundup.cloud.plugins.plugin_utils.health.context import VerifierContext
    from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values."""
    own = {"conf": {"toy": {"DEFAULT": {"box_key": secret("toy/box-key")}}}}
    return merge(api_values(plan, sizes, "toy", memory="128Mi", limit="512Mi", cpu=100), own)


def verify(context: VerifierContext) -> Verification:
    """Return whether the API answers through its public name."""
    status = context.request("GET", public_endpoint(context.plan, "toy").url).status
    return Verification(checks=(Check(name="toys", ok=status < 500, detail=f"answers {status}"),))


SERVICE = ServiceRecord(
    name="toy",
    title="Toy",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="toy-box", host="toys", path="/v1", health="/healthcheck", port=8123, node_port=30123),
    images={"toy_api": "openstack", "toy_db_sync": "openstack"},
    secrets={"toy/box-key": "opens the box"},
    values=values,
    verify=verify,
)

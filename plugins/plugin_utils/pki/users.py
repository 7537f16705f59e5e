"""The users of the site's authority: who needs a certificate, by the plan."""

from __future__ import annotations

from ..plan.types import Plan
from .leaf import LeafSpec


def users(plan: Plan) -> tuple[LeafSpec, ...]:
    """Return the certificate of every user in the site."""
    edge = plan.edge
    return (LeafSpec(user="edge", names=(*(endpoint.name for endpoint in edge.endpoints), edge.address)),)

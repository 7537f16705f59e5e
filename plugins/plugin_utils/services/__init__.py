"""Chart values of every release, from the plan: what OpenStack-Helm's charts are told, and in which order.

Scope: plain values for a plan that is otherwise complete. Nothing here renders, reads a file or asks a cluster, and the
same values serve the built-in charts and the real ones.

    plan = replace(plan, openstack=replace(plan.openstack, releases=releases(plan)))
"""

from __future__ import annotations

from .releases import releases, with_images
from .secrets import SECRETS

__all__ = ["SECRETS", "releases", "with_images"]

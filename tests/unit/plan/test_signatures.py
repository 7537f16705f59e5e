"""Signatures of images: what Glance and Nova are told, and what a site that requires them hears."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

PlanOf = Callable[..., Plan]
BARBICAN = {"openstack/services": ["keystone", "placement", "glance", "neutron", "nova", "barbican"]}
REQUIRED = {**BARBICAN, "openstack/image_signatures": "required", "hardware/diskless/compute/disks": "host"}


def conf(plan: Plan, release: str) -> dict[str, Any]:
    """Return the options of a release."""
    (found,) = (one for one in plan.openstack.releases if one.name == release)
    options: dict[str, Any] = found.values["conf"][release]
    return options


@pytest.mark.parametrize(("changes", "required"), [({}, None), (BARBICAN, None), (REQUIRED, True)])
def test_nova_holds_images_to_their_signature_where_the_site_requires_it(
    plan_of: PlanOf, changes: dict[str, Any], required: bool | None
) -> None:
    plan = plan_of("cloud", changes)
    assert conf(plan, "nova")["glance"].get("verify_glance_signatures") is required
    assert conf(plan, "nova")["glance"]["timeout"], "what else is said of Glance stays"
    assert ("barbican" in conf(plan, "glance")) is bool(changes)


def test_a_site_with_disks_on_hosts_is_told_what_remains_outside_and_nothing_else(plan_of: PlanOf) -> None:
    """An image with its whole signature is no finding."""
    words = ("signature", "signature_hash_method", "signature_key_type", "signature_certificate_uuid")
    properties = {f"img_{word}": "x" for word in words}
    image = {"source": "/srv/guest.raw", "sha256": "a" * 64, "format": "raw", "properties": properties}
    plan = plan_of("cloud", {**REQUIRED, "cloud/images": {"guest": image}})
    found = {one.name for one in plan.findings if "signature" in one.name or "signed" in one.name}
    assert found == {"signatures-bind-moves"}

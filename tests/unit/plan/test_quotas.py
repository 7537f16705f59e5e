"""Default quotas by profile, and where images may come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import of_kind

PlanOf = Callable[..., Plan]


def conf(plan: Plan, service: str) -> Any:
    return next(one.values["conf"][service] for one in plan.openstack.releases if one.name == service)


def test_small_sites_have_openstacks_own_quotas_and_racks_more(plan_of: PlanOf) -> None:
    services = {"openstack/services": [record.name for record in of_kind("service")]}
    lab, region = plan_of("cloud", services), plan_of("region", services)
    assert conf(lab, "nova")["quota"]["instances"] == 10
    assert conf(lab, "cinder")["DEFAULT"]["quota_gigabytes"] == 1000
    assert conf(region, "nova")["quota"]["instances"] == 100
    assert conf(region, "neutron")["quotas"]["quota_port"] == 2000
    # What Cinder's migration wrote into its database would win over its file.
    assert conf(region, "cinder")["DEFAULT"]["use_default_quota_class"] is False


def test_a_quota_of_the_site_file_wins_and_memory_is_in_mib_at_nova(plan_of: PlanOf) -> None:
    written = {"openstack/quotas": {"ram_gb": 3, "cores": -1, "volume_gb": -1}}
    quota = conf(plan_of("cloud", written), "nova")["quota"]
    assert (quota["ram"], quota["cores"], quota["instances"]) == (3072, -1, 10)
    assert conf(plan_of("cloud", {"openstack/quotas": {"ram_gb": -1}}), "nova")["quota"]["ram"] == -1


@pytest.mark.parametrize(
    ("changes", "methods", "hosts"),
    [
        ({}, "[glance-direct]", None),
        ({"openstack/image_sources": ["cloud.debian.org"]}, "[glance-direct,web-download]", "[cloud.debian.org]"),
        ({"openstack/charts": "/srv/charts", "openstack/replicas": {"api": 2}}, "[]", None),
    ],
)
def test_glance_fetches_images_from_hosts_of_the_site_file_alone(
    plan_of: PlanOf, changes: dict[str, Any], methods: str, hosts: str | None
) -> None:
    glance = conf(plan_of("cloud", changes), "glance")
    assert glance["DEFAULT"]["enabled_import_methods"] == methods
    assert glance.get("import_filtering_opts", {}).get("allowed_hosts") == hosts
    assert glance["image_conversion"] == {"output_format": "raw"}  # of a site with Ceph

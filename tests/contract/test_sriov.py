"""Cards with virtual functions, as both sets of charts render them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor import ini
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import changed, example

from .conftest import CHARTS, Render, chart_in, chart_values, objects
from .derive import types
from .test_dns_names import secret
from .test_values import violations

SITE = changed(example("rack"), {"hardware/hypervisor/sriov/ens2f0np0": {"functions": 8, "network": "provider"}})
RELEASES = {
    one.name: one
    for one in with_values(make_plan(build_site(SITE))).openstack.releases
    if one.name in ("neutron", "nova")
}


@pytest.fixture(scope="module", params=["builtin", "openstack-helm"])
def items(request: pytest.FixtureRequest, render: Render) -> dict[str, list[dict[str, Any]]]:
    """The objects of a site with such cards, by release."""

    def chart(name: str) -> Path:
        if request.param == "builtin":
            return CHARTS / name
        return chart_in(request.getfixturevalue("real_charts"), name)

    return {name: objects(render(one, chart(one.chart))) for name, one in RELEASES.items()}


def test_neutron_has_the_driver_and_one_server_for_its_agents(items: dict[str, list[dict[str, Any]]]) -> None:
    files = secret(items["neutron"], "neutron-etc")
    assert ini.value(files["ml2_conf.ini"], "ml2", "mechanism_drivers") == "ovn,sriovnicswitch"
    assert ini.value(files["ml2_conf.ini"], "sriov_driver", "vnic_type_prohibit_list") == "direct-physical"
    assert ini.value(files["neutron.conf"], "DEFAULT", "rpc_workers") == "1"
    assert (ini.value(files["neutron.conf"], "DEFAULT", "transport_url") or "").startswith("rabbit://neutron:")
    named = [item for item in items["neutron"] if item["metadata"]["name"] == "neutron-rpc-server"]
    assert [item["kind"] for item in named if item["kind"] == "Deployment"] == ["Deployment"]


def test_the_scheduler_has_the_filter(items: dict[str, list[dict[str, Any]]]) -> None:
    filters = ini.value(secret(items["nova"], "nova-etc")["nova.conf"], "filter_scheduler", "enabled_filters") or ""
    assert filters.split(",")[-1] == "PciPassthroughFilter"


@pytest.mark.parametrize("name", RELEASES)
def test_values_for_cards_exist_in_both_charts(keys: Any, name: str) -> None:
    release = RELEASES[name]
    assert not list(violations(release.values, keys[release.chart]))
    own = violations(release.values, types(chart_values(release.chart)))
    assert not [fault for fault in own if not fault.startswith(("manifests.", "images.tags."))]

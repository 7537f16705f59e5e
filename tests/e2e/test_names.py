"""Names of a tenant's zones and instances are answered by the site's own name server, and are gone with what they name.

Needs tests/e2e/tenant/site.yml.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.name_server import name_server

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def tried(plan: Plan, outside: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a tenant, and the name server, saw."""
    if not plan.openstack.dns.name_servers:
        pytest.skip("a name server of the site is needed: see tests/e2e/tenant/site.yml")
    (address,) = plan.openstack.dns.name_servers.values()
    primaries = [one.address for one in plan.hosts.values() if "control" in one.roles]
    place: Path = tmp_path_factory.mktemp("name-server")
    with name_server(address, primaries, place) as log:
        try:
            return outside("names.py", str(guest_image(None, progress=lambda _: None)), address)
        finally:
            print(log.read_text(errors="replace")[-4000:])


def test_a_name_is_answered_while_it_is_there_and_no_longer(tried: Any) -> None:
    assert set(tried["seconds"]) == {"record", "floating IP", "floating IP gone", "zone gone"}
    print(tried["seconds"])


def test_an_instance_has_a_name_in_the_site_s_domain(plan: Plan, tried: Any) -> None:
    (assigned,) = tried["assigned"]
    assert assigned["fqdn"] == f"{tried['name']}.{plan.openstack.dns.domain}."
    assert assigned["ip_address"] in tried["guest"]

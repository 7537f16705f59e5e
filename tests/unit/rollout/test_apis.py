"""What the APIs answer, and what their verifiers make of it: a small cloud in memory, asked by its public names."""

from __future__ import annotations

import datetime
import hashlib
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import UnansweredError
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import (
    glance,
    neutron,
    nova,
    placement,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.probing import PROBE

from .fake_cloud import Cloud, Handler

OWN = ("address-group", "auto-allocated-topology", "network-ip-availability", "standard-attr-tag")
OLD = "2026-01-01T00:00:00Z"
NEW = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)).isoformat()  # however slow the tests run


def test_a_refused_administrator_is_a_matter_of_credentials(cloud: Cloud) -> None:
    cloud.routes.clear()
    cloud.on("POST identity.test/v3/auth/tokens", lambda **_: (401, None))
    (check,) = cloud.verify("placement").checks
    assert (check.ok, check.layer) == (False, "credentials")


def test_placement_answers_a_query_for_candidates_also_when_there_is_no_host(cloud: Cloud) -> None:
    cloud.on("GET placement.test/allocation_candidates", lambda **_: (200, {"allocation_requests": []}))
    cloud.on("GET placement.test/resource_providers", lambda **_: (200, {"resource_providers": []}))
    (check,) = cloud.verify("placement").checks
    assert (check.ok, check.detail) == (True, "no room for a small server on 0 hosts")
    assert not placement.judge(None, 0).ok


def test_an_api_that_answers_an_error_has_not_answered(cloud: Cloud) -> None:
    cloud.on("GET placement.test/allocation_candidates", lambda **_: (500, b"no database"))
    with pytest.raises(UnansweredError, match="500: no database"):
        cloud.verify("placement")


class Images:
    """Glance with one image that is put and read."""

    def __init__(self, cloud: Cloud, *, left: list[dict[str, str]], spoil: bytes = b"") -> None:
        self.content, self.deleted, self.spoil = b"", list[str](), spoil
        methods: Any = {"import-methods": {"value": []}}
        cloud.on("GET image.test/v2/info/import", lambda **_: (200, methods))
        cloud.on("GET image.test/v2/images", lambda **_: (200, {"images": left}))
        cloud.on("POST image.test/v2/images", lambda **_: (201, {"id": "mine"}))
        cloud.on("PUT image.test/v2/images/mine/file", self.put)
        cloud.on("GET image.test/v2/images/mine/file", lambda **_: (200, self.content + self.spoil))
        cloud.on("GET image.test/v2/images/mine", lambda **_: (200, self.record()))
        cloud.on(r"DELETE image.test/v2/images/(?P<name>\w+)", self.delete)

    def put(self, *, body: bytes) -> tuple[int, Any]:
        self.content = body
        return 204, None

    def record(self) -> dict[str, str]:
        return {"os_hash_algo": "sha512", "os_hash_value": hashlib.sha512(self.content).hexdigest()}

    def delete(self, *, name: str, body: Any) -> tuple[int, Any]:
        assert body is None
        self.deleted.append(name)
        return 204, None


def test_an_image_is_put_read_back_and_deleted_and_a_killed_runs_too(cloud: Cloud) -> None:
    left = [
        {"id": "old", "name": PROBE, "created_at": OLD},
        {"id": "busy", "name": PROBE, "created_at": NEW},
        {"id": "tenant", "name": "debian", "created_at": OLD},
    ]
    images = Images(cloud, left=left)
    imports, check = cloud.verify("glance").checks
    assert imports.ok
    assert check.ok
    assert len(images.content) == 256 * 1024
    assert images.deleted == ["old", "mine"]


def test_an_image_that_comes_back_otherwise_fails_and_is_deleted_all_the_same(cloud: Cloud) -> None:
    images = Images(cloud, left=[], spoil=b"!")
    imports, check = cloud.verify("glance").checks
    assert imports.ok
    assert not check.ok
    assert images.deleted == ["mine"]
    assert not glance.judge(b"a", b"a", algorithm="sha512", digest="another").ok


class Networks:
    """Neutron: what is made and not yet deleted."""

    def __init__(
        self, cloud: Cloud, *, agents: list[dict[str, Any]], router: int = 201, extensions: tuple[str, ...] = OWN
    ) -> None:
        self.made: list[str] = []
        mine: dict[str, dict[str, Any]] = {
            "network": {"mtu": 1442},
            "port": {"fixed_ips": [{"ip_address": "192.0.2.5"}]},
            "subnet": {},
        }
        cloud.on("GET network.test/v2.0/(?:routers|networks)", lambda **_: (200, {}))
        listed = {"extensions": [{"alias": alias} for alias in extensions]}
        cloud.on("GET network.test/v2.0/extensions", lambda **_: (200, listed))
        cloud.on("GET network.test/v2.0/agents", lambda **_: (200, {"agents": agents}))
        cloud.on("GET network.test/v2.0/ports", lambda **_: (200, {"ports": [{"id": "p1"}]}))
        for kind, more in mine.items():
            cloud.on(f"POST network.test/v2.0/(?P<kind>{kind})s", self.make(201, more))
        cloud.on("POST network.test/v2.0/(?P<kind>router)s", self.make(router, {}))
        cloud.on(r"PUT network.test/v2.0/routers/router1/\w+_router_interface", lambda **_: (200, {}))
        cloud.on(r"DELETE network.test/v2.0/\w+/(?P<name>\w+)", self.delete)

    def make(self, status: int, more: dict[str, Any]) -> Handler:
        def made(*, kind: str, body: Any) -> tuple[int, Any]:
            assert body[kind]["name"] == PROBE
            if status == 201:
                self.made.append(f"{kind}1")
            return status, {kind: {"id": f"{kind}1", **more}}

        return made

    def delete(self, *, name: str, body: Any) -> tuple[int, Any]:
        assert body is None
        self.made = [one for one in self.made if one != name and not (name == "network1" and one != "router1")]
        return 204, None


def test_a_network_with_port_and_router_is_made_and_nothing_stays(cloud: Cloud) -> None:
    networks = Networks(cloud, agents=[{"host": "hypervisor-1", "alive": True}])
    extensions, network, agents = cloud.verify("neutron").checks
    assert extensions.ok
    assert network.ok
    assert agents.ok
    assert "192.0.2.5" in network.detail
    assert networks.made == []


def test_an_extension_that_the_configuration_promises_and_the_api_lacks_is_named_with_its_plugin(cloud: Cloud) -> None:
    cloud.values = {
        "conf.neutron.DEFAULT.service_plugins": "ovn-router, trunk,a.class:OfASite",
        "conf.plugins.ml2_conf.ml2.extension_drivers": "port_security",
    }
    Networks(cloud, agents=[], extensions=(*OWN, "router", "port-security"))
    check = next(one for one in cloud.verify("neutron").checks if one.name == "extensions")
    assert (check.ok, check.detail) == (False, "not listed: trunk (of trunk)")


def test_what_was_made_before_a_failure_is_removed(cloud: Cloud) -> None:
    networks = Networks(cloud, agents=[], router=503)
    with pytest.raises(UnansweredError, match="503"):
        cloud.verify("neutron")
    assert networks.made == []


def test_a_network_with_another_mtu_than_the_plans_loses_large_packets() -> None:
    port = {"fixed_ips": [{"ip_address": "192.0.2.5"}]}
    check = neutron.judge_network({"mtu": 1500}, port, wanted=1442)
    assert not check.ok
    assert "its MTU is 1500, the plan's 1442" in check.detail
    assert not neutron.judge_network({"mtu": 1442}, {}, wanted=1442).ok


def test_one_dead_agent_is_named_and_all_dead_are_a_fault() -> None:
    agents = [{"host": "a", "alive": True}, {"host": "b", "alive": False}]
    assert neutron.judge_agents([]).ok
    assert neutron.judge_agents(agents).ok
    assert "not: b" in neutron.judge_agents(agents).detail
    assert not neutron.judge_agents(agents[1:]).ok


def service(binary: str, state: str = "up") -> dict[str, str]:
    return {"binary": binary, "state": state}


def test_nova_is_asked_for_services_and_for_servers_where_the_catalog_says(cloud: Cloud) -> None:
    up = [service("nova-conductor"), service("nova-scheduler"), service("nova-compute", "down")]
    cloud.on("GET compute.test/v2.1/os-services", lambda **_: (200, {"services": up}))
    cloud.on("GET compute.test/v2.1/servers/detail", lambda **_: (200, {"servers": []}))
    found = cloud.verify("nova")
    assert [(check.name, check.ok) for check in found.checks] == [
        ("cells", True),
        ("services", True),
        ("servers", True),
        ("certificate", True),
    ]
    assert found.checks[3].detail == "100 days left"
    assert "0 of 1 computes" in found.checks[1].detail


def test_a_service_that_is_down_and_a_cell_that_is_silent_are_named() -> None:
    check = nova.judge_services([service("nova-conductor"), service("nova-scheduler", "down")])
    assert (check.ok, check.object) == (False, "Deployment/nova-scheduler")
    assert not nova.judge_cells([]).ok
    assert not nova.judge_servers({"servers": [{"status": "UNKNOWN"}]}, url="u").ok
    assert not nova.judge_servers({}, url="u").ok

"""Keystone's verifier, and D6 of the whole site, against a real HTTPS server with the site's CA, from outside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.context import Verifier, VerifierContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.verification import Verification
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import UnansweredError, request
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import LoginPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import EndpointPlan, ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutError
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.verify.catalog import (
    judge_types,
    leave_catalog,
    verify_catalog,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.keystone import verify

from .fake_keystone import NAME, PASSWORD, Keystone, Services, authority, endpoint, image_at, service

LOGINS = LoginPlan(
    token_life=3600, compliance={"password_regex": ".{12,}", "password_regex_description": "at least 12 characters"}
)


def asked(
    keystone: Keystone,
    tmp_path: Path,
    *,
    password: str = PASSWORD,
    node_ports: tuple[int, ...] = (30500,),
    routes: tuple[EndpointPlan, ...] = (),
    releases: tuple[str, ...] | None = None,
    verifier: Verifier = verify_catalog,
) -> Verification:
    services = [service(f"of-{port}", port) for port in node_ports]
    endpoints = (endpoint("keystone", NAME, keystone.base, 30500), *routes)
    release = ReleasePlan(
        name="keystone", chart="keystone", version="2026.1.0", namespace="openstack", needs=(), verify="keystone",
        values={},
    )  # fmt: skip
    rolled_out = ("keystone", *(route.service for route in routes)) if releases is None else releases
    plan: Any = SimpleNamespace(
        domain="test",
        edge=SimpleNamespace(endpoints=endpoints, address="127.0.0.1"),
        host=SimpleNamespace(names={}),
        identity=SimpleNamespace(logins=LOGINS),
        openstack=SimpleNamespace(releases=[SimpleNamespace(name=name) for name in rolled_out]),
    )
    domain = {"user_domain_name": "default", "project_domain_name": "default"}
    admin = {"username": "admin", "password": password, "project_name": "admin", **domain}
    return verifier(
        VerifierContext(
            api=cast(Any, Services(services)), plan=plan, release=release, authority=tmp_path / "ca.crt",
            values={"endpoints": {"identity": {"auth": {"admin": admin}}}},
        )
    )  # fmt: skip


def named(names: dict[str, str]) -> Any:
    """Return as much of a plan as has ``names``."""
    return SimpleNamespace(host=SimpleNamespace(names=names), edge=SimpleNamespace(endpoints=(), address=""))


def failures(verification: Verification) -> dict[str, str]:
    return {check.name: check.detail for check in verification.checks if not check.ok}


def test_keystone_verifies_by_a_scoped_token_through_its_public_name(keystone: Keystone, tmp_path: Path) -> None:
    assert failures(asked(keystone, tmp_path, verifier=verify)) == {}
    assert keystone.seen_hosts == [f"{NAME}:{keystone.port}"]


def test_tokens_and_rules_for_passwords_are_the_plans(keystone: Keystone, tmp_path: Path) -> None:
    keystone.issued, keystone.rules = "00:00", ""
    found = failures(asked(keystone, tmp_path, verifier=verify))
    assert list(found) == ["token life", "password rules"]
    assert found["token life"].startswith("43200 s, by the plan 3600")
    assert found["password rules"] == "Keystone asks for nothing, the plan for .{12,}"


def test_a_wrong_password_is_a_matter_of_credentials(keystone: Keystone, tmp_path: Path) -> None:
    verification = asked(keystone, tmp_path, password="wrong", verifier=verify)
    assert [check.layer for check in verification.checks if not check.ok] == ["credentials"]


def test_a_service_that_runs_and_answers_500_does_not_verify(keystone: Keystone, tmp_path: Path) -> None:
    keystone.status = 500
    assert "answers 500" in failures(asked(keystone, tmp_path, verifier=verify))["token"]


def test_a_catalog_without_keystones_own_public_url_does_not_verify(keystone: Keystone, tmp_path: Path) -> None:
    keystone.urls = ["http://keystone-api.openstack.svc.cluster.local:5000/v3"]
    assert list(failures(asked(keystone, tmp_path, verifier=verify))) == ["endpoint"]


def test_keystone_does_not_judge_what_other_services_have_not_written_yet(keystone: Keystone, tmp_path: Path) -> None:
    image = endpoint("glance", "image.test", "https://image.test/", 30092)
    assert failures(asked(keystone, tmp_path, routes=(image,), verifier=verify)) == {}


def test_a_site_of_two_services_whose_catalog_routes_and_services_agree(keystone: Keystone, tmp_path: Path) -> None:
    image = image_at(keystone)
    keystone.urls.append(image.url)
    verification = asked(keystone, tmp_path, routes=(image,), node_ports=(30500, 30092))
    assert failures(verification) == {}
    assert [check.detail for check in verification.checks] == [
        "2 public endpoints", "2 routes", "no service has an older name", "2 resolve and verify from outside",
    ]  # fmt: skip
    assert verification.facts["token_expires_at"] == "2026-11-21T12:00:00Z"
    assert [entry["url"] for entry in verification.facts["catalog"]] == keystone.urls


def test_a_second_service_that_wrote_no_endpoint_is_found(keystone: Keystone, tmp_path: Path) -> None:
    found = asked(keystone, tmp_path, routes=(image_at(keystone),), node_ports=(30500, 30092))
    assert failures(found) == {"endpoints are routes": "route without an endpoint: image.test"}


def test_a_second_service_that_opens_no_node_port_is_found(keystone: Keystone, tmp_path: Path) -> None:
    keystone.urls.append(image_at(keystone).url)
    found = asked(keystone, tmp_path, routes=(image_at(keystone),))
    assert failures(found) == {"routes are services": "no Service behind image.test (port 30092)"}


@pytest.mark.parametrize("port", [30354, 30672, 31999])
def test_a_service_for_hosts_name_servers_or_of_an_operator_s_own_release_needs_no_route(
    keystone: Keystone, tmp_path: Path, port: int
) -> None:
    assert failures(asked(keystone, tmp_path, node_ports=(30500, port))) == {}


def test_a_service_that_is_kept_though_the_site_file_has_it_no_more_needs_no_route(
    keystone: Keystone, tmp_path: Path
) -> None:
    keystone.urls.append("https://image.test/")
    found = asked(keystone, tmp_path, node_ports=(30500, RECORDS["glance"].api.node_port))  # type: ignore[union-attr]  # Glance has an API
    assert failures(found) == {}
    assert "glance is no longer in the site file" in [check.detail for check in found.checks]


def test_so_does_one_that_hosts_serve(keystone: Keystone, tmp_path: Path) -> None:
    keystone.urls.append("https://object-store.test/swift/v1/AUTH_%(project_id)s")
    found = asked(keystone, tmp_path, node_ports=(30500,))
    assert failures(found) == {}
    assert "ceph-rgw is no longer in the site file" in [check.detail for check in found.checks]


def test_a_service_that_hosts_serve_needs_none_in_the_cluster(keystone: Keystone, tmp_path: Path) -> None:
    image = replace(image_at(keystone), node_port=0, servers={"storage-1": "10.0.0.1:8088"})
    keystone.urls.append(image.url)
    assert failures(asked(keystone, tmp_path, routes=(image,), node_ports=(30500,))) == {}


def test_a_service_that_the_catalog_has_by_its_older_type_alone_is_found() -> None:
    url = "https://volume.test/v3"
    routes = [replace(endpoint("cinder", "volume.test", url, 30877), type="volumev3")]
    older = {"type": "volumev3", "url": url}
    check = judge_types([older], routes)
    assert (check.ok, check.detail) == (False, f"volumev3 is not listed as block-storage, {url}")
    assert not judge_types([older, {"type": "block-storage", "url": "https://other.test/v3"}], routes).ok
    assert judge_types([older, {"type": "block-storage", "url": f"{url}/"}], routes).ok


def test_a_removed_service_leaves_the_catalog_and_no_other_does(keystone: Keystone, tmp_path: Path) -> None:
    keystone.services = ["identity", "volume", "orchestration", "cloudformation"]
    asked(keystone, tmp_path, verifier=lambda context: cast(Verification, leave_catalog(context, "cinder")))
    assert keystone.services == ["identity", "orchestration", "cloudformation"]
    asked(keystone, tmp_path, verifier=lambda context: cast(Verification, leave_catalog(context, "heat")))
    assert keystone.services == ["identity"]


def test_a_catalog_that_keeps_a_removed_service_is_an_error_with_the_command(
    keystone: Keystone, tmp_path: Path
) -> None:
    keystone.services, keystone.deletes = ["image"], 403
    with pytest.raises(RolloutError, match=r"still lists glance.*403") as error:
        asked(keystone, tmp_path, verifier=lambda context: cast(Verification, leave_catalog(context, "glance")))
    assert "openstack service delete ID" in error.value.remedy


def test_a_dashboard_has_a_route_and_no_endpoint(keystone: Keystone, tmp_path: Path) -> None:
    dashboard = replace(endpoint("horizon", "dashboard.test", "https://dashboard.test", 31000), in_catalog=False)
    assert failures(asked(keystone, tmp_path, routes=(dashboard,), node_ports=(30500, 31000))) == {}


def test_routes_of_services_that_are_not_rolled_out_are_not_judged(keystone: Keystone, tmp_path: Path) -> None:
    assert failures(asked(keystone, tmp_path, routes=(image_at(keystone),), releases=("keystone",))) == {}


def test_an_endpoint_without_a_route_is_found(keystone: Keystone, tmp_path: Path) -> None:
    keystone.urls.append("https://image.test/")
    wrong = failures(asked(keystone, tmp_path))
    assert wrong["endpoints are routes"] == "endpoint without a route: https://image.test/"
    assert "image.test is not one of the site's public names" in wrong["public urls"]


def test_a_route_without_a_service_is_found(keystone: Keystone, tmp_path: Path) -> None:
    found = failures(asked(keystone, tmp_path, node_ports=(30999,)))
    assert "no Service behind identity.test" in found["routes are services"]


def test_a_cluster_internal_url_in_the_catalog_is_found(keystone: Keystone, tmp_path: Path) -> None:
    keystone.urls = ["http://keystone-api.openstack.svc.cluster.local:5000/v3"]
    assert {"endpoints are routes", "public urls"} <= set(failures(asked(keystone, tmp_path)))


def test_a_certificate_of_another_authority_does_not_verify(keystone: Keystone, tmp_path: Path) -> None:
    authority(tmp_path, NAME)  # another CA in the same place
    assert "CERTIFICATE_VERIFY_FAILED" in failures(asked(keystone, tmp_path, verifier=verify))["token"]


def test_a_certificate_for_another_name_does_not_verify(keystone: Keystone, tmp_path: Path) -> None:
    plan = named({"volume.test": "127.0.0.1"})
    with pytest.raises(UnansweredError, match=r"volume.test.*doesn't match"):
        request("GET", f"https://volume.test:{keystone.port}/", plan=plan, authority=tmp_path / "ca.crt")


def test_names_are_looked_up_in_the_plan_only(tmp_path: Path) -> None:
    with pytest.raises(UnansweredError, match="localhost is not one of the site's public names"):
        request("GET", "https://localhost/", plan=named({}), authority=tmp_path / "ca.crt")

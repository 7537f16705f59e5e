"""Keystone's verifier, and D6 of the whole site, against a real HTTPS server with the site's CA, from outside."""

from __future__ import annotations

import datetime
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import EndpointPlan, ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Processes
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.engine import Rollout
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutError
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.verify import ask
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.verify.catalog import leave_catalog, verify_catalog
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.verify.context import VerifierContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.verify.https import request
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.keystone import verify
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.verification import (
    UnansweredError,
    Verification,
    Verifier,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = "identity.test"
PASSWORD = "right"


def authority(directory: Path, *names: str) -> tuple[Path, Path]:
    """Return a CA certificate, and a chain with its key for ``names``."""
    now = datetime.datetime.now(datetime.UTC)

    def certificate(subject: str, key: Any, issuer: str, issuer_key: Any, *extensions: Any) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=True)
        return builder.sign(issuer_key, hashes.SHA256())

    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = certificate("CA", ca_key, "CA", ca_key, x509.BasicConstraints(ca=True, path_length=0))
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    leaf = certificate(names[0], key, "CA", ca_key, alternatives)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    ca_file, chain = directory / "ca.crt", directory / "chain.pem"
    ca_file.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    chain.write_bytes(leaf.public_bytes(serialization.Encoding.PEM) + private)
    return ca_file, chain


class Keystone:
    """A small identity API. ``urls``: the public endpoints of its catalog."""

    def __init__(self, chain: Path) -> None:
        self.urls: list[str] = []
        self.services: list[str] = []  # names of its services
        self.deletes = 204  # what it answers to a deletion
        self.later: list[str] = []  # added once a token was issued
        self.status = 201
        self.seen_hosts: list[str] = []
        keystone = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """Issue a token for the right password."""
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                keystone.seen_hosts.append(self.headers["Host"])
                password = body["auth"]["identity"]["password"]["user"]["password"]
                if password != PASSWORD:
                    self.answer(401, {})
                    return
                public = {"interface": "public", "region": "RegionOne"}
                endpoints = [{**public, "url": url} for url in keystone.urls]
                token = {
                    "project": body["auth"]["scope"]["project"], "expires_at": "2026-11-21T12:00:00Z",
                    "catalog": [{"type": "identity", "name": "keystone", "endpoints": endpoints}],
                }  # fmt: skip
                self.answer(keystone.status, {"token": token}, {"X-Subject-Token": "t"})
                keystone.urls, keystone.later = keystone.urls + keystone.later, []

            def do_GET(self) -> None:
                """List endpoints; everything else is version discovery."""
                if self.path.endswith("/endpoints"):
                    entry = {"interface": "public", "service_id": "1"}
                    self.answer(200, {"endpoints": [{**entry, "url": url} for url in keystone.urls]})
                elif "/services?" in self.path:
                    asked = parse_qs(urlsplit(self.path).query)["name"]
                    self.answer(200, {"services": [{"id": name} for name in keystone.services if name in asked]})
                else:
                    self.answer(300, {})

            def do_DELETE(self) -> None:
                """Delete a service."""
                if keystone.deletes == 204:
                    keystone.services.remove(self.path.rpartition("/")[2])
                self.answer(keystone.deletes, {})

            def answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
                """Send JSON."""
                content = json.dumps(body).encode()
                self.send_response(status)
                for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.base = f"https://{NAME}:{self.port}/v3"
        self.urls = [self.base]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def service(name: str, port: int, namespace: str = "openstack") -> dict[str, Any]:
    """Return a Service with a node port."""
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"ports": [{"nodePort": port}]}}


class Services:
    """An API that lists Services."""

    def __init__(self, items: list[dict[str, Any]]) -> None:
        self.items = items

    def get(self, path: str) -> dict[str, Any]:
        """Return the Services."""
        assert path == "/api/v1/services"
        return {"items": self.items}


@pytest.fixture
def keystone(tmp_path: Path) -> Iterator[Keystone]:
    _, chain = authority(tmp_path, NAME, "image.test")
    running = Keystone(chain)
    yield running
    running.server.shutdown()
    running.server.server_close()


def endpoint(service: str, name: str, url: str, node_port: int) -> EndpointPlan:
    return EndpointPlan(service=service, type=service, name=name, url=url, node_port=node_port, health_path="/v3/")


def asked(
    keystone: Keystone,
    tmp_path: Path,
    *,
    password: str = PASSWORD,
    node_ports: tuple[int, ...] = (30500,),
    routes: tuple[EndpointPlan, ...] = (),
    releases: tuple[str, ...] | None = None,
    for_hosts: tuple[int, ...] = (),
    verifier: Verifier = verify_catalog,
) -> Verification:
    services = [service(f"of-{port}", port) for port in node_ports]
    services += [service(f"of-{port}-hosts", port) for port in for_hosts]
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
    image = endpoint("glance", "image.test", "https://image.test/", 30292)
    assert failures(asked(keystone, tmp_path, routes=(image,), verifier=verify)) == {}


def image_at(keystone: Keystone) -> EndpointPlan:
    """Return the route of a second service, which answers where Keystone does."""
    return endpoint("glance", "image.test", f"https://image.test:{keystone.port}", 30292)


def test_a_site_of_two_services_whose_catalog_routes_and_services_agree(keystone: Keystone, tmp_path: Path) -> None:
    image = image_at(keystone)
    keystone.urls.append(image.url)
    verification = asked(keystone, tmp_path, routes=(image,), node_ports=(30500, 30292))
    assert failures(verification) == {}
    assert [check.detail for check in verification.checks] == [
        "2 public endpoints", "2 routes", "2 resolve and verify from outside",
    ]  # fmt: skip
    assert verification.facts["token_expires_at"] == "2026-11-21T12:00:00Z"
    assert [entry["url"] for entry in verification.facts["catalog"]] == keystone.urls


def test_a_second_service_that_wrote_no_endpoint_is_found(keystone: Keystone, tmp_path: Path) -> None:
    found = asked(keystone, tmp_path, routes=(image_at(keystone),), node_ports=(30500, 30292))
    assert failures(found) == {"endpoints are routes": "route without an endpoint: image.test"}


def test_a_second_service_that_opens_no_node_port_is_found(keystone: Keystone, tmp_path: Path) -> None:
    keystone.urls.append(image_at(keystone).url)
    found = asked(keystone, tmp_path, routes=(image_at(keystone),))
    assert failures(found) == {"routes are services": "no Service behind image.test (port 30292)"}


def test_a_service_that_no_route_leads_to_is_found(keystone: Keystone, tmp_path: Path) -> None:
    found = failures(asked(keystone, tmp_path, node_ports=(30500, 30292)))
    assert found == {"routes are services": "Service without a route: of-30292 (port 30292)"}


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


def test_a_removed_service_leaves_the_catalog_and_no_other_does(keystone: Keystone, tmp_path: Path) -> None:
    keystone.services = ["keystone", "glance"]
    asked(keystone, tmp_path, verifier=lambda context: cast(Verification, leave_catalog(context, "glance")))
    assert keystone.services == ["keystone"]


def test_a_catalog_that_keeps_a_removed_service_is_an_error_with_the_command(
    keystone: Keystone, tmp_path: Path
) -> None:
    keystone.services, keystone.deletes = ["glance"], 403
    with pytest.raises(RolloutError, match=r"still lists glance.*403") as error:
        asked(keystone, tmp_path, verifier=lambda context: cast(Verification, leave_catalog(context, "glance")))
    assert "openstack service delete glance" in error.value.remedy


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


def test_a_service_for_the_sites_own_hosts_needs_no_route(keystone: Keystone, tmp_path: Path) -> None:
    assert failures(asked(keystone, tmp_path, for_hosts=(30672,))) == {}
    assert "of-30672" in failures(asked(keystone, tmp_path, node_ports=(30500, 30672)))["routes are services"]


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


class Store:
    """A secrets store without references."""

    def resolve(self, values: Any) -> Any:
        """Return ``values``."""
        return values

    def items(self) -> dict[str, str]:
        """Return no secret."""
        return {}


def rollout_of(keystone: Keystone, tmp_path: Path, *routes: EndpointPlan) -> Rollout:
    """Return the rollout of a site with Keystone and the services of ``routes``."""
    admin = {"username": "admin", "password": PASSWORD, "project_name": "admin", "user_domain_name": "default"}
    values = {"endpoints": {"identity": {"auth": {"admin": {**admin, "project_domain_name": "default"}}}}}
    releases = [
        ReleasePlan(
            name=name, chart=name, version="2026.1.0", namespace="openstack", needs=(), values=values,
            verify="keystone" if name == "keystone" else "workloads",
        )
        for name in ("keystone", *(route.service for route in routes))
    ]  # fmt: skip
    endpoints = (endpoint("keystone", NAME, keystone.base, 30500), *routes)
    ports = [service(one.service, one.node_port) for one in endpoints]
    plan: Any = SimpleNamespace(
        site="test", domain="test", edge=SimpleNamespace(endpoints=endpoints, address="127.0.0.1"),
        host=SimpleNamespace(names={}), openstack=SimpleNamespace(releases=releases, namespace="openstack"),
    )  # fmt: skip
    nothing: Any = None
    return Rollout(
        plan=plan, api=cast(Any, Services(ports)), helm=nothing, processes=Processes(), secrets=Store(),
        authority=tmp_path / "ca.crt", say=lambda _line: None,
    )  # fmt: skip


def test_the_site_is_judged_once_after_all_releases_and_its_catalog_is_read_then(
    keystone: Keystone, tmp_path: Path
) -> None:
    image = image_at(keystone)
    keystone.later = [image.url]  # glance writes its endpoint after Keystone verified
    result = rollout_of(keystone, tmp_path, image).verify()
    assert not result.failed
    assert [check.name for check in result.site] == ["endpoints are routes", "routes are services", "public urls"]
    assert [entry["url"] for entry in result.facts["catalog"]] == [keystone.base, image.url]


def test_a_site_whose_catalog_lacks_a_service_has_a_card_of_its_own(keystone: Keystone, tmp_path: Path) -> None:
    result = rollout_of(keystone, tmp_path, image_at(keystone)).verify()
    assert result.failed
    assert {report.state for report in result.releases} == {"ready"}
    card = result.cards[0]
    assert (card.release, card.layer, card.object) == ("site test", "network", "the catalog")
    assert "route without an endpoint: image.test" in card.what


def test_after_a_rollout_the_site_is_asked_until_it_agrees_or_time_is_up(
    keystone: Keystone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "_PAUSE", 0.0)
    image = image_at(keystone)
    verifiers = rollout_of(keystone, tmp_path, image)._verifiers
    gone = verifiers.ask_site(patience=0.0, go_on=lambda: pytest.fail("there was no time for a second question"))
    assert gone is not None
    assert not gone.ok
    found = verifiers.ask_site(patience=30.0, go_on=lambda: keystone.urls.append(image.url))
    assert found is not None
    assert found.ok


def test_a_site_without_a_keystone_of_its_own_has_no_catalog_to_judge(keystone: Keystone, tmp_path: Path) -> None:
    rollout = rollout_of(keystone, tmp_path)
    rollout._plan.openstack.releases[0] = replace(rollout._plan.openstack.releases[0], verify="workloads")  # type: ignore[index]  # a list in this test
    assert rollout._verifiers.ask_site(patience=0.0, go_on=lambda: None) is None


def test_a_question_without_an_answer_is_a_failed_check_of_that_release_alone(
    keystone: Keystone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that left the verifier would end the questions to all others, too."""

    def silent(_context: VerifierContext) -> Verification:
        raise UnansweredError("no route to host", where="https://image.test")

    monkeypatch.setitem(RECORDS, "keystone", replace(RECORDS["keystone"], verify=silent))
    rollout = rollout_of(keystone, tmp_path, image_at(keystone))
    states = {report.name: report.state for report in rollout.verify().releases}
    assert states == {"keystone": "failed", "glance": "ready"}

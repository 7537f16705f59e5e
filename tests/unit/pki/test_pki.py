"""The site's authority and its certificates: made once, renewed in time, accepted by a strict TLS client."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import (
    Authority,
    Leaf,
    LeafSpec,
    PkiError,
    ensure_authority,
    ensure_leaf,
    users,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki.leaf import Usage
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, SecretsError, Store
from cryptography import x509

LAB = Path(__file__).parents[3] / "inventories" / "lab" / "site.yml"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
HOSTS = ("identity.lab.test", "compute.lab.test", "10.99.0.10")
EDGE = LeafSpec(user="edge", names=HOSTS)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path, PasswordSource(path=tmp_path / "password", ours=True))


def issue(store: Store, spec: LeafSpec = EDGE, *, now: datetime = NOW) -> tuple[Authority, Leaf]:
    directory = store.path.parent
    authority = ensure_authority(store, directory, site="lab", now=now)
    return authority, ensure_leaf(authority, store, directory, spec, now=now)


def test_a_second_run_writes_nothing(store: Store) -> None:
    first, leaf = issue(store)
    assert (first.reason, leaf.reason) == ("new", "new")
    again, leaf_again = issue(store)
    assert (again.reason, leaf_again.reason) == ("", "")
    assert (again.pem, leaf_again.pem) == (first.pem, leaf.pem)


def test_a_strict_client_that_trusts_the_authority_accepts_the_server_by_each_name(store: Store) -> None:
    authority, leaf = issue(store, now=datetime.now(UTC))
    chain = store.path.parent / "server.pem"
    chain.write_text(leaf.pem + store.get("pki/edge-key"))
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(chain)
    client = ssl.create_default_context(cadata=authority.pem)
    client.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    for name in HOSTS:
        ours, theirs = socket.socketpair()

        def accept(end: socket.socket = theirs) -> None:
            server.wrap_socket(end, server_side=True).close()

        thread = threading.Thread(target=accept)
        thread.start()
        with client.wrap_socket(ours, server_hostname=name) as connection:
            assert connection.version() == "TLSv1.3"
        thread.join()


def test_a_certificate_is_issued_again_for_other_names_with_the_same_key(store: Store) -> None:
    _, before = issue(store)
    _, after = issue(store, replace(EDGE, names=(*HOSTS, "image.lab.test")))
    assert after.reason == "other names"
    assert after.certificate.public_key() == before.certificate.public_key()
    names = after.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "image.lab.test" in names.get_values_for_type(x509.DNSName)


@pytest.mark.parametrize(("days", "reason"), [(306, ""), (308, "close to its end")])
def test_a_certificate_is_renewed_ninety_days_before_its_end(store: Store, days: int, reason: str) -> None:
    issue(store)
    assert issue(store, now=NOW + timedelta(days=days))[1].reason == reason


def test_a_renewed_authority_still_vouches_for_what_it_issued_before(store: Store) -> None:
    first, _ = issue(store)
    later = NOW + timedelta(days=3000)
    renewed, _ = issue(store, now=later)
    assert renewed.reason == "close to its end"
    assert renewed.certificate.not_valid_after_utc > first.certificate.not_valid_after_utc
    leaf = ensure_leaf(first, store, store.path.parent, LeafSpec(user="other", names=("a.lab.test",)), now=NOW)
    leaf.certificate.verify_directly_issued_by(renewed.certificate)


def test_a_lost_certificate_of_the_authority_is_written_again_for_the_same_key(store: Store) -> None:
    first, leaf = issue(store)
    (store.path.parent / "ca.crt").unlink()
    again, leaf_again = issue(store)
    assert again.certificate.public_key() == first.certificate.public_key()
    assert leaf_again.pem == leaf.pem


def test_a_certificate_of_another_authority_is_refused(store: Store, tmp_path: Path) -> None:
    issue(store)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = Store.open(elsewhere, PasswordSource(path=tmp_path / "password", ours=True))
    (tmp_path / "ca.crt").write_text(issue(other)[0].pem)
    with pytest.raises(PkiError, match="does not belong"):
        issue(store)


def test_a_damaged_certificate_is_an_error_that_says_what_to_do(store: Store, tmp_path: Path) -> None:
    issue(store)
    (tmp_path / "ca.crt").write_text("scribble")
    with pytest.raises(PkiError, match=r"remove .*ca\.crt"):
        issue(store)


def test_a_key_that_is_none_is_refused_without_showing_it(store: Store) -> None:
    store._values["pki/ca-key"] = "certainly not a key"  # as if restored from a damaged backup
    with pytest.raises(PkiError) as error:
        issue(store)
    assert "certainly" not in str(error.value)
    assert error.value.__cause__ is None


def test_the_authority_does_not_show_its_key(store: Store) -> None:
    authority, _ = issue(store)
    assert "key" not in repr(authority)


def test_check_mode_predicts_and_writes_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    store = Store.open(site, PasswordSource(path=tmp_path / "password", ours=True), write=False)
    authority = ensure_authority(store, site, site="lab", now=NOW, write=False)
    leaf = ensure_leaf(authority, store, site, EDGE, now=NOW, write=False)
    assert (authority.reason, leaf.reason) == ("new", "new")
    assert not site.exists()


@pytest.mark.parametrize(
    ("usage", "serves", "asks"), [("server", True, False), ("client", False, True), ("both", True, True)]
)
def test_openssl_accepts_a_certificate_for_its_usage_and_no_other(
    store: Store, usage: Usage, *, serves: bool, asks: bool
) -> None:
    spec = LeafSpec(user="compute-1", names=("compute-1.lab.test", "10.99.0.51", "fd00::51"), usage=usage, days=90)
    authority, leaf = issue(store, spec, now=datetime.now(UTC))
    directory = store.path.parent
    for purpose, accepted in (("sslserver", serves), ("sslclient", asks)):
        for name in ("-verify_hostname=compute-1.lab.test", "-verify_ip=10.99.0.51", "-verify_ip=fd00::51"):
            found = subprocess.run(
                ["openssl", "verify", "-x509_strict", "-CAfile", directory / "ca.crt", "-purpose", purpose,
                 *name.split("="), directory / "pki/compute-1.crt"],
                capture_output=True, check=False,
            )  # fmt: skip
            assert (found.returncode == 0) is accepted, (purpose, name, found.stderr)
    life = leaf.certificate.not_valid_after_utc - datetime.now(UTC)
    assert timedelta(days=89) < life <= timedelta(days=90)
    leaf.certificate.verify_directly_issued_by(authority.certificate)


def test_what_a_leaf_s_key_is_for_is_no_reason_for_libvirt_9_to_refuse_it(store: Store) -> None:
    """It ends at a critical key usage without key encipherment, which an elliptic-curve key cannot have."""
    usage = issue(store)[1].certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.value.digital_signature
    assert not usage.critical


def test_a_client_needs_no_name_beside_its_own(store: Store) -> None:
    _, leaf = issue(store, LeafSpec(user="ovn-controller", usage="client"))
    assert leaf.certificate.subject.rfc4514_string() == "CN=ovn-controller"
    with pytest.raises(x509.ExtensionNotFound):
        leaf.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert issue(store, LeafSpec(user="ovn-controller", usage="client"))[1].reason == ""


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({}, ""),
        ({"names": HOSTS[::-1]}, ""),
        ({"names": HOSTS[1:]}, "other names"),
        ({"usage": "both"}, "another usage"),
        ({"days": 30}, "another life"),
    ],
)
def test_a_certificate_is_issued_again_when_something_else_is_wanted(
    store: Store, wanted: dict[str, Any], reason: str
) -> None:
    issue(store)
    assert issue(store, replace(EDGE, **wanted))[1].reason == reason
    assert issue(store, replace(EDGE, **wanted))[1].reason == ""


@pytest.mark.parametrize(("left", "reason"), [(31, ""), (29, "close to its end")])
def test_a_short_life_is_renewed_when_a_third_is_left(store: Store, left: int, reason: str) -> None:
    spec = LeafSpec(user="ovn-nb", names=("ovn-nb.lab.test",), days=90)
    issue(store, spec)
    assert issue(store, spec, now=NOW + timedelta(days=90 - left))[1].reason == reason


def test_each_user_has_a_key_and_a_certificate_of_its_own(store: Store) -> None:
    _, edge = issue(store)
    _, other = issue(store, LeafSpec(user="ovn-nb", names=("ovn-nb.lab.test",), usage="both"))
    assert edge.certificate.public_key() != other.certificate.public_key()
    assert issue(store)[1].reason == ""
    assert sorted(path.name for path in (store.path.parent / "pki").iterdir()) == ["edge.crt", "ovn-nb.crt"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"user": "ca"}, "'ca' is no user"),
        ({"user": "a/b"}, "'a/b' is no user"),
        ({"user": "../edge"}, "is not the name of a secret"),
        ({"user": "edge", "names": ()}, "no name"),
        ({"user": "edge", "days": 801}, "a life of 801 days"),
        ({"user": "edge", "days": 0}, "a life of 0 days"),
    ],
)
def test_a_certificate_that_nobody_could_use_is_refused(spec: dict[str, Any], said: str) -> None:
    with pytest.raises((PkiError, SecretsError), match=said):
        LeafSpec(**{"names": ("a.lab.test",), **spec})


def test_a_site_has_the_certificate_of_its_edge_with_the_public_names_and_the_virtual_ip(store: Store) -> None:
    plan = make_plan(load_site(LAB))
    edge = next(spec for spec in users(plan) if spec.user == "edge")
    assert (edge.key_name, edge.usage) == ("pki/edge-key", "server")
    assert set(edge.names) == {"identity.lab.test", plan.edge.address}
    _, leaf = issue(store, edge)
    assert store.get(edge.key_name) not in repr(leaf) + repr(edge) + leaf.pem


def test_the_seed_has_a_certificate_with_every_name_and_address_hosts_reach_it_by() -> None:
    site = load_site(LAB)
    (seed,) = (spec for spec in users(make_plan(site)) if spec.user == "seed")
    assert set(seed.names) == {"registry.lab.test", "seed-1.lab.test", "10.90.0.8", "127.0.0.1"}
    assert seed.usage == "server"


def test_a_site_with_a_registry_of_its_own_makes_no_certificate_for_it() -> None:
    plan = make_plan(load_site(LAB))
    plan = replace(plan, supply=replace(plan.supply, seed=None))
    assert [spec.user for spec in users(plan)] == ["edge", "galera"]


def test_members_of_the_database_have_an_authority_that_signs_nothing_else(store: Store) -> None:
    """A certificate of the site's CA, which many have, must not let anybody join and copy every database."""
    specs = users(make_plan(load_site(LAB)))
    assert [(spec.user, spec.usage) for spec in specs if spec.authority == "galera"] == [("galera", "both")]
    directory = store.path.parent
    site = ensure_authority(store, directory, site="lab", now=NOW)
    own = ensure_authority(store, directory, site="lab", use="galera", now=NOW)
    assert (directory / "pki/authority/galera.crt").read_text() == own.pem
    assert site.certificate.public_key() != own.certificate.public_key()
    assert ensure_authority(store, directory, site="lab", use="galera", now=NOW).reason == ""
    (spec,) = (spec for spec in specs if spec.authority == "galera")
    leaf = ensure_leaf(own, store, directory, spec, now=NOW)
    leaf.certificate.verify_directly_issued_by(own.certificate)
    assert ensure_leaf(own, store, directory, spec, now=NOW).reason == ""
    assert ensure_leaf(site, store, directory, spec, now=NOW).reason == "another authority"


def test_no_certificate_takes_the_key_of_an_authority() -> None:
    with pytest.raises(PkiError, match="is no user of the authority"):
        LeafSpec(user="authority/galera", names=("a",))


def test_a_site_with_neutron_has_a_certificate_a_member_of_ovns_databases_and_one_for_their_clients() -> None:
    plan = make_plan(load_site(LAB))
    plan = replace(plan, openstack=replace(plan.openstack, services=("keystone", "neutron")))
    member, client = (spec for spec in users(plan) if "ovn" in spec.user)
    assert (member.user, member.usage, set(member.names)) == (
        "ovn-control-1", "both", {"control-1.lab.test", plan.hosts["control-1"].address},
    )  # fmt: skip
    assert (client.user, client.usage, client.names) == ("neutron-ovn", "client", ())


def test_a_hypervisor_that_has_the_name_of_a_certificate_is_refused() -> None:
    plan = make_plan(load_site(LAB.parents[1] / "cloud/site.yml"))
    hosts = {**plan.hosts, "edge": replace(plan.hosts["hypervisor-1"], name="edge")}
    with pytest.raises(GroundupError, match="a hypervisor is called edge"):
        users(replace(plan, hosts=hosts))

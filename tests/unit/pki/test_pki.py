"""The site's authority and its certificates: made once, renewed in time, accepted by a strict TLS client."""

from __future__ import annotations

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import (
    Authority,
    Leaf,
    PkiError,
    ensure_authority,
    ensure_leaf,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.secrets import PasswordSource, Store
from cryptography import x509

NOW = datetime(2026, 11, 21, tzinfo=UTC)
HOSTS = ["identity.lab.test", "compute.lab.test", "10.99.0.10"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path, PasswordSource(path=tmp_path / "password", ours=True))


def issue(store: Store, hosts: list[str] = HOSTS, *, now: datetime = NOW) -> tuple[Authority, Leaf]:
    directory = store.path.parent
    authority = ensure_authority(store, directory, site="lab", now=now)
    return authority, ensure_leaf(authority, store, directory, name="edge", hosts=hosts, now=now)


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
    _, after = issue(store, [*HOSTS, "image.lab.test"])
    assert after.reason == "other names"
    assert after.certificate.public_key() == before.certificate.public_key()
    names = after.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "image.lab.test" in names.get_values_for_type(x509.DNSName)


@pytest.mark.parametrize(("days", "reason"), [(366, ""), (368, "close to its end")])
def test_a_certificate_is_renewed_thirty_days_before_its_end(store: Store, days: int, reason: str) -> None:
    issue(store)
    assert issue(store, now=NOW + timedelta(days=days))[1].reason == reason


def test_a_renewed_authority_still_vouches_for_what_it_issued_before(store: Store) -> None:
    first, _ = issue(store)
    later = NOW + timedelta(days=3000)
    renewed, _ = issue(store, now=later)
    assert renewed.reason == "close to its end"
    assert renewed.certificate.not_valid_after_utc > first.certificate.not_valid_after_utc
    leaf = ensure_leaf(first, store, store.path.parent, name="other", hosts=["a.lab.test"], now=NOW)
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
    leaf = ensure_leaf(authority, store, site, name="edge", hosts=HOSTS, now=NOW, write=False)
    assert (authority.reason, leaf.reason) == ("new", "new")
    assert not site.exists()

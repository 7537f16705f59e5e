"""The controller's kubeconfig: one that serves is kept, whichever control host it came from."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import access
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .conftest import certificate, pem


def kubeconfig(ca: str, *, server: str = "https://10.0.0.2:6443", certificate: str = "CERT", key: str = "KEY") -> str:
    def coded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    return (
        "apiVersion: v1\nclusters:\n- cluster:\n"
        f"    certificate-authority-data: {coded(ca)}\n    server: {server}\n  name: c\n"
        "users:\n- name: admin\n  user:\n"
        f"    client-certificate-data: {coded(certificate)}\n    client-key-data: {coded(key)}\n"
    )


@pytest.fixture
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))


@pytest.mark.usefixtures("_state")
def test_the_kubeconfig_is_for_its_owner_alone_and_written_once() -> None:
    text = kubeconfig(pem(certificate()))
    assert access.load("s") is None
    assert access.differs("s", text)
    assert access.keep("s", text)
    assert access.kubeconfig_path("s").stat().st_mode & 0o777 == 0o600
    assert not access.keep("s", text)
    assert not access.differs("s", text)


def admin_of(ca: str, *, days: int = 365, server: str = "https://10.0.0.2:6443") -> str:
    """Return the kubeconfig of one control host, with a certificate of its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return kubeconfig(ca, server=server, certificate=pem(certificate(days=days, key=key)), key=private.decode())


@pytest.mark.usefixtures("_state")
def test_the_kubeconfig_of_another_control_host_of_the_cluster_is_no_better() -> None:
    ca = pem(certificate())
    access.keep("s", admin_of(ca))
    assert not access.differs("s", admin_of(ca))
    assert not access.keep("s", admin_of(ca))


@pytest.mark.usefixtures("_state")
@pytest.mark.parametrize("fault", ["ends", "server", "key"])
def test_a_kubeconfig_that_does_not_serve_is_replaced(fault: str) -> None:
    ca = pem(certificate())
    kept = {
        "ends": admin_of(ca, days=29),
        "server": admin_of(ca, server="https://10.0.0.3:6443"),
        "key": kubeconfig(ca, certificate=pem(certificate()), key="no key"),
    }[fault]
    access.keep("s", kept)
    fresh = admin_of(ca)
    assert access.differs("s", fresh)
    assert access.keep("s", fresh)
    assert access.kubeconfig_path("s").read_text() == fresh


@pytest.mark.usefixtures("_state")
@pytest.mark.parametrize("lost", [True, False])
def test_a_kubeconfig_of_another_cluster_never_takes_the_place_of_the_sites_own(lost: bool) -> None:
    """Also when the one on the controller is lost: the record says which cluster is the site's."""
    ours, other = pem(certificate()), pem(certificate())
    access.keep("s", kept := admin_of(ours))
    path = access.kubeconfig_path("s")
    if lost:
        path.unlink()
    with pytest.raises(GroundupError, match=r"(?s)of the cluster with the CA .*that of site s has.*host control-2"):
        access.keep("s", admin_of(other), host="control-2")
    assert path.exists() != lost
    assert access.keep("s", kept) == lost
    assert path.read_text() == kept


@pytest.mark.usefixtures("_state")
def test_the_controller_knows_the_cluster_by_its_record_or_its_kubeconfig_and_refuses_two() -> None:
    ca = certificate()
    digest = hashlib.sha256(ca.public_bytes(serialization.Encoding.DER)).hexdigest()
    assert access.known_ca("s") is None
    access.keep("s", kubeconfig(pem(ca)))
    record, path = access.record_path("s"), access.kubeconfig_path("s")
    assert access.known_ca("s") == digest
    path.unlink()
    assert access.known_ca("s") == digest
    path.write_text(kubeconfig(pem(ca)))
    record.unlink()
    assert access.known_ca("s") == digest, "a site from before there was a record"
    access.keep("s", path.read_text())
    path.write_text(kubeconfig(pem(certificate())))
    with pytest.raises(GroundupError, match=r"(?s)that of site s has.*recorded in .*cluster\.json") as caught:
        access.known_ca("s")
    assert "move the kubeconfig away" in caught.value.remedy
    path.rename(path.with_name("kubeconfig.old"))
    assert access.keep("s", kubeconfig(pem(ca)))
    record.write_text("{")
    for ask in (access.known_ca, access.known_nodes, lambda site: access.keep_nodes(site, ["worker-1"])):
        with pytest.raises(GroundupError, match="the record of the cluster of site s cannot be read"):
            ask("s")


@pytest.mark.usefixtures("_state")
def test_a_kubeconfig_says_which_cluster_it_is_of_and_hides_its_key() -> None:
    ca = certificate()
    access.keep("s", kubeconfig(pem(ca)))
    loaded = access.load("s")
    assert loaded
    assert loaded.ca_fingerprint == hashlib.sha256(ca.public_bytes(serialization.Encoding.DER)).hexdigest()
    assert "KEY" not in repr(loaded)


@pytest.mark.usefixtures("_state")
@pytest.mark.parametrize("text", ["", "[]", "{", "clusters: []", kubeconfig("no certificate")])
def test_a_damaged_kubeconfig_is_named_and_not_taken_for_no_cluster(text: str) -> None:
    access.keep("s", text)
    with pytest.raises(GroundupError, match="the admin kubeconfig of site s is damaged"):
        access.load("s")


@pytest.mark.usefixtures("_state")
def test_the_nodes_of_the_cluster_are_noted_beside_its_ca_and_forgotten_with_it() -> None:
    access.keep_nodes("s", ["worker-1"])
    assert access.known_nodes("s") == frozenset(), "no cluster is known"
    access.keep("s", kubeconfig(pem(certificate())))
    ca = access.known_ca("s")
    access.keep_nodes("s", {"worker-1", "control-1"})
    assert access.known_nodes("s") == frozenset(("worker-1", "control-1"))
    assert access.known_ca("s") == ca
    before = access.record_path("s").stat().st_ino
    access.keep_nodes("s", ["control-1", "worker-1"])
    assert access.record_path("s").stat().st_ino == before, "written only when they changed"

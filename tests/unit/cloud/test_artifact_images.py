"""An image of the site file that is a layer of an OCI artifact: fetched by skopeo, compared, uploaded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.tests.unit.supply import artifacts
from ansible_collections.groundup.cloud.tests.unit.supply.registry import INDEX, Registry, running

from .resources_api import Apis
from .test_resources import plan, run

DISK, README = b"a disk" * 1000, b"read me"


@pytest.fixture
def registry() -> Iterator[Registry]:
    """A registry with an artifact of two layers."""
    with running() as server:
        artifacts.put(server, "images/debian", "13", {"disk.qcow2": DISK, "README": README})
        yield server


def uploaded(registry: Registry, reference: str, sha256: str = artifacts.sha256(DISK)) -> list[bytes]:
    """Converge a cloud with the image; return what Glance got."""
    apis = Apis()
    image = {"source": f"oci://{registry.address}/{reference}", "sha256": sha256}
    run(apis, plan({"images": {"debian": image}}))
    assert run(apis, plan({"images": {"debian": {**image, "min_disk_gb": 1}}})).done == [
        "change image debian of domain Default: min_disk"
    ]
    return apis.uploads


def test_the_layer_of_that_digest_is_uploaded_once_by_tag_or_by_digest(registry: Registry) -> None:
    assert uploaded(registry, "images/debian:13") == [DISK]
    manifest = artifacts.sha256(registry.manifests["images/debian", "13"])
    assert uploaded(registry, f"images/debian@sha256:{manifest}") == [DISK]
    assert uploaded(registry, "images/debian:13", artifacts.sha256(README)) == [README]


def damaged(registry: Registry) -> None:
    registry.blobs[f"sha256:{artifacts.sha256(DISK)}"] = DISK[:-1] + b"?"


def shorter(registry: Registry) -> None:
    found = json.loads(registry.manifests["images/debian", "13"])
    found["layers"][0]["size"] -= 1
    artifacts.tag(registry, "images/debian", "13", json.dumps(found).encode())


def listed(registry: Registry) -> None:
    one = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": f"sha256:{'7' * 64}", "size": 1}
    said = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [{**one, "platform": {"architecture": "arm64"}}]}
    artifacts.tag(registry, "images/debian", "13", json.dumps(said).encode(), kind=INDEX)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (damaged, "(?i)digest"),
        (shorter, "says 5999 bytes, the layer has 6000"),
        (listed, rf"it has sha256:{'7' * 64} \(arm64, application/vnd.oci.image.manifest"),
        (lambda there: artifacts.tag(there, "images/debian", "13", b"[]"), "it has none|cannot be inspected"),
        (lambda there: there.manifests.clear(), "cannot be inspected: .*manifest unknown|reading manifest"),
        (lambda there: setattr(there, "login", "operator:sesame"), "cannot be inspected: .*unauthorized"),
    ],
)
def test_another_content_than_was_meant_is_refused_and_never_uploaded(
    change: Callable[[Registry], object], said: str, registry: Registry
) -> None:
    change(registry)
    with pytest.raises(GroundupError, match=said) as caught:
        uploaded(registry, "images/debian:13")
    assert registry.address in caught.value.where


def test_of_an_artifact_without_such_a_layer_nothing_is_fetched_and_its_layers_are_told(registry: Registry) -> None:
    with pytest.raises(
        GroundupError, match=rf"digest {'0' * 64}; it has sha256:\w+ \(disk.qcow2, .*, sha256:\w+ \(README"
    ):
        uploaded(registry, "images/debian:13", "0" * 64)
    assert not [path for _, path in registry.requests if "/blobs/" in path]

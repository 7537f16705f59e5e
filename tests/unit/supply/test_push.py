"""Images into a registry: once, with its login, and nothing in a dry run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.oci import manifest_digest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.images import push

from .conftest import FakeBuilder
from .registry import Registry
from .test_oci import PROGRAM_IMAGE

MakeLock = Callable[..., Lock]


@pytest.mark.root
def test_an_image_is_pushed_once_and_again_only_when_the_registry_lacks_its_digest(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], registry: Registry
) -> None:
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE)
    images = [supply.ensure("image", progress=lines.append, lock=lock)["image"]]

    def pushed() -> bool:
        (published,) = push(registry.address, images, tls_verify=False, progress=lines.append)
        assert published.reference == f"{registry.address}/test/program:1"
        assert published.digest == manifest_digest(images[0].path)
        return published.changed

    assert pushed()
    assert not pushed()
    assert registry.pushes() == 1
    registry.manifests[("test/program", "1")] = b"something else"
    assert pushed()
    assert registry.pushes() == 2


@pytest.mark.root
def test_a_project_of_a_registry_with_a_login_gets_images_once(
    fake: FakeBuilder, make_lock: MakeLock, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fake
    images = [supply.ensure("image", lock=make_lock(program={}, image=PROGRAM_IMAGE))["image"]]
    registry.login = "robot:sesame"
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "auth.json"))
    project = f"{registry.address}/cloud/site"

    def pushed(*, dry_run: bool = False) -> bool:
        (published,) = push(project, images, tls_verify=False, dry_run=dry_run)
        assert published.reference == f"{project}/test/program:1"
        return published.changed

    with pytest.raises(GroundupError, match=registry.address) as caught:
        pushed()
    assert "sesame" not in str(caught.value)
    login = ["skopeo", "login", "--tls-verify=false", "--username", "robot", "--password-stdin", registry.address]
    subprocess.run(login, input=b"sesame", check=True, capture_output=True)
    assert pushed(dry_run=True)
    assert registry.pushes() == 0
    assert pushed()
    assert ("cloud/site/test/program", "1") in registry.manifests
    assert not pushed()
    assert not pushed(dry_run=True)


def test_a_dry_run_says_what_would_be_pushed_and_pushes_nothing(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], registry: Registry
) -> None:
    del fake
    images = [supply.ensure("image", progress=lines.append, lock=make_lock(program={}, image=PROGRAM_IMAGE))["image"]]
    (published,) = push(registry.address, images, tls_verify=False, progress=lines.append, dry_run=True)
    assert published.changed
    assert registry.pushes() == 0


def test_a_registry_that_does_not_answer_is_named(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], registry: Registry
) -> None:
    del fake
    images = [supply.ensure("image", progress=lines.append, lock=make_lock(program={}, image=PROGRAM_IMAGE))["image"]]
    closed = "127.0.0.1:1"
    with pytest.raises(GroundupError, match=closed):
        push(closed, images, tls_verify=False, progress=lines.append)
    assert registry.requests == []

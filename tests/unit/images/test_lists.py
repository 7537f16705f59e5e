"""Requirement lists and lock entries of the service images: what can be said without building anything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.versions import OPENSTACK
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.builders.debian_image import _mark_removed
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import load_lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make import virtualenv
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.builder import builder_of

LISTS = sorted(virtualenv.REQUIREMENTS.glob("*.txt"))


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_distribution_is_pinned_and_hashed_and_no_address_is_named(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    for paragraph in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[A-Za-z0-9._-]+==\S+ ", paragraph), paragraph
        assert "--hash=sha256:" in paragraph, paragraph


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_what_is_asked_for_is_in_the_list_at_that_version(path: Path) -> None:
    resolved = set(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    names = {name for name, _ in resolved}
    asked = path.with_name(f"{re.sub('-debian[0-9]+$', '', path.stem)}.in")  # one resolution a Debian release
    for line in asked.read_text(encoding="utf-8").splitlines():
        name, _, version = line.partition("==")
        if version:
            assert (name, version) in resolved
        elif not line.startswith("#"):
            assert re.split(r"[<>=]", line)[0] in names


@pytest.mark.parametrize("release", OPENSTACK)
def test_the_release_of_the_lock_is_the_release_the_plan_names(release: str) -> None:
    images = {(entry.family, entry.image) for entry in load_lock().artifacts.values()}
    assert {(name, f"groundup/{name}:{tag}") for name, tag in OPENSTACK[release].images.items()} <= images


@pytest.mark.parametrize(("release", "name"), [(one, f"openstack{known.suffix}") for one, known in OPENSTACK.items()])
def test_a_changed_requirement_list_changes_the_image(release: str, name: str) -> None:
    entry = load_lock().artifacts[name]
    assert virtualenv.requirements(f"openstack-{release}") in builder_of(entry).sources(entry)


@pytest.mark.parametrize("release", OPENSTACK)
def test_what_builds_source_distributions_is_hashed_and_of_the_same_list(release: str) -> None:
    # Without pbr an empty cache of wheels is fatal: testresources would call itself version 0.0.0.
    found = virtualenv.backends(virtualenv.requirements(f"openstack-{release}"))
    hashes = r" \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+"
    assert re.fullmatch(rf"setuptools==80\.\S+{hashes}pbr==\S+{hashes}", found)


def test_the_index_pip_is_configured_with_is_the_one_uv_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = tmp_path / "pip.conf"
    configuration.write_text("[global]\nindex-url = https://mirror.example/simple\n", encoding="utf-8")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(configuration))
    for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX"):
        monkeypatch.delenv(name, raising=False)
    assert virtualenv.index_settings()["UV_DEFAULT_INDEX"] == "https://mirror.example/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://other.example/simple")
    assert virtualenv.index_settings() == {}


def test_directories_that_hide_the_base_keep_hiding_it_in_the_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc/opaque").mkdir(parents=True)
    monkeypatch.setattr(
        "os.listxattr", lambda path, **_: ["trusted.overlay.opaque"] if Path(path).name == "opaque" else []
    )
    _mark_removed(tmp_path)
    assert (tmp_path / "etc/opaque/.wh..wh..opq").exists()
    assert not (tmp_path / "etc/.wh..wh..opq").exists()

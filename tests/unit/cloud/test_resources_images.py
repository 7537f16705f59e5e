"""Images of the site file: what tenants make of them is theirs, and one that a project owns is found again."""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import holds
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

from .resources_api import Apis
from .test_resources import CLOUD, plan, run


@pytest.fixture(autouse=True)
def _members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "_scoped", Apis.within)


@pytest.fixture
def file(tmp_path: Path) -> dict[str, Any]:
    """An image of the site file."""
    (tmp_path / "disk").write_bytes(b"a disk")
    return {"source": str(tmp_path / "disk"), "sha256": hashlib.sha256(b"a disk").hexdigest()}


def with_image(**image: Any) -> Plan:
    return plan({**copy.deepcopy(CLOUD), "images": {"debian": image}})


def test_what_nova_and_cinder_make_of_an_image_with_all_its_properties_is_the_tenants(file: dict[str, Any]) -> None:
    apis = Apis()
    run(apis, with_image(**file))
    web = apis.named("project", "web")["id"]
    snapshot = {**apis.named("image", "debian"), "id": "snapshot", "name": "before the upgrade", "owner": web}
    apis.objects["image"].append(snapshot)
    assert run(apis, with_image(**file)).warnings == []
    run(apis, plan(), force=("delete",))
    assert apis.objects["image"] == [snapshot]
    with pytest.raises(GroundupError, match="project web still has 1 images that are not from this site file"):
        run(apis, plan({}), force=("delete",))


def test_an_image_whose_mark_has_no_id_yet_gets_one_and_a_snapshot_of_it_stays(file: dict[str, Any]) -> None:
    apis = Apis()
    run(apis, with_image(**file))
    before = apis.named("image", "debian")
    del before["groundup_image"]
    apis.objects["image"].append({**before, "id": "snapshot", "name": "before the upgrade", "owner": "else"})
    assert run(apis, with_image(**file)).done == ["change image debian of domain Default: groundup_image"]
    assert run(apis, with_image(**file)).done == []
    run(apis, plan(), force=("delete",))
    assert [one["id"] for one in apis.objects["image"]] == ["snapshot"]


def test_an_image_of_others_is_not_taken_over_as_nobody_knows_its_content(file: dict[str, Any]) -> None:
    apis = Apis()
    run(apis, with_image(**file))
    found = apis.named("image", "debian")
    for key in ("groundup_resources", "groundup_image", "groundup_sha256"):
        del found[key]
    for properties in ({}, {"groundup_sha256": file["sha256"]}):  # anyone can write that one, too
        found |= properties
        with pytest.raises(GroundupError, match="image debian of domain Default is there, and not from this site file"):
            run(apis, with_image(**file), force=("adopt",))


def test_an_image_that_all_projects_may_list_by_its_id_is_made_once(file: dict[str, Any]) -> None:
    apis, planned = Apis(), with_image(**file, project="web", visibility="community")
    run(apis, planned)
    assert run(apis, planned).done == []


def test_an_image_that_a_project_gives_to_all_keeps_the_project() -> None:
    apis = Apis()
    run(apis, plan())
    apis.objects["image"].append(
        {"id": "i", "name": "theirs", "owner": apis.named("project", "web")["id"], "visibility": "community"}
    )
    with pytest.raises(GroundupError, match="project web still has 1 images that are not from this site file"):
        run(apis, plan({}), force=("delete",))

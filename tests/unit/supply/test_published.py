"""What is published is written down by content, and nodes are told the content, not only the name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleLookupError
from ansible_collections.groundup.cloud.plugins.action.seed import ActionModule
from ansible_collections.groundup.cloud.plugins.lookup import published as lookup
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import FIRST_CONTACT
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import digests, images
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.digests import PublishedDigests
from ansible_collections.groundup.cloud.tests.unit import tls

from .conftest import FakeBuilder
from .seed import Seed, serving
from .test_oci import PROGRAM_IMAGE

pytestmark = pytest.mark.root  # skopeo reads an archive as its owner, root

MakeLock = Callable[..., Lock]
ONE, TWO = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
REGISTRY = "registry.unit.test:5000"
PLAN = {
    "site": "unit",
    "supply": {"seed": "seed-1", "registry": REGISTRY, "images": {"program": f"{REGISTRY}/test/program:1"}},
}


@pytest.fixture(autouse=True)
def state(state: Path) -> Path:
    """The state directory of site ``unit``, not made yet."""
    return state


def test_what_is_published_is_recorded_by_digest_and_a_second_time_nothing_changes(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed, state: Path
) -> None:
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE)
    assert seed.publish(lock)["changed"]
    record = digests.load("unit")
    assert record is not None
    (manifest,) = {content for key, content in seed.registry.manifests.items() if key[1] == "1"}
    assert record.images == {"test/program:1": f"sha256:{hashlib.sha256(manifest).hexdigest()}"}
    content = (seed.root / "program/1/file").read_bytes()
    assert record.files == {"program/1/file": hashlib.sha256(content).hexdigest()}
    again = seed.publish(lock)
    assert not again["changed"]
    assert again["published"] == record.plain()
    assert not seed.publish(lock, verify=True)["changed"]
    (state / "published.json").unlink()
    assert seed.publish(lock)["changed"], "a record that is gone is written again"
    assert digests.load("unit") == record


def test_the_web_server_can_read_what_accounts_with_a_strict_umask_sent(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed
) -> None:
    del fake
    former = os.umask(0o077)
    try:
        seed.publish(make_lock(program={}))
    finally:
        os.umask(former)
    found = [seed.root / "program", *(seed.root / "program").rglob("*")]
    assert [str(path) for path in found if path.stat().st_mode & 0o004 == 0] == []


def test_an_artifact_made_again_under_its_version_is_told_by_its_new_digest(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed, lines: list[str]
) -> None:
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE, other={})
    seed.publish(lock)
    before = digests.load("unit")
    changed = make_lock(program={"inputs": {"text": "other content"}}, image=PROGRAM_IMAGE, other={})
    supply.ensure(None, progress=lines.append, lock=changed)
    foreseen = seed.publish(changed, check=True)
    assert digests.load("unit") == before, "a prediction writes nothing"
    seed.sent.clear()
    seed.publish(changed)
    after = digests.load("unit")
    assert before is not None
    assert after is not None
    assert foreseen["changed"]
    assert foreseen["published"] == after.plain()
    assert before.images.keys() == after.images.keys()
    assert before.images != after.images
    assert before.files["program/1/file"] != after.files["program/1/file"]
    assert before.files["other/1/file"] == after.files["other/1/file"]
    assert seed.sent == ["program"]


def test_images_are_put_in_inside_only_and_once(fake: FakeBuilder, make_lock: MakeLock, seed: Seed) -> None:
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE)
    first = seed.publish(lock)
    assert first["images"] == [f"{seed.registry.address}/test/program:1"]
    assert seed.inside.pushes() == 1
    assert {method for method, _ in seed.registry.requests} <= {"GET", "HEAD"}
    seed.publish(lock)
    seed.publish(lock, check=True)
    seed.publish(lock, verify=True)
    assert seed.inside.pushes() == 1


def test_a_seed_is_believed_by_the_sites_ca_alone(fake: FakeBuilder, make_lock: MakeLock, seed: Seed) -> None:
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE)
    seed.publish(lock)
    seed.pair = tls.pair()
    assert seed.publish(lock, check=True)["msg"] == "nothing is served yet"


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(("days", "warned"), [(29.6, ["the seed's certificate ends in 30 days"]), (31, [])])
def test_verify_warns_of_a_certificate_that_no_run_renewed(
    days: float, warned: list[str], make_lock: MakeLock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = make_lock(program={})
    with serving(tmp_path / "seed", monkeypatch, days=days) as old:
        old.publish(lock)
        said = old.publish(lock, verify=True).get("warnings", [])
    assert [line.partition(":")[0] for line in said] == warned


def test_every_file_is_compared_with_the_record_by_the_host_itself(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed
) -> None:
    """The larger one too: a fetch of the smallest would not see it."""
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE, other={}, third={})
    seed.publish(lock)
    assert seed.questions == 1, "one question for all files"
    seed.publish(lock, check=True)
    assert seed.questions == 1, "none in a dry run"
    seed.publish(lock, verify=True)
    (seed.root / "other/1/file").unlink()
    (seed.root / "third/1/file").write_text("something else, and longer than what was there\n")
    for verify in (True, False):
        with pytest.raises(GroundupError, match=r"not as published: other/1/file, third/1/file") as caught:
            seed.publish(lock, verify=verify)
        assert "remove other/1, third/1 there" in caught.value.remedy


def test_an_image_the_registry_took_and_does_not_serve_is_refused(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fake
    monkeypatch.setattr(images, "_push", lambda *_, **__: None)
    with pytest.raises(GroundupError, match=rf"the seed does not serve {seed.registry.address}/test/program:1"):
        seed.publish(make_lock(program={}, image=PROGRAM_IMAGE))
    assert digests.load("unit") is None


def test_a_prediction_knows_no_digest_of_what_is_not_made_yet(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed, state: Path
) -> None:
    fresh = seed.publish(make_lock(program={}, image=PROGRAM_IMAGE), check=True)
    assert (fresh["changed"], fresh["published"]) == (True, {"images": {}, "files": {}})
    assert fake.runs == []
    assert not state.exists()
    seed.publish(make_lock(program={}, image=PROGRAM_IMAGE, other={}))
    changed = make_lock(program={"inputs": {"text": "other content"}}, image=PROGRAM_IMAGE, other={})
    foreseen = seed.publish(changed, check=True)
    assert foreseen["published"]["images"] == {}
    assert list(foreseen["published"]["files"]) == ["other/1/file"]


def test_a_prediction_asks_no_seed_whose_only_login_is_a_password(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE)
    supply.ensure(None, lock=lock)
    monkeypatch.setattr(ActionModule, "_way", lambda *_: pytest.fail("ssh would be refused"))
    foreseen = seed.publish(lock, check=True, password="of sudo, too", groups=[FIRST_CONTACT])
    images = [f"{seed.registry.address}/{lock.artifacts['image'].image}"]
    assert (foreseen["changed"], foreseen["images"], foreseen["files"]) == (True, images, ["program"])


def test_only_names_of_the_sites_registry_get_a_digest() -> None:
    record = PublishedDigests(images={"groundup/a:1": ONE})
    references = {
        "a": f"{REGISTRY}/groundup/a:1",
        "own": f"{REGISTRY}/groundup/a:1@{TWO}",
        "elsewhere": "example.test/groundup/a:1",
        "unpublished": f"{REGISTRY}/groundup/b:1",
    }
    assert record.pin(references, registry=REGISTRY) == {**references, "a": f"{REGISTRY}/groundup/a:1@{ONE}"}


def look(**variables: Any) -> dict[str, Any]:
    found: list[dict[str, Any]] = lookup.LookupModule().run([PLAN], variables=variables)
    return found[0]


def test_nodes_are_told_digests_and_without_a_record_nothing_but_a_prediction() -> None:
    reference = f"{REGISTRY}/test/program:1"
    with pytest.raises(
        AnsibleLookupError, match=r"nothing is recorded of what seed-1 serves(.|\n)*groundup.cloud.seed"
    ):
        look()
    plain = {"images": {"program": reference}, "pins": {reference: reference}, "files": {}}
    assert look(ansible_check_mode=True) == plain
    digests.save("unit", PublishedDigests(images={"test/program:1": ONE}, files={"program/1/file": "ff"}))
    pinned = f"{reference}@{ONE}"
    assert look() == {
        "images": {"program": pinned}, "pins": {reference: pinned}, "files": {"program/1/file": "ff"}
    }  # fmt: skip


def test_a_prediction_follows_what_the_seeds_layer_foresaw_and_a_run_does_not() -> None:
    digests.save("unit", PublishedDigests(images={"test/program:1": ONE}))
    said = {"seed-1": {"seed_published": {"published": PublishedDigests(images={"test/program:1": TWO}).plain()}}}
    assert look(ansible_check_mode=True, hostvars=said)["images"]["program"].endswith(TWO)
    assert look(ansible_check_mode=False, hostvars=said)["images"]["program"].endswith(ONE)
    skipped = {"seed-1": {"seed_published": {"skipped": True}}}
    assert look(ansible_check_mode=True, hostvars=skipped)["images"]["program"].endswith(ONE)


def test_a_site_without_a_seed_takes_the_names_of_its_registry_as_they_are() -> None:
    plan = {**PLAN, "supply": {**PLAN["supply"], "seed": None}}  # type: ignore[dict-item]  # PLAN is plain data
    found = lookup.LookupModule().run([plan], variables={})
    reference = f"{REGISTRY}/test/program:1"
    assert found == [{"images": {"program": reference}, "pins": {reference: reference}, "files": {}}]


@pytest.mark.parametrize("text", ["", "[]", '{"images": {}}', '{"images": [], "files": {}}'])
def test_a_damaged_record_is_named_with_what_to_do(text: str, state: Path) -> None:
    state.mkdir(parents=True)
    (state / "published.json").write_text(text)
    with pytest.raises(GroundupError, match="cannot be read") as caught:
        digests.load("unit")
    assert "groundup.cloud.seed" in caught.value.remedy

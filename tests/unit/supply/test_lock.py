"""The lock: what it refuses, how artifacts are chosen, and that the collection's own agrees with the plan."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform import versions
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import CniName
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import DEFAULT_PATH, Lock, load_lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.builder import builder_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.keys import keys

from .conftest import FakeBuilder

HEAD = "format: 1\npins: {suite: trixie, go: go1.26.8, epoch: 1}\nartifacts:\n"
REFUSED = {
    "": "the file",
    "format: 1\n": "pins",
    "a: [": "cannot be used",
    HEAD + "  a: {kind: files, version: '1', builder: go, colour: red}\n": "artifacts.a.colour",
    HEAD + "  a: {kind: files, version: '1', builder: go, needs: [b]}\n": "a needs b",
    HEAD + "  a: {kind: files, version: '1', builder: go, needs: [a]}\n": "circle: a > a",
    HEAD + "  a: {kind: image, version: '1', builder: go}\n": "image: repository:tag",
    HEAD + "  a: {kind: image, version: '1', builder: go, image: 'r:latest'}\n": "not `latest`",
    HEAD + "  a: {kind: image, version: '1', builder: go, image: 'r'}\n": "needs a tag",
    HEAD + "  a: {kind: files, version: '1', builder: go, upstream: {}}\n": "either files or a reference",
    HEAD + "  a: {kind: files, version: '1', builder: upstream}\n": "needs `upstream`",
    HEAD + "  a: {kind: files, version: '1', builder: go, upstream: {reference: 'r:1', digest: abc}}\n": "digest",
    HEAD + "  a: {kind: files, version: '1', builder: go, groups: [a]}\n": "both a group and an artifact",
    HEAD + "  a: {kind: files, version: '1', builder: go, serves: b}\n": "a serves b, which is not in the lock",
    HEAD
    + "".join(
        f"  {entry}: {{kind: files, version: '1', builder: go, serves: a}}\n" for entry in "ab"
    ): "b and a serve one version of a",
}


@pytest.mark.parametrize(("text", "said"), REFUSED.items())
def test_an_unusable_lock_is_refused_with_file_and_key(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "supply.lock"
    path.write_text(text)
    with pytest.raises(GroundupError) as caught:
        load_lock(path)
    assert said in caught.value.what
    assert caught.value.where == str(path)


def test_a_missing_lock_is_refused_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match=r"none\.lock"):
        load_lock(tmp_path / "none.lock")


def test_artifacts_are_chosen_by_name_and_group(make_lock: Callable[..., Lock]) -> None:
    lock = make_lock(a={"groups": ["g"]}, b={}, c={"groups": ["g"], "needs": ["b"]})
    assert lock.select("g") == ("a", "c")
    assert lock.select(["b", "g"]) == ("b", "a", "c")
    assert lock.select(None) == ("a", "b", "c")
    assert set(lock.closure(("c",))) == {"b", "c"}
    with pytest.raises(GroundupError, match="'d'") as caught:
        lock.select("d")
    assert caught.value.remedy == "one of: g, a, b, c"


def test_a_builder_that_does_not_exist_is_named(make_lock: Callable[..., Lock]) -> None:
    with pytest.raises(GroundupError, match="artifact a: there is no builder 'none'"):
        builder_of(make_lock(a={"builder": "none"}).artifacts["a"])


def test_every_entry_of_the_lock_has_a_builder_and_a_key() -> None:
    lock = load_lock()
    assert len(keys(lock, lock.closure(tuple(lock.artifacts)))) == len(lock.artifacts)


def test_the_lock_has_every_image_of_the_plan_under_the_plans_name_repository_and_tag() -> None:
    lock = load_lock()
    for kubernetes in versions.KUBERNETES:
        for openstack, cni in itertools.product(versions.OPENSTACK, versions.POD_NETWORKS):
            wanted = versions.images(
                registry="r:1", kubernetes=kubernetes, openstack=openstack, cni=cni, services=RECORDS, rbd=True
            )
            served = {(entry.family, f"r:1/{entry.image}") for entry in lock.artifacts.values() if entry.image}
            assert wanted.items() <= served


def test_the_lock_has_the_programs_of_every_kubernetes_version_of_the_plan_and_of_no_other() -> None:
    found = {entry.version for entry in load_lock().artifacts.values() if entry.family == "kubernetes"}
    assert found == set(versions.KUBERNETES)


def test_another_version_than_the_default_one_is_built_for_the_sites_that_name_it_alone() -> None:
    lock = load_lock()
    groups = [release.group for release in versions.KUBERNETES.values() if release.group]
    groups += [f"release{release.suffix}" for release in versions.OPENSTACK.values() if release.suffix]
    beside = {name for name, entry in lock.artifacts.items() if entry.serves}
    assert beside == set(lock.select(groups))
    assert all(lock.artifacts[name].optional for name in beside)


def test_what_an_artifact_is_served_as_does_not_change_its_content(
    fake: FakeBuilder, make_lock: Callable[..., Lock]
) -> None:
    del fake
    plain, family = make_lock(a={}, b={"version": "2"}), make_lock(a={}, b={"version": "2", "serves": "a"})
    assert keys(plain, ("a", "b")) == keys(family, ("a", "b"))


def test_what_only_a_choice_needs_is_asked_for_by_name_or_group_alone(
    fake: FakeBuilder, make_lock: Callable[..., Lock]
) -> None:
    del fake
    lock = make_lock(a={}, b={"optional": True, "groups": ["cni-b"]})
    assert lock.select(None) == ("a",)
    assert lock.select("cni-b") == lock.select("b") == ("b",)
    assert keys(lock, ("a", "b"))["b"] == keys(make_lock(a={}, b={}), ("a", "b"))["b"]


def test_what_cannot_be_built_is_fetched_and_its_digest_is_part_of_its_key(make_lock: Callable[..., Lock]) -> None:
    def lock(digest: str | None) -> Lock:
        upstream = {"reference": "r.test/i:1", "digest": digest}
        entry = {"kind": "image", "image": "i:1", "builder": "upstream", "inputs": {}, "upstream": upstream}
        return make_lock(i=entry).by("build")

    one, other = (lock(f"sha256:{letter * 64}") for letter in "ab")
    assert keys(one, ("i",)) != keys(other, ("i",))
    assert one.artifacts["i"].inputs["digest"] == f"sha256:{'a' * 64}"


@pytest.mark.parametrize("cni", ["cilium", "calico"])
def test_the_artifacts_of_a_chosen_pod_network_are_its_charts_and_images_and_optional(cni: CniName) -> None:
    lock, record = load_lock(), versions.POD_NETWORKS[cni]
    assert set(lock.select(f"cni-{cni}")) == {record.chart, *record.images}
    assert all(lock.artifacts[name].optional for name in lock.select(f"cni-{cni}"))
    assert record.chart
    assert lock.artifacts[record.chart].version == record.chart_version.removeprefix("v")


def test_the_artifacts_of_the_driver_of_volumes_are_its_chart_and_images_and_optional() -> None:
    lock, record = load_lock(), versions.RBD
    assert set(lock.select(versions.RBD_GROUP)) == {record.chart, *record.images}
    assert all(lock.artifacts[name].optional for name in lock.select(versions.RBD_GROUP))
    assert lock.artifacts[record.chart].version == record.chart_version


def test_images_of_the_version_matrix_are_in_the_lock_under_their_names_and_no_others() -> None:
    cluster = {
        name: entry for name, entry in load_lock().artifacts.items() if not {"conformance", "tests"} & {*entry.groups}
    }
    references = set[tuple[str, str]]()
    for kubernetes, openstack, cni in itertools.product(versions.KUBERNETES, versions.OPENSTACK, versions.POD_NETWORKS):
        found = versions.images(
            registry="registry", kubernetes=kubernetes, openstack=openstack, cni=cni, services=RECORDS, rbd=True
        )
        references |= found.items()
    assert {(entry.family, f"registry/{entry.image}") for entry in cluster.values() if entry.image} == references


def test_an_image_of_services_that_few_sites_name_is_built_for_those_alone() -> None:
    lock = load_lock()
    for release, known in versions.OPENSTACK.items():
        named = versions.more_images(release, RECORDS)
        assert named
        assert all(lock.artifacts[f"{name}{known.suffix}"].optional for name in named)


@pytest.mark.parametrize("release", versions.OPENSTACK)
def test_a_site_has_every_image_of_its_release_built(release: str) -> None:
    """By default, or as its plan chooses it."""
    lock, services = load_lock(), ["keystone", "barbican"]
    built = {*lock.select(None), *versions.release_artifacts(release, services)}
    served = {(lock.artifacts[name].family, lock.artifacts[name].version) for name in built}
    known = versions.OPENSTACK[release]
    assert served >= {*known.images.items(), *known.more.items()}


def told(after: str, until: str) -> set[str]:
    """Return the names in the first column of a table of docs/supply.md."""
    text = (DEFAULT_PATH.parent / "docs/supply.md").read_text(encoding="utf-8")
    rows = [row for row in text.partition(after)[2].partition(until)[0].splitlines() if row.startswith("| ")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_what_has_no_publication_or_no_digest_of_it_is_told_with_the_reason() -> None:
    artifacts = load_lock().artifacts
    published = {name: entry.upstream for name, entry in artifacts.items() if entry.upstream}
    assert told("**Without a publication**", "\nA site that") == artifacts.keys() - published.keys()
    unknown = {
        name
        for name, upstream in published.items()
        if any(file.digest is None for file in upstream.files.values()) or (upstream.reference and not upstream.digest)
    }
    assert told("**Not known.**", "**Without a publication**") == unknown


def test_digests_of_builds_are_recorded_where_the_table_says_that_they_hold_anywhere() -> None:
    recorded = {name for name, entry in load_lock().artifacts.items() if entry.sha256}
    assert told("and elsewhere, later", "| `pause-program`") == recorded


def test_every_artifact_of_a_lab_is_in_the_table_of_what_is_reproducible() -> None:
    lock = load_lock()
    of_some_sites = {name for name, entry in lock.artifacts.items() if entry.optional}
    assert told("and elsewhere, later", "\nAn entry's") - of_some_sites == set(lock.select(None))


@pytest.mark.parametrize("release", versions.OPENSTACK)
@pytest.mark.parametrize("kubernetes", versions.KUBERNETES)
@pytest.mark.parametrize("cni", versions.POD_NETWORKS)
def test_what_is_published_for_a_plan_has_the_references_of_the_plan(
    release: str, kubernetes: str, cni: CniName
) -> None:
    images = versions.images(
        registry="r.test:5000", kubernetes=kubernetes, openstack=release, cni=cni, services=RECORDS, rbd=True
    )
    lock = load_lock()
    served = [f"r.test:5000/{lock.artifacts[name].image}" for name in lock.published(images, registry="r.test:5000")]
    assert served == [*images.values()]


def test_an_image_of_another_place_is_published_by_its_name() -> None:
    images = {"mariadb": "elsewhere.test/mariadb:1", "pause": "r.test:5000/kubernetes/pause:3.10.2"}
    assert load_lock().published(images, registry="r.test:5000") == ("mariadb", "pause")

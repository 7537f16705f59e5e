"""Bills of material: valid by the schema of CycloneDX, the same bytes for the same content, refused when invalid."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Entry, Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.bill import document, validate
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.sbom import (
    Component,
    components_of,
    debian_components,
    python_components,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.report import check

from .conftest import FakeBuilder

EPOCH = 1767225600
IMAGE = Entry(name="a", kind="image", version="1", builder="image", image="test/a:1")
PARTS = (
    Component.of("pypi", "Zope.Interface", "7.0"),
    Component.of("deb", "libc6", "2.41-12+deb13u1", arch="amd64", distro="trixie"),
    Component.of("deb", "passwd", "1:4.17.4-2", arch="amd64", distro="trixie"),
    Component.of("golang", "github.com/Masterminds/semver/v3", "v3.4.0"),
)


def test_a_bill_is_valid_and_says_what_it_is_about() -> None:
    text = document(IMAGE, PARTS, epoch=EPOCH).decode()
    validate(text, name="a")
    content = json.loads(text)
    assert content["specVersion"] == "1.6"
    assert content["metadata"]["component"] == {
        "bom-ref": "a@1", "name": "a", "type": "container", "version": "1"
    }  # fmt: skip
    assert {part["purl"] for part in content["components"]} == {
        "pkg:golang/github.com/masterminds/semver/v3@v3.4.0",
        "pkg:deb/debian/libc6@2.41-12%2Bdeb13u1?arch=amd64&distro=trixie",
        "pkg:deb/debian/passwd@1:4.17.4-2?arch=amd64&distro=trixie",
        "pkg:pypi/zope-interface@7.0",
    }
    (needs,) = [each for each in content["dependencies"] if each["ref"] == "a@1"]
    assert len(needs["dependsOn"]) == len(PARTS)


@pytest.mark.parametrize("kind", ["root", "files"])
def test_a_bill_of_nothing_is_valid_too(kind: str) -> None:
    entry = Entry.model_validate({"name": "a", "kind": kind, "version": "1", "builder": "go"})
    validate(document(entry, [], epoch=EPOCH).decode(), name="a")


def test_the_same_content_gives_the_same_bytes_in_any_order() -> None:
    first = document(IMAGE, PARTS, epoch=EPOCH)
    assert first == document(IMAGE, [*reversed(PARTS), PARTS[0]], epoch=EPOCH)
    assert json.loads(first)["metadata"]["timestamp"] == "2026-01-01T00:00:00+00:00"
    assert document(IMAGE, PARTS[1:], epoch=EPOCH) != first


def test_a_bill_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "sbom.json").write_bytes(document(IMAGE, PARTS, epoch=EPOCH))
    found = components_of(tmp_path / "sbom.json")
    assert {(each.name, each.version) for each in found} == {(each.name, each.version) for each in PARTS}
    assert document(IMAGE, found, epoch=EPOCH) == document(IMAGE, PARTS, epoch=EPOCH)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"specVersion": "sixteen", "bomFormat": "Cyclone"}, "bomFormat"),
        ({"components": [{"name": "libc6"}]}, "components/0"),
        ({"made_by": "hand"}, "made_by"),
        ({"serialNumber": "1"}, "serialNumber"),
    ],
)
def test_an_invalid_bill_is_refused_with_artifact_and_place(damage: dict[str, object], said: str) -> None:
    content = json.loads(document(IMAGE, PARTS, epoch=EPOCH)) | damage
    with pytest.raises(GroundupError, match="bill of material of artifact a is not valid") as caught:
        validate(json.dumps(content), name="a")
    assert said in str(caught.value)


def test_a_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(GroundupError, match="artifact a"):
        validate("{", name="a")


def test_a_part_without_a_package_url_is_refused_with_its_name() -> None:
    with pytest.raises(GroundupError, match="artifact a") as caught:
        document(IMAGE, [Component("libc6", "1", "libc6")], epoch=EPOCH)
    assert "libc6" in caught.value.where


def test_an_artifact_with_an_invalid_bill_is_not_stored(
    fake: FakeBuilder, make_lock: Callable[..., Lock], lines: list[str]
) -> None:
    lock = make_lock(a={"inputs": {"purl": "not a package url"}})
    with pytest.raises(GroundupError, match="bill of material of artifact a"):
        supply.ensure("a", progress=lines.append, lock=lock)
    assert supply.missing("a", lock=lock) == ("a",)
    assert fake.names() == ["a"]


def test_verify_reads_the_bills_too(fake: FakeBuilder, make_lock: Callable[..., Lock], lines: list[str]) -> None:
    del fake
    lock = make_lock(a={}, b={})
    found = supply.ensure(None, progress=lines.append, lock=lock)
    assert check(lock, None, progress=lines.append)
    found["a"].sbom.write_text(found["a"].sbom.read_text().replace("library", "thing"))
    found["b"].sbom.unlink()
    lines.clear()
    assert not check(lock, None, progress=lines.append)
    assert [line.partition("\n")[0] for line in lines] == ["a: DAMAGED", "b: DAMAGED"]
    assert "components/0" in lines[0]


def test_a_run_that_builds_nothing_does_not_load_the_library() -> None:
    module = supply.__name__
    program = f"import sys, {module}.__main__; sys.exit(any(name.startswith('cyclonedx') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_packages_of_a_root_are_those_dpkg_calls_installed(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(
        "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nSource: glibc\nVersion: 2.41-12\n"
        "Description: C\n more\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: 1\nDescription: left\n"
    )
    assert list(debian_components(tmp_path, "trixie")) == [
        Component("libc6", "2.41-12", "pkg:deb/debian/libc6@2.41-12?arch=amd64&distro=trixie&upstream=glibc")
    ]


def test_distributions_are_those_of_the_directory_and_their_names_are_normal_in_a_package_url(tmp_path: Path) -> None:
    for name, version in (("oslo.config", "10.3.0"), ("PyMySQL", "1.1.1")):
        place = tmp_path / f"{name}-{version}.dist-info"
        place.mkdir()
        (place / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nVersion: of a text\n"
        )
    assert sorted(python_components(tmp_path)) == [
        Component("PyMySQL", "1.1.1", "pkg:pypi/pymysql@1.1.1"),
        Component("oslo.config", "10.3.0", "pkg:pypi/oslo-config@10.3.0"),
    ]

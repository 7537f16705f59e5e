"""A test that needs another site file works on a copy: the same site, and the shipped file stays as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site
from ansible_collections.groundup.cloud.tests.e2e.cluster import command, site_with
from ansible_collections.groundup.cloud.tests.e2e.conftest import ROOT

KUBERNETES = ("1.36.3", "1.37.2")
OPENSTACK = ('release: "2026.1"', 'release: "2026.2"')
SHIPPED = (
    ("inventories/lab/site.yml", KUBERNETES, ("1.37.2", "2026.1")),
    ("inventories/lab-ha/site.yml", KUBERNETES, ("1.37.2", "2026.1")),
    ("inventories/cloud/site.yml", OPENSTACK, ("1.36.3", "2026.2")),
    ("tests/e2e/tenant/site.yml", OPENSTACK, ("1.36.3", "2026.2")),
)


@pytest.mark.parametrize(("file", "replaced", "versions"), SHIPPED)
def test_the_copy_is_the_same_site_with_one_other_value(
    file: str, replaced: tuple[str, str], versions: tuple[str, str], tmp_path: Path
) -> None:
    shipped = ROOT / file
    text, before = shipped.read_bytes(), site_plan(shipped)
    state_dir(before.site).mkdir(parents=True, exist_ok=True)
    site_identity.adopt(before)

    copy = site_with(tmp_path, *replaced, site=shipped)

    after = site_plan(copy)
    assert shipped.read_bytes() == text
    assert (after.site, site_identity.other(after)) == (before.site, None)
    assert (after.kubernetes.version, after.openstack.release) == versions
    assert [one for one in after.findings if one.severity == "error"] == []
    assert str(copy) in command("kubernetes_upgrade", site=copy)


def test_what_the_site_file_refers_to_and_ansible_reads_beside_it_comes_with_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "group_vars").mkdir(parents=True)
    (home / "group_vars/all.yml").write_text("site_note: kept\n")
    lab = (ROOT / "inventories/lab/site.yml").read_text()
    (home / "site.yml").write_text(f"{lab}\ncloud: {{files: [cloud.yml]}}\n")
    (home / "cloud.yml").write_text("flavors: {own: {vcpus: 1, memory_mb: 512, disk_gb: 1}}\n")

    copy = site_with(tmp_path / "copy", *KUBERNETES, site=home / "site.yml")

    assert (copy.parent / "group_vars/all.yml").read_text() == "site_note: kept\n"
    cloud = load_site(copy).cloud
    assert cloud
    assert [*cloud.flavors] == ["own"]


def test_a_value_that_the_file_does_not_say_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"does not say 9\.9"):
        site_with(tmp_path, "9.9", "10", site=ROOT / "inventories/lab/site.yml")


def test_no_test_writes_to_the_shipped_site_file() -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests/e2e").glob("*.py")}
    assert [name for name, text in files.items() if re.search(r"SITE_FILE\.write", text)] == []

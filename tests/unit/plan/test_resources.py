"""Resources of the cloud in the plan: an example whole, files beside the site file, secrets."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, SiteError, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import required

ROOT = Path(__file__).resolve().parents[3]


def planned(place: Path, cloud: Any) -> Plan:
    """Return the plan of the rack with the company's resources."""
    shutil.copy(ROOT / "docs/examples/company.yml", place)
    data = yaml.safe_load((ROOT / "inventories/rack/site.yml").read_text())
    (place / "site.yml").write_text(yaml.safe_dump({**data, "cloud": cloud}))
    return with_values(make_plan(load_site(place / "site.yml")))


def test_the_company_of_the_page_is_planned_without_a_finding(tmp_path: Path) -> None:
    plan = planned(tmp_path, {"files": ["company.yml"]})
    assert [finding for finding in plan.findings if any("cloud." in key for key in finding.where)] == []
    counted = Counter(one.kind for one in plan.resources)
    assert (counted["project"], counted["network"], counted["account"], counted["group"]) == (3, 4, 2, 4)
    assert [role.role for role in plan.identity.roles["example"]].count("member") == 3


def test_secrets_of_programs_are_generated_by_name(tmp_path: Path) -> None:
    names = required(planned(tmp_path, {"files": ["company.yml"]}))
    assert {"cloud/shop/deploy-secret", "cloud/shop/deploy-password"} <= set(names)


def test_a_name_in_two_files_is_refused_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match=r"company.yml: flavors.small is there already"):
        planned(tmp_path, {"files": ["company.yml"], "flavors": {"small": {"vcpus": 1, "memory_mb": 1}}})


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match=r"other.yml cannot be read"):
        planned(tmp_path, {"files": ["other.yml"]})


def test_a_part_of_a_site_is_in_its_variables_only_where_roles_need_it(tmp_path: Path) -> None:
    from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.serial import site_vars, to_plain

    plan = planned(tmp_path, {"files": ["company.yml"]})
    assert site_vars(plan)["resources"] == []
    assert len(to_plain(plan)["resources"]) == len(plan.resources)

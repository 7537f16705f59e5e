"""What a Galera member's pod has to hand over its clients before it ends: with several members, and with one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.charts.conftest import script

from .conftest import SITES, name_of

ACCOUNT = "mariadb-mariadb"


def named(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name_of(item): item for item in items}


def rights(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules about pods in the members' own role."""
    return [rule for rule in named(items)[f"Role/{ACCOUNT}"]["rules"] if "pods" in rule["resources"]]


@pytest.fixture(scope="session")
def longest() -> float:
    """Seconds the hook takes at most: its waits, and an answer that comes late to each."""
    leave = script("mariadb/files/leave.py")
    return float(leave.NAMING + 3 * leave.ANSWER + leave.LETTING_GO + leave.RELEASING)


def test_a_member_that_leaves_hands_over_first_where_another_can_serve(
    rendered: dict[str, Any], longest: float
) -> None:
    items = named(rendered["mariadb"])
    spec = items["StatefulSet/mariadb-server"]["spec"]
    pod, members = spec["template"]["spec"], spec["replicas"]
    (container,) = pod["containers"]
    if members == 1:
        assert "lifecycle" not in container
        assert rights(rendered["mariadb"]) == []
        return
    program, label = container["lifecycle"]["preStop"]["exec"]["command"]
    assert items["Service/mariadb"]["spec"]["selector"][label] == "true"
    (bin_mount,) = [one for one in container["volumeMounts"] if one["name"] == "bin"]
    scripts = items["ConfigMap/mariadb-bin"]["data"]
    assert {Path(program).name, "health.sh", "shared_object.py"} <= set(scripts)
    assert str(Path(program).parent) == bin_mount["mountPath"]
    assert {"POD_NAME", "NAMESPACE", "MEMBERS"} <= {one["name"] for one in container["env"]}
    # Writing back what InnoDB has in memory takes the most of it.
    assert pod["terminationGracePeriodSeconds"] >= longest + 300


def test_a_member_may_read_the_members_pods_and_change_none(rendered: dict[str, Any]) -> None:
    spec = named(rendered["mariadb"])["StatefulSet/mariadb-server"]["spec"]
    assert spec["template"]["spec"]["serviceAccountName"] == ACCOUNT
    if spec["replicas"] > 1:
        names = [f"mariadb-server-{number}" for number in range(spec["replicas"])]
        assert rights(rendered["mariadb"]) == [
            {"apiGroups": [""], "resources": ["pods"], "resourceNames": names, "verbs": ["get"]}
        ]


@pytest.mark.parametrize(("site", "members"), [("edge", 1), ("ha", 3)])
def test_sites_with_one_and_with_several_members_are_held_to_it(site: str, members: int) -> None:
    plan = with_values(make_plan(build_site(yaml.safe_load(SITES[site].read_text()))))
    (release,) = [one for one in plan.openstack.releases if one.name == "mariadb"]
    assert release.values["pod"]["replicas"]["server"] == members

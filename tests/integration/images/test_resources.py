"""Resources of the site file in a real Keystone: made, compared, set back, deleted; a program logs in."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.cloud import CloudResources
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.resources import of_cloud

from .conftest import Image
from .stage import Part, Stage

_ASK = """
wait_for test -e /mnt/identity.done
export OS_AUTH_URL=$INTERNAL OS_USERNAME=admin OS_PASSWORD=$ADMIN OS_PROJECT_NAME=admin OS_REGION_NAME=$REGION \\
  OS_INTERFACE=internal OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_IDENTITY_API_VERSION=3
PYTHONPATH=/collections python3 -W ignore /mnt/resources.py /mnt/given.json
"""
MORE: dict[str, Any] = {
    "domains": {"acme": {"description": "Acme", "groups": {"dev": {}}}},
    "roles": {"auditor": {"description": "Reads bills"}},
    "projects": {"web": {"domain": "acme", "credentials": {"ci": {"roles": ["member", "auditor"]}}}},
}
MANY: dict[str, Any] = {
    "domains": {"large": {"groups": {f"g{n}": {} for n in range(99)}}},
    "projects": {f"p{n}": {"domain": "large"} for n in range(100)},
}


def test_keystone_has_what_the_site_file_has_and_a_program_logs_in(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    mariadb, keystone = image("mariadb"), image("openstack")
    stage = Stage(tmp_path)
    on = MORE | {"projects": {"web": MORE["projects"]["web"] | {"enabled": True}}}
    plans = {"more": MORE, "on": on, "less": {"roles": MORE["roles"]}, "many": MANY | {"roles": MORE["roles"]}}
    given = {
        name: [asdict(one) for one in of_cloud(CloudResources.model_validate(cloud))] for name, cloud in plans.items()
    }
    (stage.shared / "given.json").write_text(json.dumps(given))
    (stage.shared / "no.identity.json").write_text(json.dumps({"region": "RegionOne", "roles": [], "users": [],
                                                               "services": []}))  # fmt: skip
    shutil.copy(Path(__file__).parent / "resources.py", stage.shared)
    parts = stage.shared_parts(mariadb, keystone)
    parts.append(Part(name="ask", root=keystone.root, script=_ASK, env=parts[1].env))
    said = stage.run(*parts)
    last = said.strip().splitlines()[-1]
    assert last.startswith("{"), said + stage.said(*parts)
    found = json.loads(last)
    told = json.dumps(found, indent=1)
    made = ["domain acme", "role auditor", "project web of domain acme", "group dev of domain acme",
            "account web-ci of domain acme"]  # fmt: skip
    assert found["foreseen"]["done"] == found["first"]["done"] == [f"create {one}" for one in made], told
    assert found["again"].get("done") == [], told
    assert found["login"], told
    assert found["off"].get("done") == [], told
    assert "enabled is False, and stays so: the site file does not write enabled" in found["off"]["warnings"][0], told
    assert found["on"].get("done") == ["change project web of domain acme: enabled"], told
    assert "domain acme still has 1 projects that are not from this site file" in found["kept"]["error"], told
    gone = ["account web-ci of domain acme", "group dev", "project web", "domain acme"]
    assert [one.removeprefix("delete ") for one in found["less"]["done"]] == [one.split(" of ")[0] for one in gone], (
        told
    )
    assert "acme" not in found["left"], told
    assert found["seconds"]["made"] == 200, told
    print(found["seconds"])

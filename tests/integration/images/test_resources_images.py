"""Images of the site file in a real Glance: made once, and what tenants make of them stays."""

from __future__ import annotations

import hashlib
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
from .test_signatures import STORE

_GLANCE = """
cd /tmp
wait_for answers 3306
glance-manage --config-file /etc/glance/glance-api.conf db_sync > /mnt/glance-migrate.log 2>&1
wait_for test -e /mnt/identity.done
exec uwsgi --ini /etc/glance/glance-api-uwsgi.ini > /mnt/glance-api.log 2>&1
"""
_ASK = """
wait_for answers 9292
export OS_AUTH_URL=$INTERNAL OS_USERNAME=admin OS_PASSWORD=$ADMIN OS_PROJECT_NAME=admin OS_REGION_NAME=$REGION \\
  OS_INTERFACE=internal OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_IDENTITY_API_VERSION=3
PYTHONPATH=/collections python3 -W ignore /mnt/resources_images.py /mnt/given.json
"""
DISK = {"source": "/mnt/disk", "sha256": hashlib.sha256(b"a disk").hexdigest(), "format": "raw"}
OWN = {"project": "web", "visibility": "community"}


def test_an_image_is_made_once_and_its_snapshot_is_the_projects(image: Callable[[str], Image], tmp_path: Path) -> None:
    mariadb, main = image("mariadb"), image("openstack")
    stage = Stage(tmp_path, "glance", absent=("placement", "neutron", "nova"))
    less: dict[str, Any] = {"projects": {"web": {}}}
    plans = {"more": {**less, "images": {"base": DISK, "own": {**DISK, **OWN}}}, "less": less, "none": {}}
    given = {
        name: [asdict(one) for one in of_cloud(CloudResources.model_validate(cloud))] for name, cloud in plans.items()
    }
    (stage.shared / "disk").write_bytes(b"a disk")
    (stage.shared / "given.json").write_text(json.dumps(given))
    shutil.copy(Path(__file__).parent / "resources_images.py", stage.shared)
    files = ("glance-api.conf", "glance-api-uwsgi.ini", "logging.conf", "policy.yaml")
    glance = stage.folder("etc-glance", {name: stage.file("glance", name) for name in files})
    base = stage.shared_parts(mariadb, main)
    parts = [
        *base,
        Part(
            name="glance", root=main.root, env={**main.env, **STORE}, script=_GLANCE,
            mounts={"/etc/glance": glance, "/var/lib/glance": stage.folder("state-glance")},
        ),
        Part(name="ask", root=main.root, script=_ASK, env=base[1].env),
    ]  # fmt: skip
    said = stage.run(*parts)
    logs = "\n".join(f"== {log.name}\n{log.read_text()[-2500:]}" for log in sorted(stage.shared.glob("*.log")))
    last = said.strip().splitlines()[-1] if said.strip() else ""
    assert last.startswith("{"), said + stage.said(*parts) + logs
    found = json.loads(last)
    told = json.dumps(found, indent=1)
    made = ["project web of domain Default", "image base of domain Default", "image own of project web"]
    assert found["first"].get("done") == [f"create {one}" for one in made], told
    assert found["again"].get("done") == found["beside"].get("done") == found["beside"].get("warnings") == [], told
    assert all(one["groundup_image"] == one["id"] and one["status"] == "active" for one in found["made"]), told
    assert sorted(found["less"]["done"]) == [
        f"delete image {one}" for one in ("base of project admin", "own of project web")
    ], told
    assert found["left"] == ["snapshot"] * 2, told
    assert "project web still has 1 images that are not from this site file" in found["kept"]["error"], told

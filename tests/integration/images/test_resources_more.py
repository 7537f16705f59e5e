"""Zones and encrypted volume types of the site file, `adopt`, and a project's secrets, before the real APIs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.cloud import CloudResources
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.resources import of_cloud

from .conftest import Image
from .stage import Part, Stage
from .test_barbican import KEK

_API = """
cd /tmp
wait_for answers 3306
{migrate} > /mnt/{name}-migrate.log 2>&1
wait_for test -e /mnt/identity.done
uwsgi --ini /etc/{name}/{name}-api-uwsgi.ini > /mnt/{name}-api.log 2>&1 &
{more}
wait
"""
_CENTRAL = """
wait_for answers 5672
designate-central > /mnt/designate-central.log 2>&1 &
wait_for designate-manage pool update
touch /mnt/pool.done
"""
_ASK = """
for port in 8776 9311 9001; do wait_for answers $port; done
wait_for test -e /mnt/pool.done
export OS_AUTH_URL=$INTERNAL OS_USERNAME=admin OS_PASSWORD=$ADMIN OS_PROJECT_NAME=admin OS_REGION_NAME=$REGION \\
  OS_INTERFACE=internal OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_IDENTITY_API_VERSION=3
PYTHONPATH=/collections python3 -W ignore /mnt/resources_more.py /mnt/given.json
"""
BASE: dict[str, Any] = {
    "volume_qos": {"slow": {"specs": {"total_iops_sec": "100"}}},
    "volume_types": {"secret": {"encryption": {}, "qos": "slow"}},
    "projects": {"web": {"dns_zones": {"a.example.test": {"email": "ops@example.test"}}}},
}
ADOPT: dict[str, Any] = BASE | {
    "volume_qos": BASE["volume_qos"] | {"fast": {"specs": {"total_iops_sec": "900"}}},
    "volume_types": BASE["volume_types"] | {"gold": {"description": "Fast", "extra_specs": {"kind": "fast"}}},
    "projects": {"web": {"dns_zones": {f"{one}.example.test": {"email": "ops@example.test"} for one in "ab"}}},
}
OTHER = ADOPT | {"volume_types": ADOPT["volume_types"] | {"secret": {"encryption": {"key_size": 512}, "qos": "slow"}}}


@pytest.mark.long  # an image of it is for sites that name its services: `make test` does not build it
def test_zones_and_encrypted_types_are_made_and_taken_over_and_a_secret_keeps_its_project(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    more, mariadb, main, rabbitmq = map(image, ("openstack-more", "mariadb", "openstack", "rabbitmq"))
    stage = Stage(tmp_path, "cinder", "barbican", "designate", absent=("glance", "placement", "nova", "neutron"))
    plans = {"base": BASE, "adopt": ADOPT, "other": OTHER, "none": {}}
    given = {
        name: [asdict(one) for one in of_cloud(CloudResources.model_validate(cloud))] for name, cloud in plans.items()
    }
    (stage.shared / "given.json").write_text(json.dumps(given))
    shutil.copy(Path(__file__).parent / "resources_more.py", stage.shared)
    mounts = {name: stage.etc(name, f"{name}-api-uwsgi.ini") for name in ("cinder", "barbican")}
    mounts["designate"] = stage.etc("designate", "designate-api-uwsgi.ini", "pools.yaml")
    conf = mounts["barbican"] / "barbican.conf"
    conf.write_text(conf.read_text().replace("kek = secretbarbicankek", f"kek = {KEK}"))
    base = stage.shared_parts(mariadb, main)
    parts = [
        stage.queue(rabbitmq),
        *base,
        Part(
            name="cinder", root=main.root, env=main.env,
            script=_API.format(name="cinder", migrate="cinder-manage db sync", more=""),
            mounts={"/etc/cinder": mounts["cinder"], "/var/lib/cinder": stage.folder("state-cinder")},
        ),
        Part(
            name="barbican", root=more.root, env=more.env, mounts={"/etc/barbican": mounts["barbican"]},
            script=_API.format(name="barbican", migrate="barbican-db-manage upgrade", more=""),
        ),
        Part(
            name="designate", root=more.root,
            env={**more.env, "OS_DESIGNATE_CONFIG_DIR": "/var/lib/openstack/etc/designate"},
            script=_API.format(name="designate", migrate="designate-manage database sync", more=_CENTRAL),
            mounts={
                "/etc/designate": mounts["designate"], "/var/lib/designate": stage.folder("state-designate"),
                "/run/lock": stage.folder("locks"),
                "/var/lib/openstack/etc/designate/designate.conf": mounts["designate"] / "designate.conf",
            },
        ),
        Part(name="ask", root=main.root, script=_ASK, env=base[1].env),
    ]  # fmt: skip
    said = stage.run(*parts)
    logs = "\n".join(f"== {log.name}\n{log.read_text()[-2500:]}" for log in sorted(stage.shared.glob("*.log")))
    last = said.strip().splitlines()[-1] if said.strip() else ""
    assert last.startswith("{"), said + stage.said(*parts) + logs
    found = json.loads(last)
    told = json.dumps(found, indent=1)
    made = ["project web", "volume qos slow", "volume type secret", "dns zone a.example.test. of project web"]
    assert [one.split(" of domain")[0] for one in found["foreseen"]["done"]] == [f"create {one}" for one in made], told
    assert found["first"]["done"] == found["foreseen"]["done"], told
    assert found["again"].get("done") == [], told
    assert (found["encryption"]["cipher"], found["encryption"]["key_size"]) == ("aes-xts-plain64", 256), told
    for one in ("volume qos fast", "volume type gold", "dns zone b.example.test. of project web"):
        assert f"{one} is there, and not from this site file" in found["refused"]["error"], told
    taken = [
        "volume qos fast: specs",
        "volume type gold: description, extra_specs",
        "dns zone b.example.test. of project web: description, email",
    ]
    assert found["taken"]["done"] == [f"change {one}" for one in taken], told
    assert found["settled"].get("done") == [], told
    assert "volume type secret: encryption cannot be changed" in found["other"]["error"], told
    assert "secrets" in found["dry"]["warnings"][0], told
    assert "project web still has 1 secrets that are not from this site file" in found["kept"]["error"], told
    assert found["roles"] == [], told
    gone = {
        f"delete {one}"
        for one in (*made, "volume qos fast", "volume type gold", "dns zone b.example.test. of project web")
    }
    assert set(found["gone"]["done"]) == gone, told
    assert found["left"] == ["__DEFAULT__"], told

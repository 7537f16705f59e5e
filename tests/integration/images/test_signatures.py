"""Signed images before the real Glance and Barbican, and before Nova's own code, as the built-in charts set them up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Image
from .stage import Part, Stage
from .test_barbican import KEK

_API = """
cd /tmp
wait_for answers 3306
{migrate} > /mnt/{name}-migrate.log 2>&1
wait_for test -e /mnt/identity.done
exec uwsgi --ini /etc/{name}/{name}-api-uwsgi.ini > /mnt/{name}-api.log 2>&1
"""
_MIGRATE = "glance-manage --config-file /etc/glance/glance-api.conf db_sync"
_ASK = """
for port in 9292 9311; do wait_for answers $port; done
export OS_AUTH_URL=$INTERNAL OS_USERNAME=admin OS_PASSWORD=$ADMIN OS_PROJECT_NAME=admin OS_REGION_NAME=$REGION \\
  OS_INTERFACE=internal OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_IDENTITY_API_VERSION=3
PYTHONPATH=/collections python3 -W ignore /mnt/signatures.py /var/lib/glance
"""
STORE = {  # files in place of the site's Ceph
    "OS_DEFAULT__ENABLED_BACKENDS": "kept:file",
    "OS_GLANCE_STORE__DEFAULT_BACKEND": "kept",
    "OS_KEPT__FILESYSTEM_STORE_DATADIR": "/var/lib/glance",
}
STARTS = ("RSA-PSS", "RSA-PSS, by the administrator", "ECC_SECP384R1", "own", "public, by its reader")
_ALONE = {"OS_SERVICE_USER__SEND_SERVICE_USER_TOKEN": "false"}  # Nova has no account here


@pytest.mark.long  # an image of it is for sites that name its services: `make test` does not build it
@pytest.mark.parametrize("release", ["", "-2026.2"])
def test_a_right_signature_is_taken_and_started_and_a_wrong_one_refused_by_glance_and_by_nova(
    image: Callable[[str], Image], tmp_path: Path, release: str
) -> None:
    more, mariadb, main = image(f"openstack-more{release}"), image("mariadb"), image(f"openstack{release}")
    site = {
        "openstack": {"image_signatures": "required"},
        "hardware": {"diskless": {"compute": {"disks": "host"}}},
    }
    stage = Stage(tmp_path, "glance", "barbican", absent=("placement", "neutron", "nova"), site=site)
    stage.objects["nova"] = stage.render("nova")
    shutil.copy(Path(__file__).parent / "signatures.py", stage.shared)
    mounts = {"barbican": stage.etc("barbican", "barbican-api-uwsgi.ini")}
    files = ("glance-api.conf", "glance-api-uwsgi.ini", "logging.conf", "policy.yaml")
    mounts["glance"] = stage.folder("etc-glance", {name: stage.file("glance", name) for name in files})
    conf = mounts["barbican"] / "barbican.conf"
    conf.write_text(conf.read_text().replace("kek = secretbarbicankek", f"kek = {KEK}"))
    nova = stage.folder("etc-nova", {"nova.conf": stage.file("nova", "nova.conf")})
    images = {"/var/lib/glance": stage.folder("state-glance")}
    base = stage.shared_parts(mariadb, main)
    parts = [
        *base,
        Part(
            name="barbican", root=more.root, env=more.env, mounts={"/etc/barbican": mounts["barbican"]},
            script=_API.format(name="barbican", migrate="barbican-db-manage upgrade"),
        ),
        Part(
            name="glance", root=main.root, env={**main.env, **STORE},
            mounts={"/etc/glance": mounts["glance"], **images},
            script=_API.format(name="glance", migrate=_MIGRATE),
        ),
        Part(
            name="ask", root=main.root, script=_ASK, env={**base[1].env, **_ALONE},
            mounts={"/etc/nova": nova, **images},
        ),
    ]  # fmt: skip
    said = stage.run(*parts)
    logs = "\n".join(f"== {log.name}\n{log.read_text()[-2500:]}" for log in sorted(stage.shared.glob("*.log")))
    last = said.strip().splitlines()[-1] if said.strip() else ""
    assert last.startswith("{"), said + stage.said(*parts) + logs
    found = json.loads(last)
    told = json.dumps(found, indent=1) + logs
    taken = {name: (one["answer"], one["status"]) for name, one in found["images"].items()}
    right = ("RSA-PSS", "ECC_SECP384R1", "own", "altered", "signed by another", "unsigned", "public")
    assert taken == {
        **dict.fromkeys(right, (204, "active")),
        **dict.fromkeys(("wrong", "unknown", "forbidden"), (400, "queued")),
    }, told
    assert found["starts"] == {
        **dict.fromkeys(STARTS, "started"),
        "altered": "BrokenPipeError",
        "signed by another": "InvalidSignature",
        **dict.fromkeys(
            ("unsigned", "public", "own, by the administrator", "own, forgotten"), "SignatureVerificationError"
        ),
    }, told

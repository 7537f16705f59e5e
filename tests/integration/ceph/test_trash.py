"""An image that has clones is deleted by Glance's key, and its data go when the last clone has gone."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import ceph as clients
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.glance_trash import SCRIPT

from .loopback import Loopback
from .test_external import planned

# What glance_store's driver of RBD does, and Cinder's (or Nova's) clone of a raw image: call by call.
_UPLOAD = """
with rbd.Image(pool, image) as one:
    one.create_snap("snap"); one.protect_snap("snap")
"""
_DELETE = """
with rbd.Image(pool, image) as one:
    one.unprotect_snap("snap"); one.remove_snap("snap")
try:
    rbd.RBD().remove(pool, image)
except rbd.ImageHasSnapshots:
    rbd.RBD().trash_move(pool, image)
"""
_CLONE = """
with cluster.open_ioctx("images") as images:
    rbd.RBD().clone(images, image, "snap", pool, clone, features=rbd.RBD_FEATURE_LAYERING)
"""
_RUN = """
import rados, rbd, sys
user, name, image, clone = sys.argv[1:]
with rados.Rados(conffile="/etc/ceph/tenant.conf", name=user) as cluster, cluster.open_ioctx(name) as pool:
"""


@pytest.fixture(scope="module")
def users(ceph: Loopback) -> dict[str, dict[str, Any]]:
    """Make the pools, Glance's and Cinder's users with the plan's rights, and the plan's ceph.conf."""
    plan = planned()
    for name in ("images", "cloud-volumes", "backups"):
        ceph.run('ceph osd pool create "$1" 1 && ceph osd pool application enable "$1" rbd', name)
    found = {name: plan["clients"][name] for name in ("glance", "cinder")}
    text = clients.conf(fsid=plan["fsid"], mon_host=",".join(ceph.monitors), keyring="/etc/ceph/$name.tenant")
    ceph.run('printf %s "$1" > /etc/ceph/tenant.conf', text)
    for one in found.values():
        key = ceph.key(one["name"], one["caps"])
        ceph.run('printf %s "$1" > "/etc/ceph/$2.tenant"', f"[{one['name']}]\nkey = {key}\n", one["name"])
    return found


def act(ceph: Loopback, what: str, *, user: str, pool: str, image: str, clone: str = "") -> None:
    body = "".join(f"    {line}\n" for line in what.strip().splitlines())
    ceph.run('python3 - "$@" <<END\n' + _RUN + body + "END", user, pool, image, clone)


def empty_trash(ceph: Loopback, user: str) -> str:
    script = SCRIPT.replace(clients.CONF, "/etc/ceph/tenant.conf")
    return str(ceph.run('printf %s "$1" > /tmp/trash.py; python3 /tmp/trash.py "$2" images', script, user))


def test_an_image_goes_while_clones_live_and_its_data_go_with_the_last(
    ceph: Loopback, users: dict[str, dict[str, Any]]
) -> None:
    glance, cinder = users["glance"]["name"], users["cinder"]["name"]
    image = str(uuid.uuid4())
    act(ceph, "rbd.RBD().create(pool, image, 1 << 22, old_format=False)", user=glance, pool="images", image=image)
    act(ceph, _UPLOAD, user=glance, pool="images", image=image)
    act(ceph, _CLONE, user=cinder, pool="cloud-volumes", image=image, clone="volume-1")
    assert ceph.run("rbd info cloud-volumes/volume-1 | grep op_features").split() == ["op_features:", "clone-child"]

    act(ceph, _DELETE, user=glance, pool="images", image=image)
    assert ceph.run("rbd ls images") == ""
    act(ceph, "rbd.Image(pool, clone).read(0, 4096)", user=cinder, pool="cloud-volumes", image=image, clone="volume-1")
    assert "kept, has clones" in empty_trash(ceph, glance.removeprefix("client."))
    assert image in ceph.run("rbd trash ls images")

    act(ceph, "rbd.RBD().remove(pool, clone)", user=cinder, pool="cloud-volumes", image=image, clone="volume-1")
    assert f"removed {image}" in empty_trash(ceph, glance.removeprefix("client."))
    assert ceph.run("rbd trash ls images") == ""


def test_what_an_operator_put_into_the_trash_stays(ceph: Loopback, users: dict[str, dict[str, Any]]) -> None:
    later = str(uuid.uuid4())
    for name, more in (("precious", ()), (later, ("--expires-at", "1 day"))):
        ceph.run('rbd create --size 4M "images/$1" && rbd trash mv ${2:+"$2" "$3"} "images/$1"', name, *more)
    said = empty_trash(ceph, users["glance"]["name"].removeprefix("client."))
    assert "removed" not in said
    assert {"precious", later} <= set(ceph.run("rbd trash ls images").split())

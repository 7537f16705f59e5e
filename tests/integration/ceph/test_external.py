"""A Ceph that somebody else runs: what the site file names is proven with every key, and made where it says so."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.platform.csi import FEATURES
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import generate
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

from .loopback import FSID, PATIENCE, Loopback

ADMIN = "ceph/client.admin"


def planned(*, backups: str = "backups", volumes: str | None = None, **external: Any) -> dict[str, Any]:
    """Return ``groundup_site.ceph`` of a cloud on the loopback's Ceph, with names of its owner."""
    site = {
        "plugin": "groundup.cloud.site", "site": "unit", "domain": "unit.test", "profile": "lab",
        "machines": {name: {"count": 1} for name in ("seed", "control", "worker")},
        "storage": {
            "backend": "external",
            "volumes": volumes,
            "replicas": 2,
            "pools": {"volumes": {"name": "cloud-volumes"}, "backups": {"name": backups}},
            "external": {"fsid": FSID, "monitors": ["127.0.0.1"], "clients": {"cinder": "cloud-cinder"}, **external},
        },
        "openstack": {"services": ["keystone", "glance", "cinder"]},
    }  # fmt: skip
    found = make_plan(build_site(site)).ceph
    assert found
    return asdict(found)


def call(
    ceph: Loopback, what: str, plan: dict[str, Any], keys: dict[str, str], *, check: bool = False, timeout: int = 60
) -> dict[str, Any]:
    """Converge or verify, as the module does."""
    return ceph.call(f"_ceph.external.{what}", check=check, ceph=plan, keys=keys, osds=0, timeout=timeout)


@pytest.fixture(scope="module")
def owned(ceph: Loopback) -> dict[str, str]:
    """What the cluster's owner made for the cloud, and a pool that is somebody else's; return the keys of the store."""
    plan = planned()
    until(lambda: ".mgr" in ceph.ask("osd", "pool", "ls"), seconds=PATIENCE)  # the manager makes it seconds after OSDs
    for name in ("images", "cloud-volumes", "backups", "payroll"):
        ceph.run('ceph osd pool create "$1" 1 && ceph osd pool application enable "$1" rbd', name)
    return {one["secret"]: ceph.key(one["name"], one["caps"]) for one in plan["clients"].values()}


@pytest.fixture
def _restored(ceph: Loopback) -> Iterator[None]:
    """Give users the rights of the plan again."""
    yield
    for one in planned()["clients"].values():
        ceph.run('ceph auth caps "$@"', one["name"], *(word for pair in one["caps"].items() for word in pair))


def test_every_key_is_proven_without_the_administrator_s_and_nothing_is_changed(
    ceph: Loopback, owned: dict[str, str]
) -> None:
    before = ceph.ask("osd", "pool", "ls"), ceph.ask("auth", "ls")
    assert call(ceph, "converge", planned(), owned)["changes"] == []
    said = call(ceph, "verify", planned(), owned)
    assert "error" not in said, said["error"]
    assert said["result"]["proven"] == ["client.glance", "client.cloud-cinder", "client.cinder-backup"]
    assert (ceph.ask("osd", "pool", "ls"), ceph.ask("auth", "ls")) == before
    assert ceph.run("for pool in $(ceph osd pool ls); do rados --pool $pool ls | grep groundup || :; done") == ""


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize(
    ("caps", "said"),
    [
        ({"mon": "profile rbd", "osd": "profile rbd"}, "client.glance can write to pool cloud-volumes, and must not"),
        (
            {"mon": "profile rbd", "osd": "profile rbd pool=images, profile rbd-read-only pool=payroll"},
            "client.glance can read from pool payroll, and must not",
        ),
        (
            {"mon": "profile rbd", "osd": "profile rbd-read-only pool=images"},
            "client.glance cannot write in pool images",
        ),
        ({"mon": "allow r", "osd": "profile rbd pool=images"}, "client.glance may not fence a dead client"),
    ],
)
def test_a_user_with_too_many_rights_or_too_few_is_named(
    ceph: Loopback, owned: dict[str, str], caps: dict[str, str], said: str
) -> None:
    ceph.run('ceph auth caps "$@"', "client.glance", *(word for pair in caps.items() for word in pair))
    assert said in call(ceph, "verify", planned(), owned).get("error", "nothing")


def test_what_is_not_the_cluster_of_the_site_file_is_refused_before_it_is_used(
    ceph: Loopback, owned: dict[str, str]
) -> None:
    other = FSID.replace("5", "6")
    assert f"the cluster's id is {FSID}, and the site file says {other}" in call(
        ceph, "verify", planned(fsid=other), owned
    ).get("error", "nothing")
    wrong = {**owned, "ceph/client.glance": generate("ceph/client.glance")}
    assert "the monitors refuse the key of client.glance" in call(ceph, "verify", planned(), wrong).get(
        "error", "nothing"
    )
    missing = planned()
    missing["clients"]["glance"] = {**missing["clients"]["glance"], "writes": ["pictures"]}
    assert "the cluster has no pool pictures" in call(ceph, "verify", missing, owned).get("error", "nothing")
    nowhere = planned(monitors=["127.0.0.9"])
    said = call(ceph, "verify", nowhere, owned, timeout=10).get("error", "nothing")
    assert "no quorum of monitors for client.glance: 0 of 1 answer" in said


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("hunter2", "ceph/client.glance is no key of Ceph"),
        (base64.b64encode(struct.pack("<HIIH", 2, 0, 0, 32) + bytes(32)).decode(), "a key of kind 2 (aes256k)"),
    ],
)
def test_a_key_that_clients_here_cannot_use_is_told_as_such(
    ceph: Loopback, owned: dict[str, str], key: str, said: str
) -> None:
    found = call(ceph, "converge", planned(), {**owned, "ceph/client.glance": key})
    assert said in found.get("error", "nothing")


def test_with_the_administrator_s_key_what_is_missing_is_made_and_nothing_else_is_touched(
    ceph: Loopback, owned: dict[str, str]
) -> None:
    users = {"glance": "new-glance", "cinder": "new-cinder", "cinder-backup": "new-backup"}
    plan = planned(make=True, clients=users, backups="new-backups")
    keys = {one["secret"]: generate(one["secret"]) for one in plan["clients"].values()}
    keys[ADMIN] = ceph.key("client.admin")
    before = {one["pool_name"]: one for one in ceph.ask("osd", "pool", "ls", "detail")}
    predicted = call(ceph, "converge", plan, keys, check=True)
    assert {one["pool_name"] for one in ceph.ask("osd", "pool", "ls", "detail")} == set(before)
    made = call(ceph, "converge", plan, keys)
    assert made.get("error", "") == ""
    assert made["changes"] == predicted["changes"] == [
        "make pool new-backups: 2 copies, as the cluster places them",
        *(f"import the key of client.new-{name}" for name in ("glance", "cinder", "backup")),
    ]  # fmt: skip
    after = {one["pool_name"]: one for one in ceph.ask("osd", "pool", "ls", "detail")}
    assert {name: after[name]["size"] for name in before} == {name: one["size"] for name, one in before.items()}
    assert (after["new-backups"]["size"], after["new-backups"]["min_size"]) == (2, 2)
    assert call(ceph, "converge", plan, keys)["changes"] == []
    said = call(ceph, "verify", plan, keys)
    assert "error" not in said, said["error"]
    another = {**keys, "ceph/client.glance": owned["ceph/client.glance"]}
    assert "another key for client.new-glance" in call(ceph, "converge", plan, another).get("error", "nothing")


# What ceph-csi does with its key for a claim, a larger one, and one that goes: the record of its name (omap), the
# image, and the trash. It removes an image itself when a manager says `access denied:`.
_CLAIM = """
user=$1 key=$2 features=$3 image=kubernetes/csi-vol-1
as="--id $user --keyring /tmp/driver"
ceph-authtool --create-keyring /tmp/driver --name "client.$user" --add-key "$key" > /dev/null
rados $as --pool kubernetes setomapval csi.volumes.default csi.volume.pvc-1 1
rbd $as create --size 64 --image-feature "$features" $image
rbd $as resize --no-progress --size 128 $image
rbd $as info --format json $image
id=$(rbd $as info --format json $image | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
rbd $as trash mv $image
said=$(! ceph $as rbd task add trash remove kubernetes/$id 2>&1)
case $said in *'access denied:'*) ;; *) echo "$said"; exit 1 ;; esac
rbd $as trash rm --no-progress kubernetes/$id
[ -z "$(rbd $as trash ls kubernetes)$(rbd $as ls kubernetes)" ]
! rbd $as ls cloud-volumes 2> /dev/null
"""


@pytest.mark.usefixtures("owned")
def test_the_key_of_the_clusters_volumes_does_what_its_driver_does_and_nothing_elsewhere(ceph: Loopback) -> None:
    plan = planned(volumes="ceph-rbd", make=True, clients={"glance": "g", "cinder": "c", "cinder-backup": "b"})
    keys = {one["secret"]: generate(one["secret"]) for one in plan["clients"].values()}
    made = call(ceph, "converge", plan, {**keys, ADMIN: ceph.key("client.admin")})
    assert "import the key of client.kubernetes" in made["changes"]
    said = json.loads(ceph.run(_CLAIM, "kubernetes", keys["ceph/client.kubernetes"], FEATURES))
    assert (said["size"], said["features"]) == (128 * 1024**2, FEATURES.split(","))

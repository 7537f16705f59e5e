"""Glance, Cinder and Nova of the image, with the configuration they are given, on a Ceph of storage hosts' packages.

One monitor and one OSD in memory, on loopback; pools, keys and what they may do are the plan's.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import disks
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor import ini
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import ceph
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.unpack import unpacked
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import generate

from .conftest import Image

SITE = Path(__file__).resolve().parents[3] / "inventories/cloud/site.yml"
TEMPORARY = "/tmp"  # noqa: S108  # in the image's own root
MIB, LOOPBACK = 1024**2, "127.0.0.1"
CHART = Path(__file__).resolve().parents[3] / "charts/cinder"
CEPH = "/srv"  # where the root of Ceph's daemons is seen
_DAEMONS = {
    "osd_pool_default_size": 1,
    "osd_crush_chooseleaf_type": 0,
    "osd_pool_default_pg_autoscale_mode": "off",
    "osd_mclock_skip_benchmark": "true",
    "bluestore_block_size": 2 * 1024**3,
    "mon_data_avail_crit": 1,
    "paxos_propose_interval": 0.05,  # seconds that monitors gather before they change a map; 1 is Ceph's own
    "bdev_aio_poll_ms": 10,  # of a quarter of a second, which the store waits for each time it is closed
}
_START = """
root=$1; shift
for place in etc/ceph var/lib/ceph var/log/ceph run tmp; do mount -t tmpfs tmpfs "$root/$place"; done
mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"
mkdir "$root/run/ceph" "$root/tmp/given"; mount --bind /mnt "$root/tmp/given"
chroot "$root" sh -euc '
cp /tmp/given/daemons.conf /etc/ceph/ceph.conf
key() { ceph-authtool --create-keyring "$@" > /dev/null; }
key /etc/ceph/ceph.client.admin.keyring --gen-key -n client.admin --cap mon "allow *" --cap osd "allow *"
key /tmp/mon --gen-key -n mon. --cap mon "allow *"
ceph-authtool /tmp/mon --import-keyring /etc/ceph/ceph.client.admin.keyring > /dev/null
monmaptool --create --addv a "[v2:127.0.0.1:3300,v1:127.0.0.1:6789]" --fsid "$(ceph-conf --lookup fsid)" /tmp/map
mkdir -p /var/lib/ceph/mon/ceph-a /var/lib/ceph/osd/ceph-0
ceph-mon --mkfs -i a --monmap /tmp/map --keyring /tmp/mon
ceph-mon -i a
ceph auth import -i /tmp/given/keys
id=$(cat /proc/sys/kernel/random/uuid)
ceph osd new "$id"
key /var/lib/ceph/osd/ceph-0/keyring --gen-key -n osd.0 --cap mon "allow profile osd" --cap osd "allow *"
ceph auth import -i /var/lib/ceph/osd/ceph-0/keyring
ceph-osd -i 0 --mkfs --osd-uuid "$id"
ceph-osd -i 0
for pool in "$@"; do ceph osd pool create "$pool" 1 1; ceph osd pool application enable "$pool" rbd; done
' sh "$@"
"""
_WORK = """
place=/etc/ceph
as() { # SERVICE COMMAND...: as its pod does, or its host, with what that has
  unshare --mount sh -euc 'mount --bind "/mnt/$1" "$0"; shift; exec setpriv --reuid 42424 --regid 42424 \
    --clear-groups --no-new-privs "$@"' "$place" "$@"
}
(sh -eu /mnt/start %(root)s %(pools)s) > /tmp/log 2>&1 || { cat /tmp/log; exit 1; }
url=$(as glance python /mnt/image.py)
PATH=/opt/bin:$PATH as cinder python -W ignore /mnt/volume.py "$url"
echo "== $url"
head -c 3000000 /dev/urandom > /tmp/imported; chmod 644 /tmp/imported
as cinder rbd import --id cinder --dest-pool volumes --no-progress /tmp/imported imported
as cinder rbd --id cinder --pool volumes --format json ls -l
echo "== "
for one in "glance volumes" "cinder backups" "cinder-backup volumes"; do
  set -- $one
  as "$1" rbd --id "$1" --pool "$2" ls > /tmp/log 2>&1 && echo "$1 is in $2" || echo refused
done
echo "== "
as cinder rbd --id cinder snap create --no-progress volumes/imported@now
PATH=/opt/bin:$PATH as cinder-backup python -W ignore /mnt/backup.py
as cinder-backup rbd export --id cinder-backup --no-progress backups/base - | sha256sum - /tmp/imported | cut -d' ' -f1
echo "== "
place=/etc/nova as nova python -W ignore /mnt/disk.py "$url"
"""
_IMAGE = """
import io, uuid
import glance_store
from glance.common import config, wsgi
config.parse_args(["--config-file", "/mnt/glance.conf"])
glance_store.register_store_opts(config.CONF, reserved_stores={})
glance_store.create_multi_stores(config.CONF, reserved_stores={})
content = bytes(range(256)) * 4096
stored = io.BytesIO(content)
print(glance_store.add_with_multihash(config.CONF, str(uuid.uuid4()), stored, len(content), "rbd", "sha512")[0])
"""
_VOLUME = """
import eventlet; eventlet.monkey_patch()
import json, sys, types, uuid
from cinder import objects, utils
from cinder.common import config
from cinder.privsep import format_inspector
from cinder.volume import configuration
from cinder.volume.drivers import rbd
from oslo_privsep import priv_context
objects.register_all()
config.CONF(["--config-file", "/mnt/cinder.conf"], project="cinder")
priv_context.init(root_helper=utils.get_root_helper().split())
driver = rbd.RBDDriver(configuration=configuration.Configuration(rbd.RBD_OPTS, config_group="rbd1"))
driver.do_setup(None)
driver.check_for_setup_error()
def volume(name):
    none = dict.fromkeys(("encryption_key_id", "volume_type", "volume_type_id", "obj_context"))
    return types.SimpleNamespace(id=str(uuid.uuid4()), name=name, size=1, multiattach=False, **none)
empty, clone = volume("empty"), volume("clone")
driver.create_volume(empty)
assert driver.clone_image(None, clone, (sys.argv[1], None), {"disk_format": "raw"}, None)[1], "it was copied"
open("/tmp/blank", "wb").write(bytes(4096))  # what is not cloned is looked at by a helper of its own
assert format_inspector.get_format_if_safe(path="/tmp/blank", allow_qcow2_backing_file=False) == "raw"
print(json.dumps(driver.initialize_connection(empty, {})["data"]))
"""

_BACKUP = """
import eventlet; eventlet.monkey_patch()
from cinder import objects
from cinder.common import config
from cinder.backup.drivers import ceph
from cinder.volume import volume_utils
from cinder.volume.drivers import rbd
from oslo_privsep import priv_context
from cinder import utils
objects.register_all()
config.CONF(["--config-file", "/mnt/cinder.conf"], project="cinder")
# As cinder-backup begins: it asks what this machine could attach, which is root's to know, and nobody is root here.
priv_context.init(root_helper=utils.get_root_helper().split())
volume_utils.brick_get_connector_properties()
told = {"name": "volumes/imported", "hosts": ["127.0.0.1"], "ports": ["6789"], "cluster_name": "ceph",
        "auth_enabled": True, "auth_username": "cinder"}
source = volume_utils.brick_get_connector("rbd", conn={"data": told}, expect_raw_disk=True).connect_volume(told)["path"]
driver = ceph.CephBackupDriver(None)
driver.check_for_setup_error()
with rbd.RADOSClient(driver, "backups") as client:
    driver._create_base_image("base", 3000000, client)
driver._rbd_diff_transfer(
    "imported", "volumes", "base", "backups", src_user=source.rbd_user, src_conf=source.rbd_conf,
    dest_user=driver._ceph_backup_user, dest_conf=driver._ceph_backup_conf, src_snap="now",
)
"""
# As nova-compute makes, resizes, counts and deletes a disk; and a snapshot of it, which it may put into no other pool.
_DISK = """
import eventlet; eventlet.monkey_patch()
import json, sys
import nova.conf
from nova import exception
from nova.storage import rbd_utils
nova.conf.CONF(["--config-file", "/mnt/nova.conf"], project="nova")
driver = rbd_utils.RBDDriver()
assert driver.is_cloneable({"url": sys.argv[1]}, {"disk_format": "raw"})
driver.clone({"url": sys.argv[1]}, "an_disk")
driver.resize("an_disk", 2 * 1024**2)
driver.create_snap("an_disk", "now", protect=True)
try:
    driver.clone({"url": f"rbd://{driver.get_fsid()}/vms/an_disk/now"}, "image", dest_pool="images")
    image = "made"
except exception.Forbidden:  # Nova copies it, then
    image = "refused"
driver.remove_snap("an_disk", "now", force=True)
found = {"parent": driver.parent_info("an_disk"), "size": driver.size("an_disk"), "image": image}
driver.cleanup_volumes(lambda name: name.startswith("an_"))
left = driver.exists("an_disk")
try:
    driver.get_pool_info()
except exception.NotFound:  # it may ask; nobody counts without a manager
    print(json.dumps({**found, "left": left, "monitors": driver.get_mon_addrs()[0]}))
"""


def text(sections: Mapping[str, Mapping[str, Any]]) -> str:
    return ini.text_of({name: dict(options) for name, options in sections.items()})


@pytest.fixture
def given(tmp_path: Path) -> CephPlan:
    """Write what daemons and pods are given below ``tmp_path``, with monitors on loopback; return the plan's Ceph."""
    plan = site_plan(SITE)
    assert plan.ceph
    values = {release.name: release.values for release in plan.openstack.releases}
    keys = {name: generate(client.secret) for name, client in plan.ceph.clients.items()}
    (tmp_path / "daemons.conf").write_text(
        text({"global": {"fsid": plan.ceph.fsid, "mon_host": "127.0.0.1", **_DAEMONS}})
    )
    (tmp_path / "keys").write_text(
        "".join(
            f"[{client.name}]\nkey = {keys[name]}\n"
            + "".join(f'caps {on} = "{may}"\n' for on, may in client.caps.items())
            for name, client in plan.ceph.clients.items()
        )
    )
    (tmp_path / "bin").mkdir()
    shutil.copy(CHART / "files/sudo", tmp_path / "bin/sudo")
    (tmp_path / "bin/sudo").chmod(0o755)
    for service in ("glance", "cinder"):
        (tmp_path / service).mkdir()
        objects = values[service]["extraObjects"]
        conf = objects["ceph_etc"]["data"]["ceph.conf"].replace(plan.ceph.mon_host, "127.0.0.1")
        files = {"ceph.conf": conf, **objects["ceph_keyring"]["stringData"], "key": keys[service]}
        for name, content in files.items():
            written = content.replace("{{ .Values.extraObjects.ceph_keyring.stringData.key }}", keys[service])
            (tmp_path / service / name).write_text(written)
    held = [values["cinder"]["extraObjects"][f"ceph_{name}keyring"]["stringData"] for name in ("", "backup_")]
    (tmp_path / "cinder-backup").mkdir()
    for name, client in {"cinder": held[0], "cinder-backup": held[1]}.items():
        place = tmp_path / "cinder-backup" / f"ceph.client.{name}.keyring"
        place.write_text(f"[client.{name}]\nkey = {keys[name]}\n")
        assert place.name in client
    (tmp_path / "cinder-backup/ceph.conf").write_text((tmp_path / "cinder/ceph.conf").read_text())
    (tmp_path / "nova").mkdir()
    conf = ceph.conf(fsid=plan.ceph.fsid, mon_host="127.0.0.1", keyring=disks.KEYRING)
    (tmp_path / "nova" / Path(disks.CONF).name).write_text(conf)
    (tmp_path / "nova" / Path(disks.KEYRING).name).write_text(f"[client.nova]\nkey = {keys['nova']}\n")
    libvirt = {**values["nova"]["conf"]["nova"]["libvirt"], "images_rbd_ceph_conf": disks.CONF}
    (tmp_path / "nova.conf").write_text(text({"libvirt": libvirt}))
    glance, cinder = values["glance"]["conf"]["glance"], values["cinder"]["conf"]
    backups = {name: said for name, said in cinder["cinder"]["DEFAULT"].items() if name.startswith("backup_")}
    chart = yaml.safe_load((CHART / "values.yaml").read_text())["conf"]["cinder"]
    own = {
        "DEFAULT": {"enabled_backends": "rbd1", "state_path": TEMPORARY, **backups},
        "oslo_concurrency": {"lock_path": TEMPORARY},
        **{name: said for name, said in chart.items() if name in ("cinder_sys_admin", "privsep_osbrick")},
    }
    (tmp_path / "glance.conf").write_text(text({name: glance[name] for name in ("DEFAULT", "glance_store", "rbd")}))
    (tmp_path / "cinder.conf").write_text(text({**own, **cinder["backends"]}))
    for name, script in {
        "start": _START, "image.py": _IMAGE, "volume.py": _VOLUME, "backup.py": _BACKUP, "disk.py": _DISK,
    }.items():  # fmt: skip
        (tmp_path / name).write_text(script)
    tmp_path.chmod(0o755)
    return plan.ceph


def test_images_and_volumes_are_made_with_a_key_each_and_a_volume_of_an_image_is_its_clone(
    image: Callable[[str], Image], artifact: Callable[[str], Artifact], given: CephPlan, tmp_path: Path
) -> None:
    openstack = image("openstack")
    mounts = {"/mnt": tmp_path, "/opt/bin": tmp_path / "bin", CEPH: unpacked(artifact("rootfs-storage-13"))}
    for name in ("ceph", "nova"):
        (openstack.root / "etc" / name).mkdir(exist_ok=True)
    script = _WORK % {"root": CEPH, "pools": " ".join(pool.name for pool in given.pools.values())}
    said = openstack.run("bash", "-euc", script, uid=0, mounts=mounts).stdout
    assert said.count("== ") == 4, said
    connection, volumes, others, backup, disk = said.split("== ")
    told = json.loads(connection.strip().splitlines()[-1])
    assert (told["name"], told["auth_username"]) == ("volumes/empty", "cinder")
    assert told["secret_uuid"] == given.clients["cinder"].uuid
    url, listed = volumes.split("\n", 1)
    assert url.startswith(f"rbd://{given.fsid}/images/")
    parents = {one["image"]: one.get("parent", {}).get("image") for one in json.loads(listed)}
    assert parents == {"empty": None, "imported": None, "clone": url.split("/")[4]}
    assert others.split() == ["refused"] * 3
    assert len(set(backup.split()[-2:])) == 1, "a backup has the volume's content"
    found = json.loads(disk.strip().splitlines()[-1])
    assert found["parent"] == [given.pools["images"].name, url.split("/")[4], "snap"]
    assert (found["size"], found["image"], found["left"], found["monitors"]) == (2 * MIB, "refused", False, [LOOPBACK])

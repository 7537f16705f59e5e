"""Swift and S3 through the edge: radosgw and HAProxy as the roles configure them, and the image's Keystone.

One monitor and one OSD in memory, on loopback. Of three storage hosts one serves, one does not, one is not who it says.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import jinja2
import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base import tls
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import configuration, gateway
from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephMonitor
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import (
    Authority,
    LeafSpec,
    ensure_authority,
    ensure_leaf,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import public_endpoint
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.unpack import unpacked
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import generate

from .conftest import Image
from .objects import BACKUP, OBJECTS
from .test_ceph import _DAEMONS, _START, CEPH, LOOPBACK, SITE, TEMPORARY, text
from .test_services import CHARTS

PASSWORD = "a-word"  # of the gateways' account
TEMPLATES = Path(__file__).resolve().parents[3] / "roles/edge/templates"
GIVEN = "/tmp/given"  # noqa: S108  # in the root of Ceph's daemons
SERVES, DEAD, OTHER = "storage-1", "storage-2", "storage-3"
_WORK = """
sh -eu /mnt/start %(root)s > /tmp/log 2>&1 || { cat /tmp/log; exit 1; }
mount --bind /mnt/ca.crt %(root)s/etc/ssl/certs/ca-certificates.crt
for root in "" %(root)s; do mount --bind /mnt/hosts $root/etc/hosts; done
chroot %(root)s sh -euc '
for pool in "$@"; do
  ceph osd pool create "$pool" 1 1 --yes-i-really-mean-it
  ceph osd pool application enable "$pool" rgw
done
mkdir -p /var/lib/ceph/radosgw
cp -r /tmp/given/gateway /var/lib/ceph/radosgw/ceph-rgw
cp /tmp/given/rgw.conf /etc/ceph/
chown -R ceph: /var/lib/ceph/radosgw /var/log/ceph
mkdir /run/haproxy
' sh %(pools)s > /tmp/log 2>&1 || { cat /tmp/log; exit 1; }
chroot %(root)s %(start)s >> /tmp/rgw.log 2>&1 &
chroot %(root)s haproxy -f /tmp/given/haproxy.cfg > /tmp/haproxy.log 2>&1 &
python -W ignore /mnt/objects.py begin || { tail -40 /tmp/*.log %(root)s/var/log/ceph/*rgw*; exit 1; }
cd /tmp
printf '[database]\\nconnection = sqlite:////tmp/db\\n' > /etc/keystone/keystone.conf
manage() { keystone-manage "$@" > log 2>&1 || { cat log; exit 1; }; }
mkdir -m 700 /etc/keystone/fernet-keys
python3 -c 'import sqlite3; sqlite3.connect("/tmp/db").execute("pragma journal_mode = wal")'
manage db_sync; manage fernet_setup --keystone-user root --keystone-group root
manage bootstrap --bootstrap-password admins-words --bootstrap-region-id one --bootstrap-public-url %(keystone)s/v3 \\
  --bootstrap-internal-url %(keystone)s/v3 --bootstrap-admin-url %(keystone)s/v3
uwsgi --http-socket 127.0.0.1:%(port)s --need-app --master --buffer-size 65535 --add-header "Connection: close" \\
  --module keystone.wsgi.api:application > uwsgi.log 2>&1 &
export OS_AUTH_URL=%(keystone)s/v3 OS_USERNAME=admin OS_PASSWORD=admins-words OS_PROJECT_NAME=admin \\
  OS_REGION_NAME=one \\
  OS_INTERFACE=internal OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_DEFAULT_DOMAIN=default \\
  OS_CACERT=/mnt/ca.crt
python3 /mnt/identity.py /mnt/identity.json > identity.log 2>&1 || { cat identity.log uwsgi.log; exit 1; }
python -W ignore /mnt/objects.py use || { cat uwsgi.log | tail -30; tail -60 %(root)s/var/log/ceph/*rgw*; exit 1; }
python -W ignore /mnt/backup.py 2> backup.log || { cat backup.log; exit 1; }
rm -r /etc/keystone/fernet-keys; mkdir -m 700 /etc/keystone/fernet-keys
manage fernet_setup --keystone-user root --keystone-group root
python -W ignore /mnt/objects.py again || { cat uwsgi.log | tail -30; tail -60 %(root)s/var/log/ceph/*rgw*; exit 1; }
"""


@pytest.fixture
def given(tmp_path: Path) -> Mapping[str, str]:
    """Write what the daemons are given below ``tmp_path``; return the words of the script that runs them."""
    data = yaml.safe_load(SITE.read_text())
    data["openstack"]["services"].append("ceph-rgw")
    data["storage"]["backups"] = "objects"
    plan = with_values(make_plan(build_site(data)))
    assert plan.ceph
    assert plan.ceph.gateway
    client, key = plan.ceph.clients["rgw"], generate("ceph/client.rgw")
    options = {"fsid": plan.ceph.fsid, "mon_host": LOOPBACK, **_DAEMONS}
    (tmp_path / "daemons.conf").write_text(text({"global": options}))
    (tmp_path / "keys").write_text(configuration.keyring({client.name: key}, {client.name: client.caps}))
    store = Store.open(tmp_path, PasswordSource(path=tmp_path / "password", ours=True))
    host = plan.hosts[SERVES]
    spec = LeafSpec(user=f"rgw-{SERVES}", names=(host.fqdn, LOOPBACK))
    authority = ensure_authority(store, tmp_path, site="objects")
    files = {"tls.crt": ensure_leaf(authority, store, tmp_path, spec).pem, "tls.key": store.get(spec.key_name)}
    told = replace(plan.ceph, monitors=(CephMonitor(name="a", address=LOOPBACK),))
    own = gateway.Gateway(
        name=SERVES, address=LOOPBACK, ceph=told, plan=plan.ceph.gateway, key=key, password=PASSWORD,
        certificate=files["tls.crt"],
        ca_certificate=authority.pem,
        private_key=files["tls.key"],
    )  # fmt: skip
    (tmp_path / "rgw.conf").write_text(gateway.conf(own))
    files |= {"keyring": configuration.keyring({client.name: key}), "password": f"{PASSWORD}\n"}
    (tmp_path / "gateway").mkdir()
    for name, content in files.items():
        (tmp_path / "gateway" / name).write_text(content)
    (release,) = [one for one in plan.openstack.releases if one.name == "ceph-rgw"]
    account = release.values["endpoints"]["identity"]["auth"]["swift"]
    user = {
        "name": account["username"], "password": PASSWORD, "domain": account["user_domain_name"],
        "project": account["project_name"], "project_domain": account["project_domain_name"],
        "roles": account["role"].split(","),
    }  # fmt: skip
    url = public_endpoint(plan, "ceph-rgw").url
    entry = {"type": "object-store", "name": "ceph-rgw", "endpoints": {"public": url}}
    cinder = next(one for one in plan.openstack.releases if one.name == "cinder").values
    options = {**cinder["conf"]["cinder"]["DEFAULT"], "backup_swift_key": PASSWORD}
    backup = cinder["endpoints"]["identity"]["auth"]["swift"]
    other = {**user, "name": options["backup_swift_user"], "roles": backup["role"].split(",")}
    assert other["name"] == backup["username"]
    (mount,) = cinder["pod"]["mounts"]["cinder_backup"]["cinder_backup"]["volumeMounts"]
    trusted = options["backup_swift_ca_cert_file"]
    options["backup_swift_ca_cert_file"] = str(trusted).replace(mount["mountPath"], "/mnt")
    backups = {name: said for name, said in options.items() if name.startswith("backup_")}
    (tmp_path / "cinder.conf").write_text(text({"DEFAULT": {**backups, "state_path": TEMPORARY}}))
    (tmp_path / "backup.py").write_text(BACKUP)
    (tmp_path / "identity.json").write_text(
        json.dumps({"region": "one", "roles": [], "users": [user, other], "services": [entry]})
    )
    shutil.copy(CHARTS / "groundup-lib/files/identity.py", tmp_path)
    (tmp_path / "start").write_text(_START)
    (tmp_path / "objects.py").write_text(OBJECTS)
    configured = _edge(plan, tmp_path, authority, store).replace("/etc/haproxy/tls", GIVEN)
    (tmp_path / "haproxy.cfg").write_text(configured)
    (tmp_path / "hosts").write_text("".join(f"{LOOPBACK} {one.name}\n" for one in plan.edge.endpoints))
    (tmp_path / "keystone").mkdir()
    tmp_path.chmod(0o755)
    keystone = public_endpoint(plan, "keystone").url.removesuffix("/v3")
    pools = [pool.name for pool in plan.ceph.pools.values() if pool.application == "rgw"]
    return {
        "root": CEPH, "pools": " ".join(pools), "start": gateway.start(client.name), "keystone": keystone,
        "port": str(public_endpoint(plan, "keystone").node_port),
    }  # fmt: skip


def _edge(plan: Plan, place: Path, authority: Authority, store: Store) -> str:
    """Return HAProxy's configuration as its role makes it, with everything on loopback."""
    spec = LeafSpec(user="edge", names=tuple(one.name for one in plan.edge.endpoints))
    pair = tls.with_key(ensure_leaf(authority, store, place, spec).pem, store.get(spec.key_name))
    (place / "edge.pem").write_text(pair)
    moved = {name: f"{LOOPBACK}:{port}" for name, port in {SERVES: 8088, DEAD: 8089, OTHER: 8088}.items()}
    endpoints = [asdict(replace(one, servers=moved if one.servers else {})) for one in plan.edge.endpoints]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701  # no HTML
    )
    return environment.get_template("haproxy.cfg.j2").render(
        edge_public=True,
        edge_control=[],
        edge_nodes=["worker-1"],
        edge_trust=f"{GIVEN}/ca.crt",
        groundup_site={
            "edge": {"address": LOOPBACK, "endpoints": endpoints},
            "kubernetes": asdict(plan.kubernetes),
        },
        hostvars={name: {"groundup_host": {"address": LOOPBACK, "fqdn": one.fqdn}} for name, one in plan.hosts.items()},
    )


def test_objects_are_put_and_read_with_a_token_or_a_key_pair_and_refused_to_all_others(
    image: Callable[[str], Image], artifact: Callable[[str], Artifact], given: Mapping[str, str], tmp_path: Path
) -> None:
    openstack = image("openstack")
    mounts = {
        "/mnt": tmp_path, "/etc/keystone": tmp_path / "keystone", CEPH: unpacked(artifact("rootfs-storage-13")),
    }  # fmt: skip
    said = openstack.run("bash", "-euc", _WORK % given, uid=0, mounts=mounts).stdout
    lines = said.splitlines()
    assert lines[0] == "started 200", said  # no Keystone was there yet
    found = json.loads(lines[1])
    assert (found["made"], found["read"]) == ([201, 201], True)
    assert (found["without"], found["wrong"]) == (401, 401)
    assert found["other"] == [403, 403], "another project's member"
    assert (found["reader"], found["guest"]) == ([401, 401], 401), "roles that may not write have no access"
    assert found["s3"], "what Swift put S3 reads, with a pair of keys of Keystone's"
    assert (found["s3-made"], found["same"]) == ([200, 200], True)
    assert (found["s3-wrong"], found["s3-unknown"]) == (403, 403)
    assert found["deleted"] == [204, 404]
    assert (found["admin-api"], found["v1"]) == (404, 404), "neither administration nor users of its own"
    assert lines[2] == "backup: True, gone: True", "what cinder-backup writes it reads, and deletes"
    assert lines[3] == "again 200", "with all of Keystone's keys exchanged it asks for another token of its own"

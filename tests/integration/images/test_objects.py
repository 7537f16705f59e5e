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
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import (
    Authority,
    LeafSpec,
    ensure_authority,
    ensure_leaf,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.secrets import PasswordSource, Store
from ansible_collections.groundup.cloud.plugins.plugin_utils.secrets.names import generate
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import public_endpoint
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.unpack import unpacked

from .conftest import Image
from .test_ceph import _DAEMONS, _START, CEPH, LOOPBACK, SITE, text
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
manage bootstrap --bootstrap-password admin-word --bootstrap-region-id one --bootstrap-public-url %(keystone)s/v3 \\
  --bootstrap-internal-url %(keystone)s/v3 --bootstrap-admin-url %(keystone)s/v3
uwsgi --http-socket 127.0.0.1:%(port)s --need-app --master --buffer-size 65535 --add-header "Connection: close" \\
  --module keystone.wsgi.api:application > uwsgi.log 2>&1 &
export OS_AUTH_URL=%(keystone)s/v3 OS_USERNAME=admin OS_PASSWORD=admin-word OS_PROJECT_NAME=admin OS_REGION_NAME=one \\
  OS_INTERFACE=internal OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_DEFAULT_DOMAIN=default \\
  OS_CACERT=/mnt/ca.crt
python3 /mnt/identity.py /mnt/identity.json > identity.log 2>&1 || { cat identity.log uwsgi.log; exit 1; }
python -W ignore /mnt/objects.py use || { cat uwsgi.log | tail -30; tail -60 %(root)s/var/log/ceph/*rgw*; exit 1; }
rm -r /etc/keystone/fernet-keys; mkdir -m 700 /etc/keystone/fernet-keys
manage fernet_setup --keystone-user root --keystone-group root
python -W ignore /mnt/objects.py again || { cat uwsgi.log | tail -30; tail -60 %(root)s/var/log/ceph/*rgw*; exit 1; }
"""
_OBJECTS = """
import csv, datetime, hashlib, hmac, json, os, socket, sys, time, urllib.parse
import requests
KEYSTONE, SWIFT, S3 = "https://identity.volumes.test/v3", "https://object-store.volumes.test", "s3.volumes.test"
web = requests.Session()
web.verify = "/mnt/ca.crt"

def token(user, project, word="user-word", domain="Default"):
    who = {"name": user, "password": word, "domain": {"name": domain}}
    identity = {"methods": ["password"], "password": {"user": who}}
    scope = {"project": {"name": project, "domain": {"name": domain}}}
    said = web.post(f"{KEYSTONE}/auth/tokens", json={"auth": {"identity": identity, "scope": scope}})
    said.raise_for_status()
    return said.headers["X-Subject-Token"], said.json()["token"]

def swift(method, path, token=None, **more):
    return web.request(method, SWIFT + path, headers={"X-Auth-Token": token} if token else {}, **more)

def s3(method, path, access, secret, body=b""):
    now = datetime.datetime.now(datetime.UTC)
    day, moment, digest = now.strftime("%Y%m%d"), now.strftime("%Y%m%dT%H%M%SZ"), hashlib.sha256(body).hexdigest()
    headers = {"host": S3, "x-amz-content-sha256": digest, "x-amz-date": moment}
    names = ";".join(headers)
    asked = "\\n".join([method, path, "", *(f"{k}:{v}" for k, v in headers.items()), "", names, digest])
    scope = f"{day}/default/s3/aws4_request"
    told = "\\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(asked.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for word in scope.split("/"):
        key = hmac.new(key, word.encode(), "sha256").digest()
    signature = hmac.new(key, told.encode(), "sha256").hexdigest()
    headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return web.request(method, f"https://{S3}{path}", headers=headers, data=body)

def servers():
    found = {}
    with socket.socket(socket.AF_UNIX) as admin:
        admin.connect("/srv/run/haproxy/admin.sock")
        admin.sendall(b"show stat\\n")
        for row in csv.DictReader("".join(iter(lambda: admin.recv(65536).decode(), ""))[2:].splitlines()):
            if row["pxname"] in ("object-store", "s3") and row["svname"].startswith("storage"):
                found.setdefault(row["svname"], set()).add(row["status"])
    return {name: sorted(said) for name, said in found.items()}

def begin():
    for _ in range(240):
        try:
            said = servers()
        except OSError:
            said = {}
        if said == {"storage-1": ["UP"], "storage-2": ["DOWN"], "storage-3": ["DOWN"]}:
            return print("started", swift("GET", "/swift/healthcheck").status_code)
        time.sleep(0.5)
    sys.exit(f"the edge knows of {said}")

def use():
    found, admin = {}, token("admin", "admin", "admin-word")[0]
    api = lambda method, path, body=None: web.request(
        method, KEYSTONE + path, json=body, headers={"X-Auth-Token": admin}
    )
    roles = {one["name"]: one["id"] for one in api("GET", "/roles").json()["roles"]}
    for project, user, role in (("one", "writer", "member"), ("one", "watcher", "reader"), ("two", "other", "member"),
                                ("one", "guest", "load-balancer_observer")):
        if role not in roles:
            roles[role] = api("POST", "/roles", {"role": {"name": role}}).json()["role"]["id"]
        api("POST", "/projects", {"project": {"name": project, "domain_id": "default"}})
        there = api("GET", f"/projects?name={project}").json()["projects"][0]["id"]
        made = api("POST", "/users", {"user": {"name": user, "password": "user-word", "domain_id": "default"}}).json()
        api("PUT", f"/projects/{there}/users/{made['user']['id']}/roles/{roles[role]}")
    writer, told = token("writer", "one")
    url = next(e["url"] for s in told["catalog"] if s["type"] == "object-store" for e in s["endpoints"])
    account = url.removeprefix(SWIFT)
    project, user = told["project"]["id"], told["user"]["id"]
    content = os.urandom(3_000_000)
    found["made"] = [swift("PUT", f"{account}/box", writer).status_code,
                     swift("PUT", f"{account}/box/thing", writer, data=content).status_code]
    found["read"] = swift("GET", f"{account}/box/thing", writer).content == content
    found["without"] = swift("GET", f"{account}/box/thing").status_code
    found["wrong"] = swift("GET", f"{account}/box/thing", "gAAAAA" + "b" * 180).status_code
    other = token("other", "two")[0]
    found["other"] = [swift("GET", f"{account}/box/thing", other).status_code,
                      swift("PUT", f"{account}/box/its", other, data=b"x").status_code]
    watcher = token("watcher", "one")[0]
    found["reader"] = [swift("GET", f"{account}/box/thing", watcher).status_code,
                       swift("PUT", f"{account}/box/its", watcher, data=b"x").status_code]
    found["guest"] = swift("GET", f"{account}/box/thing", token("guest", "one")[0]).status_code
    pair = web.post(f"{KEYSTONE}/users/{user}/credentials/OS-EC2", json={"tenant_id": project},
                    headers={"X-Auth-Token": writer}).json()["credential"]
    found["s3"] = s3("GET", "/box/thing", pair["access"], pair["secret"]).content == content
    found["s3-made"] = [s3("PUT", "/bucket", pair["access"], pair["secret"]).status_code,
                        s3("PUT", "/bucket/thing", pair["access"], pair["secret"], content).status_code]
    found["same"] = swift("GET", f"{account}/bucket/thing", writer).content == content
    found["s3-wrong"] = s3("GET", "/box/thing", pair["access"], "0" * 32).status_code
    found["s3-unknown"] = s3("GET", "/box/thing", "0" * 32, pair["secret"]).status_code
    found["deleted"] = [swift("DELETE", f"{account}/box/thing", writer).status_code,
                        swift("GET", f"{account}/box/thing", writer).status_code]
    found["admin-api"] = web.get(f"{SWIFT}/admin/usage").status_code
    found["v1"] = web.get(f"{SWIFT}/auth/v1.0", headers={"X-Auth-User": "a:b", "X-Auth-Key": "c"}).status_code
    print(json.dumps(found))

def again():
    # Every token of before is dead, the gateway's own, too.
    writer, told = token("writer", "one")
    account = f"/swift/v1/AUTH_{told['project']['id']}"
    print("again", swift("GET", f"{account}/bucket/thing", writer).status_code)

globals()[sys.argv[1]]()
"""


@pytest.fixture
def given(tmp_path: Path) -> Mapping[str, str]:
    """Write what the daemons are given below ``tmp_path``; return the words of the script that runs them."""
    data = yaml.safe_load(SITE.read_text())
    data["openstack"]["services"].append("ceph-rgw")
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
    told = json.loads(json.dumps(asdict(plan.ceph)))
    told["monitors"] = [{"name": "a", "address": LOOPBACK}]
    own = gateway.Gateway(
        name=SERVES, address=LOOPBACK, ceph=told, key=key, password=PASSWORD, certificate=files["tls.crt"],
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
    identity = {"region": "one", "roles": [], "users": [user], "services": [entry]}
    (tmp_path / "identity.json").write_text(json.dumps(identity))
    shutil.copy(CHARTS / "groundup-lib/files/identity.py", tmp_path)
    (tmp_path / "start").write_text(_START)
    (tmp_path / "objects.py").write_text(_OBJECTS)
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
        edge_address=LOOPBACK,
        edge_public=True,
        edge_control=[],
        edge_nodes=["worker-1"],
        edge_plan={"endpoints": endpoints},
        edge_trust=f"{GIVEN}/ca.crt",
        edge_kubernetes=asdict(plan.kubernetes),
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
    assert lines[2] == "again 200", "with all of Keystone's keys exchanged it asks for another token of its own"

"""Programs of clients of the object store, run in the image."""

# Usage: objects.py begin|use|again.
OBJECTS = """
import csv, datetime, hashlib, hmac, json, os, socket, sys, time, urllib.parse
import requests
KEYSTONE, SWIFT, S3 = "https://identity.cloud.test/v3", "https://object-store.cloud.test", "s3.cloud.test"
web = requests.Session()
web.verify = "/mnt/ca.crt"

def token(user, project, word="users-words1", domain="Default"):
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
    for _ in range(1200):
        try:
            said = servers()
        except OSError:
            said = {}
        if said == {"storage-1": ["UP"], "storage-2": ["DOWN"], "storage-3": ["DOWN"]}:
            return print("started", swift("GET", "/swift/healthcheck").status_code)
        time.sleep(0.5)
    sys.exit(f"the edge knows of {said}")

def use():
    found, admin = {}, token("admin", "admin", "admins-words")[0]
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
        new = {"name": user, "password": "users-words1", "domain_id": "default"}
        made = api("POST", "/users", {"user": new}).json()
        api("PUT", f"/projects/{there}/users/{made['user']['id']}/roles/{roles[role]}")
    writer, told = token("writer", "one")
    url = next(e["url"] for s in told["catalog"] if s["type"] == "object-store" for e in s["endpoints"])
    account = url.removeprefix(SWIFT)
    project, user = told["project"]["id"], told["user"]["id"]
    content = os.urandom(3_000_000)
    (policy,) = swift("GET", "/swift/info").json()["swift"]["policies"]  # Horizon makes no container without it
    found["made"] = [web.put(f"{SWIFT}{account}/box", headers={"X-Auth-Token": writer,
                                                               "X-Storage-Policy": policy["name"]}).status_code,
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
# As cinder-backup puts, reads and deletes a piece of a backup.
BACKUP = """
import eventlet; eventlet.monkey_patch()
import os
from cinder import context, objects
from cinder.backup.drivers import swift
from cinder.common import config
objects.register_all()
config.CONF(["--config-file", "/mnt/cinder.conf"], project="cinder")
driver = swift.SwiftBackupDriver(context.get_admin_context())
driver.initialize()
driver.check_for_setup_error()
driver.put_container("volumebackups")
content = os.urandom(1_000_000)
with driver.get_object_writer("volumebackups", "piece") as piece:
    piece.write(content)
with driver.get_object_reader("volumebackups", "piece") as piece:
    back = piece.read()
driver.delete_object("volumebackups", "piece")
print(f"backup: {back == content}, gone: {driver.get_container_entries('volumebackups', '') == []}")
"""

"""Uploads signed images to a real Glance as a tenant, and fetches them as a hypervisor does; prints JSON.

Usage: signatures.py STORE      STORE: Glance's directory of images. OS_* variables are the administrator's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cryptography.exceptions
import openstack
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection, signing
from cursive.exception import SignatureVerificationError  # type: ignore[import-not-found]  # of the image
from nova import config, context, objects  # type: ignore[import-not-found]  # of the image
from nova.image.glance import API  # type: ignore[import-not-found]  # of the image

WORD = "a-word-of-a-test"
IMAGE = Path("/tmp/guest")  # noqa: S108 - in the image's own root
FETCHED = Path("/tmp/fetched")  # noqa: S108
# The words of the guide; an RSA key signs with options of its own.
KEYS = {
    "ECC_SECP384R1": ("ec -pkeyopt ec_paramgen_curve:secp384r1", ""),
    "RSA-PSS": ("rsa:2048", "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:max"),
}
GUIDE = """
cd /tmp
openssl req -x509 -newkey {key} -nodes -days 3650 -subj /CN=images -keyout images.key -out images.crt
certificate=$(openstack secret store --name images --secret-type certificate --file images.crt \\
  -f value -c "Secret href")
openstack image create --file guest --disk-format raw \\
  --property img_signature="$(openssl dgst -sha256 {options} -sign images.key guest | base64 -w0)" \\
  --property img_signature_hash_method=SHA-256 --property img_signature_key_type={kind} \\
  --property img_signature_certificate_uuid="${{certificate##*/}}" -f value -c id guest
openstack acl user add --user {reader} --operation-type read "$certificate" > /dev/null
"""


def guide(user: Any, kind: str, *, reader: str) -> dict[str, Any]:
    """Sign and upload the image as the guide says; return what it is then."""
    key, options = KEYS[kind]
    account = {
        "OS_USER_ID": user.current_user_id, "OS_PROJECT_ID": user.current_project_id, "OS_PASSWORD": WORD,
    }  # fmt: skip
    others = {name: value for name, value in os.environ.items() if "DOMAIN" not in name}
    for name in ("OS_USERNAME", "OS_PROJECT_NAME"):
        del others[name]
    script = GUIDE.format(kind=kind, key=key, options=options, reader=reader)
    done = subprocess.run(["bash", "-euc", script], env=others | account, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{kind}: {done.stderr[-2000:]}")
    made = done.stdout.strip().splitlines()[-1]
    return {"id": made, "answer": 204, "status": user.image.get(f"/images/{made}").json()["status"]}


def upload(cloud: Any, properties: dict[str, str], content: bytes, *, visibility: str = "private") -> dict[str, Any]:
    """Make an image; return what Glance says to its content, and what the image is then."""
    wanted = {"name": "guest", "disk_format": "raw", "container_format": "bare", "visibility": visibility}
    made = cloud.image.post("/images", json=wanted | properties).json()
    headers = {"Content-Type": "application/octet-stream"}
    answer = cloud.image.put(f"/images/{made['id']}/file", data=content, headers=headers)
    status = cloud.image.get(f"/images/{made['id']}").json()["status"]
    return {"id": made["id"], "answer": answer.status_code, "status": status, "said": answer.text[:300]}


def fetched(cloud: Any, image: str) -> str:
    """Fetch an image by Nova's own code, for the user of ``cloud``; return how that ended."""
    access = cloud.session.auth.get_access(cloud.session)
    catalog = [  # in the form of Keystone's second API, as keystonemiddleware hands it to Nova
        {"type": one["type"], "name": one["name"], "endpoints": [
            {"region": end["region"], f"{end['interface']}URL": end["url"]} for end in one["endpoints"]]}
        for one in access.service_catalog.catalog
    ]  # fmt: skip
    user = context.RequestContext(
        user_id=access.user_id, project_id=access.project_id, auth_token=access.auth_token, roles=access.role_names,
        service_catalog=catalog,
    )  # fmt: skip
    try:
        API().download(user, image, dest_path=str(FETCHED))
    except (SignatureVerificationError, cryptography.exceptions.InvalidSignature, BrokenPipeError) as error:
        return type(error).__name__
    return "started" if FETCHED.read_bytes() == IMAGE.read_bytes() else "another"


def account(admin: Any, name: str) -> Any:
    """Make a tenant with one member; return its connection."""
    identity = admin.identity
    project = identity.create_project(name=name)
    user = identity.create_user(name=name, password=WORD)
    identity.assign_project_role_to_user(project, user, identity.find_role("member"))
    return connection.as_user(admin, user_id=user.id, password=WORD, project_id=project.id)


def main() -> None:
    """Upload right and wrong ones; start each."""
    admin = openstack.connect(load_yaml_config=False)
    ours, theirs = account(admin, "ours"), account(admin, "theirs")
    IMAGE.write_bytes(bytes(range(256)) * 4096)
    content = IMAGE.read_bytes()
    own = signing.sign(ours, IMAGE, name="own")
    shared = signing.sign(admin, IMAGE, name="shared", readers=[theirs.current_user_id])
    images = {kind: guide(ours, kind, reader=admin.current_user_id) for kind in KEYS}
    images |= {
        "own": upload(ours, own, content),
        "altered": upload(ours, own, content),
        "signed by another": upload(ours, own, content),
        "unsigned": upload(ours, {}, content),
        "public": upload(admin, shared, content, visibility="public"),
        "wrong": upload(ours, own, content[::-1]),
        "unknown": upload(ours, own | {"img_signature_certificate_uuid": "0" * 32}, content),
        "forbidden": upload(theirs, own, content),
    }
    config.parse_args(["ask", "--config-file", "/etc/nova/nova.conf"], configure_db=False, init_rpc=False)
    objects.register_all()  # as each of Nova's programs begins
    (file := Path(sys.argv[1], images["altered"]["id"])).unlink()
    file.write_bytes(content[::-1])  # its hash in Glance is another one: the client sees that before the signature
    ours.image.patch(
        f"/images/{images['signed by another']['id']}",
        json=[{"op": "replace", "path": "/img_signature", "value": shared["img_signature"]}],
        headers={"Content-Type": "application/openstack-images-v2.1-json-patch"},
    )
    starts = {name: fetched(ours, one["id"]) for name, one in images.items() if one["status"] == "active"}
    starts["public, by its reader"] = fetched(theirs, images["public"]["id"])
    starts["own, by the administrator"] = fetched(admin, images["own"]["id"])
    starts["RSA-PSS, by the administrator"] = fetched(admin, images["RSA-PSS"]["id"])
    signing.forget(ours, own)
    starts["own, forgotten"] = fetched(ours, images["own"]["id"])
    print(json.dumps({"images": images, "starts": starts}))


main()

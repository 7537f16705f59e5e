"""Uploads signed images to a real Glance as a tenant, and fetches them as a hypervisor does; prints JSON.

Usage: signatures.py STORE      STORE: Glance's directory of images. OS_* variables are the administrator's.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import cryptography.exceptions
import openstack
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection, signing
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.api import CloudApi
from cursive.exception import SignatureVerificationError
from nova import config, context
from nova.image.glance import API

IMAGE = Path("/tmp/guest")  # noqa: S108 - in the image's own root
KEYS = {
    "RSA-PSS": ("rsa:2048", "-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:max"),
    "ECC_SECP384R1": ("ec", "-pkeyopt", "ec_paramgen_curve:secp384r1"),
}


def openssl(*words: str) -> bytes:
    """Run openssl in /tmp."""
    return subprocess.run(["openssl", *words], cwd="/tmp", check=True, capture_output=True).stdout  # noqa: S108


def signed(cloud: Any, kind: str) -> dict[str, str]:
    """Return the properties of the image, signed by the words of the guide."""
    key, *options = KEYS[kind]
    curve = options if key == "ec" else ()
    openssl("req", "-x509", "-newkey", key, *curve, "-nodes", "-days", "9", "-subj", "/CN=images", "-keyout", "key",
            "-out", "certificate")  # fmt: skip
    signature = openssl("dgst", "-sha256", "-sign", "key", *(() if curve else options), "guest")
    made = signing.sign(cloud, IMAGE, name=kind)
    certificate = signing.keep(CloudApi(cloud), Path("/tmp/certificate").read_bytes(), name=kind, readers=[])  # noqa: S108
    return made | {
        "img_signature": base64.b64encode(signature).decode(), "img_signature_key_type": kind,
        "img_signature_certificate_uuid": certificate,
    }  # fmt: skip


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
    user = context.RequestContext(
        user_id=access.user_id, project_id=access.project_id, auth_token=access.auth_token, roles=access.role_names,
        service_catalog=access.service_catalog.catalog,
    )  # fmt: skip
    try:
        API().download(user, image, dest_path="/tmp/fetched")  # noqa: S108
    except (SignatureVerificationError, cryptography.exceptions.InvalidSignature) as error:
        return type(error).__name__
    return "started" if Path("/tmp/fetched").read_bytes() == IMAGE.read_bytes() else "another"  # noqa: S108


def account(admin: Any, name: str) -> Any:
    """Make a tenant with one member; return its connection."""
    identity = admin.identity
    project = identity.create_project(name=name)
    user = identity.create_user(name=name, password="a-word-of-a-test")
    identity.assign_project_role_to_user(project, user, identity.find_role("member"))
    return connection.as_user(admin, user_id=user.id, password="a-word-of-a-test", project_id=project.id)


def main() -> None:
    """Upload right and wrong ones; start each."""
    admin = openstack.connect(load_yaml_config=False)
    ours, theirs = account(admin, "ours"), account(admin, "theirs")
    IMAGE.write_bytes(bytes(range(256)) * 4096)
    content = IMAGE.read_bytes()
    own = signing.sign(ours, IMAGE, name="own")
    shared = signing.sign(admin, IMAGE, name="shared", readers=[theirs.current_user_id])
    images = {kind: upload(ours, signed(ours, kind), content) for kind in KEYS}
    images |= {
        "own": upload(ours, own, content),
        "altered": upload(ours, own, content),
        "unsigned": upload(ours, {}, content),
        "public": upload(admin, shared, content, visibility="public"),
        "wrong": upload(ours, own, content[::-1]),
        "unknown": upload(ours, own | {"img_signature_certificate_uuid": "0" * 32}, content),
        "forbidden": upload(theirs, own, content),
    }
    config.parse_args(["ask", "--config-file", "/etc/nova/nova.conf"], configure_db=False, init_rpc=False)
    (file := Path(sys.argv[1], images["altered"]["id"])).unlink()
    file.write_bytes(content[::-1])
    starts = {name: fetched(ours, one["id"]) for name, one in images.items() if one["status"] == "active"}
    starts["public, by its reader"] = fetched(theirs, images["public"]["id"])
    starts["own, by the administrator"] = fetched(admin, images["own"]["id"])
    signing.forget(ours, own)
    starts["own, forgotten"] = fetched(ours, images["own"]["id"])
    print(json.dumps({"images": images, "starts": starts}))


main()

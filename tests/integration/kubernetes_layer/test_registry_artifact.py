"""An image as an artifact in a registry with TLS and a login: skopeo puts and fetches it, by the digest of its file."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from functools import partial
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.unit import tls
from ansible_collections.groundup.cloud.tests.unit.supply import artifacts

from .test_registry_login import ADDRESS, CONFIG, HASH, PASSWORD, REGISTRY, USER

DISK = os.urandom(3 << 20)
NAME = f"{REGISTRY}/images/debian"
FETCH = """
import pathlib, sys
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import artifact_file
pathlib.Path(sys.argv[3]).mkdir()
print(artifact_file.fetch(sys.argv[1], sys.argv[2], into=pathlib.Path(sys.argv[3]), why="unit"))
"""


def fetched(host: HostRoot, place: Path, reference: str, *, trusts: str, login: str) -> str:
    """Fetch the image as a control node that has this CA and this login; return what is said, "" for success."""
    (place / "auth.json").write_text(json.dumps({"auths": {f"{ADDRESS}:5443": {"auth": login}}}))
    (place / "ca.crt").write_text(trusts)
    known = {"SSL_CERT_FILE": place / "ca.crt", "REGISTRY_AUTH_FILE": place / "auth.json"}
    into = place / f"into-{len(list(place.iterdir()))}"
    argv = [sys.executable, "-c", FETCH, reference, artifacts.sha256(DISK), str(into)]
    environment = {**os.environ, **{name: str(path) for name, path in known.items()}}
    done = host.run(*argv, outside=True, env=environment)
    if done.returncode:
        return done.stdout
    assert Path(done.stdout.splitlines()[-1]).read_bytes() == DISK
    return ""


def test_an_image_is_fetched_from_a_registry_with_the_operators_login_and_ca_alone(tmp_path: Path) -> None:
    pair, source, files = tls.pair(address=ADDRESS), tmp_path / "source", {"disk.qcow2": DISK, "README": b"read me"}
    source.mkdir()
    (source / "version").write_text("Directory Transport Version: 1.1\n")
    (source / "manifest.json").write_bytes(artifacts.manifest(files))
    for content in (artifacts.EMPTY, *files.values()):
        (source / artifacts.sha256(content)).write_bytes(content)
    (tmp_path / "host").mkdir()
    with host_root(tmp_path / "host", f"{ADDRESS}/32") as host:
        host.at("/srv/tls.pem").write_text(pair.certificate + pair.key)
        host.at("/srv/htpasswd").write_text(f"{USER}:{HASH}\n")
        host.at("/srv/registry.yml").write_text(CONFIG)
        host.start("docker-registry", "serve", "/srv/registry.yml")
        push = ["skopeo", "--insecure-policy", "copy", "--dest-tls-verify=false", f"--dest-creds={USER}:{PASSWORD}"]
        push += [f"dir:{source}", f"docker://{NAME}:13"]
        assert not wait_until(lambda: host.run(*push, outside=True).returncode, timeout=180)
        fetch, login = partial(fetched, host, tmp_path), base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        assert fetch(f"{NAME}:13", trusts=pair.certificate, login=login) == ""
        manifest = artifacts.sha256(artifacts.manifest(files))
        assert fetch(f"{NAME}@sha256:{manifest}", trusts=pair.certificate, login=login) == ""
        said = fetch(f"{NAME}:13", trusts=pair.certificate, login="bTpu")
        assert re.search("unauthorized|authentication required", said)
        other = tls.pair(address=ADDRESS).certificate
        assert "certificate" in fetch(f"{NAME}:13", trusts=other, login=login)
        assert "manifest unknown" in fetch(f"{NAME}:12", trusts=pair.certificate, login=login)

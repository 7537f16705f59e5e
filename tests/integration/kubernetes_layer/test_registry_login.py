"""A project of a registry that asks for a login: skopeo fills it, and containerd's CRI pulls with the node's login."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.files import wanted
from ansible_collections.groundup.cloud.plugins.module_utils._plan.kubernetes import NodeSupply
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.unit import tls
from ansible_collections.groundup.cloud.tests.unit.kubernetes_layer.conftest import make_node

ADDRESS = "10.0.0.9"
REGISTRY = f"{ADDRESS}:5443/cloud/site"
USER, PASSWORD = "robot$cloud", 'se"same:1'
HASH = "$2b$05$abcdefghijklmnopqrstuufK88Ghv2vMRit7t38ilP5mbn0FbWsBi"  # of the password, by bcrypt
CONFIG = f"""\
version: 0.1
storage: {{filesystem: {{rootdirectory: /srv/images}}}}
http: {{addr: "{ADDRESS}:5443", tls: {{certificate: /srv/tls.pem, key: /srv/tls.pem}}}}
auth: {{htpasswd: {{realm: unit, path: /srv/htpasswd}}}}
"""
IMAGE = f"{REGISTRY}/kubernetes/pause:1"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HostRoot, tls.Pair]]:
    """A host with a registry that holds one image of a project, and with crictl."""
    if supply.missing(["pause", "cri-tools"]):
        pytest.skip("pause or cri-tools is not built on this machine")
    archive, pair = supply.ensure("pause")["pause"].path, tls.pair(address=ADDRESS)
    with host_root(tmp_path_factory.mktemp("host"), f"{ADDRESS}/32") as found:
        found.at("/srv/tls.pem").write_text(pair.certificate + pair.key)
        found.at("/srv/htpasswd").write_text(f"{USER}:{HASH}\n")
        found.at("/srv/registry.yml").write_text(CONFIG)
        shutil.copy(supply.ensure("cri-tools")["cri-tools"].path / "crictl", found.at("/usr/local/bin/crictl"))
        found.start("docker-registry", "serve", "/srv/registry.yml")
        push = ["skopeo", "--insecure-policy", "copy", "--dest-tls-verify=false", f"--dest-creds={USER}:{PASSWORD}"]
        push += [f"oci-archive:{archive}", f"docker://{IMAGE}"]
        assert not wait_until(lambda: found.run(*push, outside=True).returncode, timeout=180)
        yield found, pair


def pulled(host: HostRoot, pair: tls.Pair, login: str | None) -> str:
    """Have a containerd with a node's files pull the image; return what it says, nothing when it has it."""
    node = dataclasses.replace(
        make_node(control=False),
        supply=NodeSupply(registry=REGISTRY, registry_tls=True),
        ca_certificate=pair.certificate,
        registry_login=login,
    )
    for file in (one for one in wanted(node) if one.path.startswith("/etc/containerd")):
        host.at(file.path).parent.mkdir(parents=True, exist_ok=True)
        host.at(file.path).write_text(file.text)
    name = f"containerd-{login is not None}-{len(login or '')}"
    socket, config = f"unix:///run/{name}.sock", Path("/etc/containerd/config.toml")
    state = ["--address", f"/run/{name}.sock", "--root", f"/srv/{name}", "--state", f"/run/{name}"]
    host.start("containerd", "--config", str(config), *state)
    crictl = ["crictl", "--runtime-endpoint", socket, "--image-endpoint", socket, "--timeout", "30s"]
    assert not wait_until(lambda: host.run(*crictl, "images").returncode, timeout=120)
    done = host.run(*crictl, "pull", IMAGE)
    return done.stdout if done.returncode else ""


def test_a_node_pulls_with_the_login_alone(host: tuple[HostRoot, tls.Pair]) -> None:
    pull = partial(pulled, *host)
    assert pull(f"{USER}:{PASSWORD}") == ""
    for login in (None, f"{USER}:other"):
        assert "no basic auth credentials" in (said := pull(login)) or "401" in said or "authorization failed" in said

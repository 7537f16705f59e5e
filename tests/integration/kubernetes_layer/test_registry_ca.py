"""A registry of the site's own with a CA of its own: containerd trusts that CA for this registry, nothing else does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.files import CERTIFICATES, wanted
from ansible_collections.groundup.cloud.plugins.module_utils._plan.kubernetes import NodeSupply
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.unit import tls
from ansible_collections.groundup.cloud.tests.unit.kubernetes_layer.conftest import make_node

ADDRESS = "10.0.0.9"  # containerd believes anything that loopback says
REGISTRY, OTHER = f"{ADDRESS}:5443", f"{ADDRESS}:5444"
CONFIG = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: /srv/images}}}}
http: {{addr: "{address}", tls: {{certificate: /srv/tls.pem, key: /srv/tls.pem}}}}
"""


@pytest.fixture(scope="module")
def pair() -> tls.Pair:
    """The registry's certificate, which is its own authority."""
    return tls.pair(address=ADDRESS)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, pair: tls.Pair) -> Iterator[HostRoot]:
    """A host with containerd, and a registry at two ports that holds one image."""
    if supply.missing(["pause"]):
        pytest.skip("pause is not built on this machine")
    archive = supply.ensure("pause")["pause"].path
    with host_root(tmp_path_factory.mktemp("host"), f"{ADDRESS}/32") as found:
        found.at("/srv/tls.pem").write_text(pair.certificate + pair.key)
        for address in (REGISTRY, OTHER):
            file = f"/srv/{address}.yml"
            found.at(file).write_text(CONFIG.format(address=address))
            found.start("docker-registry", "serve", file)
        found.start("containerd")
        push = ["skopeo", "--insecure-policy", "copy", "--dest-tls-verify=false", f"oci-archive:{archive}"]

        def refused(registry: str) -> int:
            return found.run(*push, f"docker://{registry}/site/pause:1", outside=True).returncode

        for address in (REGISTRY, OTHER):
            assert not wait_until(partial(refused, address), timeout=180)
        assert not wait_until(lambda: found.run("ctr", "version").returncode, timeout=180)
        yield found


def fetch(host: HostRoot, registry: str) -> str:
    """Have containerd fetch the image; return what it says, nothing when it has it."""
    hosts = ["--hosts-dir", CERTIFICATES]
    done = host.run("ctr", "--namespace", "k8s.io", "content", "fetch", *hosts, f"{registry}/site/pause:1")
    return done.stdout if done.returncode else ""


def test_containerd_trusts_the_ca_of_the_sites_registry_for_it_alone(host: HostRoot, pair: tls.Pair) -> None:
    unknown = "certificate signed by unknown authority"
    assert unknown in fetch(host, REGISTRY)
    node = dataclasses.replace(
        make_node(control=False),
        supply=NodeSupply(registry=REGISTRY, registry_tls=True),
        ca_certificate=pair.certificate,
    )
    for file in wanted(node):
        if file.path.startswith(CERTIFICATES):
            host.at(file.path).parent.mkdir(parents=True, exist_ok=True)
            host.at(file.path).write_text(file.text)
    assert fetch(host, REGISTRY) == "", "without a restart"
    assert unknown in fetch(host, OTHER)
    asked = host.run("python3", "-c", f"import urllib.request as r; r.urlopen('https://{REGISTRY}/v2/')")
    assert "CERTIFICATE_VERIFY_FAILED" in asked.stdout, "no other program of the host trusts it"

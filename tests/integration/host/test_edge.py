"""HAProxy of a site's host as its role configures it: floods, sources, logins.

The limits are a twentieth of the site's, so that a trial takes seconds and few files.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

import jinja2
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base import tls
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import LeafSpec, ensure_authority, ensure_leaf
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.secrets import PasswordSource, Store
from ansible_collections.groundup.cloud.tests.integration.host_root import host_root

ROOT = Path(__file__).resolve().parents[3]
VIP, SCALE = "10.9.0.2", 20


def configured(place: Path) -> str:
    """Return HAProxy's configuration with its servers on loopback and its limits scaled; write its certificate."""
    data = yaml.safe_load((ROOT / "inventories/cloud/site.yml").read_text())
    plan = make_plan(build_site(data))
    endpoints = [asdict(one) for one in plan.edge.endpoints]
    names = {one["type"]: one["name"] for one in endpoints}
    moved = {names["identity"]: "identity.cloud.test", names["compute-metadata"]: "metadata.cloud.test"}
    for one in endpoints:
        one["name"] = moved.get(one["name"], one["name"])
        one["clients"] = ("10.9.1.0/24",) if one["clients"] else ()
    store = Store.open(place, PasswordSource(path=place / "password", ours=True))
    authority = ensure_authority(store, place, site="edge")
    spec = LeafSpec(user="edge", names=tuple(one["name"] for one in endpoints))
    (place / "edge.pem").write_text(tls.with_key(ensure_leaf(authority, store, place, spec).pem, store.get(spec.key_name)))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOT / "roles/edge/templates"), undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, autoescape=False,  # noqa: S701  # no HTML
    )  # fmt: skip
    text = environment.get_template("haproxy.cfg.j2").render(
        edge_address=VIP, edge_public=True, edge_control=["control-1"], edge_nodes=["control-1"],
        edge_plan={"endpoints": endpoints}, edge_trust="/ca.crt",
        edge_kubernetes={"endpoint_name": "kubernetes.cloud.test", "endpoint_port": 6443, "api_port": 6444},
        hostvars={"control-1": {"groundup_host": {"address": "127.0.0.1", "fqdn": "control-1.cloud.test"}}},
    )  # fmt: skip
    return re.sub(r"(maxconn| gt) (\d+)", lambda found: f"{found[1]} {int(found[2]) // SCALE}", text)


def test_nobody_takes_anothers_connections_and_nothing_is_tried_without_end(tmp_path: Path) -> None:
    text = configured(tmp_path)
    with host_root(tmp_path / "host", f"{VIP}/32", "10.9.1.1/32") as host:
        for directory in ("run/haproxy", "etc/haproxy/tls"):
            host.at(directory).mkdir(parents=True, exist_ok=True)
        host.at("etc/haproxy/tls/edge.pem").write_text((tmp_path / "edge.pem").read_text())
        host.at("etc/haproxy/haproxy.cfg").write_text(text)
        checked = host.run("haproxy", "-c", "-f", "/etc/haproxy/haproxy.cfg")
        assert checked.returncode == 0, checked.stdout
        host.start("haproxy", "-f", "/etc/haproxy/haproxy.cfg")
        trial = [str(Path(__file__).parent / "edge_trial.py"), str(tmp_path / "edge.pem")]
        said = host.run(sys.executable, *trial, str(host.at("run/haproxy/admin.sock")), outside=True)
        assert said.returncode == 0, said.stdout
    found = json.loads(said.stdout.splitlines()[-1])
    assert found["full"] <= 7400 // SCALE
    assert found["kubernetes"] == [200] * 5, "while the public port is full"
    assert found["alive"] == "200", "or keepalived would move the address"
    assert found["one source"] <= 1000 // SCALE
    assert found["others"] == 200
    assert found["metadata"] == [200, 403], "of a host, of a user"
    assert found["hsts"] == "max-age=31536000"
    assert found["wrong"][:5] == [401] * 5
    assert found["wrong"][-1] == found["then right"] == 429
    assert found["reads"] == found["elsewhere"] == 200, "what is no login goes on, and so do others"

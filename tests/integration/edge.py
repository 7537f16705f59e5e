"""HAProxy's configuration as its role makes it for the example cloud, for trials on loopback."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType

import jinja2
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base import tls
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import LeafSpec, ensure_authority, ensure_leaf
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

ROOT = Path(__file__).resolve().parents[2]
VIP, SCALE = "10.9.0.2", 20  # limits are a twentieth of the site's: a trial takes seconds and few files


def configured(place: Path, *, control: Mapping[str, str] = MappingProxyType({"control-1": "127.0.0.1"})) -> str:
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
    (place / "edge.pem").write_text(
        tls.with_key(ensure_leaf(authority, store, place, spec).pem, store.get(spec.key_name))
    )
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOT / "roles/edge/templates"), undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, autoescape=False,  # noqa: S701  # no HTML
    )  # fmt: skip
    text = environment.get_template("haproxy.cfg.j2").render(
        edge_public=True, edge_users_address="", edge_watched=False,
        edge_control=[*control], edge_nodes=[*control], edge_trust="/ca.crt",
        groundup_site={
            "edge": {"address": VIP, "endpoints": endpoints},
            "kubernetes": {"endpoint_name": "kubernetes.cloud.test", "endpoint_port": 6443, "api_port": 6444},
        },
        hostvars={
            name: {"groundup_host": {"address": address, "fqdn": f"{name}.cloud.test"}}
            for name, address in control.items()
        },
    )  # fmt: skip
    return re.sub(r"(maxconn| gt) (\d+)", lambda found: f"{found[1]} {int(found[2]) // SCALE}", text)

"""The edge's configuration files, rendered from the role's templates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

TEMPLATES = Path(__file__).parents[3] / "roles" / "edge" / "templates"
ADDRESSES = {"control-1": "10.0.0.11", "control-2": "10.0.0.12", "control-3": "10.0.0.13", "worker-1": "10.0.0.31"}
KEYSTONE = {
    "type": "identity", "name": "identity.lab.test", "node_port": 30500, "health_path": "/v3/", "servers": {},
}  # fmt: skip
OBJECTS = {
    "type": "s3", "name": "s3.lab.test", "node_port": 0, "health_path": "/health",
    "servers": {"worker-1": "10.0.0.31:8088"},
}  # fmt: skip


def render(
    template: str, *, control: list[str], host: str = "control-1", public: bool = True,
    endpoints: Sequence[dict[str, Any]] = (KEYSTONE, OBJECTS), users: dict[str, Any] | None = None, own: bool = True,
    watched: bool = False,
) -> str:  # fmt: skip
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - configuration files, not HTML
    )
    variables: dict[str, Any] = {
        "edge_public": public,
        "edge_own_address": own,
        "edge_users": users or {},
        "edge_users_address": (users or {}).get("address", ""),
        "edge_users_table": 143,
        "edge_control": control,
        "edge_watched": watched,
        "edge_nodes": [*control, "worker-1"],
        "groundup_host": {"name": host, "address": ADDRESSES[host]},
        "edge_trust": "/ca.crt",
        "groundup_site": {
            "edge": {"address": "10.0.0.2", "router_id": 7, "endpoints": endpoints},
            "kubernetes": {"endpoint_name": "kubernetes.lab.test", "endpoint_port": 6443, "api_port": 6444},
        },
        "hostvars": {
            name: {"groundup_host": {"address": address, "fqdn": f"{name}.lab.test"}}
            for name, address in ADDRESSES.items()
        },
    }
    return environment.get_template(template).render(variables)


def section(text: str, title: str) -> str:
    """Return the lines of a HAProxy section, up to the next one."""
    found = re.search(rf"^{title}\n(?:(?: |#).*\n|\n)*", text, re.MULTILINE)
    assert found, f"no section {title}"
    return found[0]

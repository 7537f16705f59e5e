"""Render ceph.conf and keyrings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .model import ADMIN, BOOTSTRAP, StorageNode

_ALL = dict.fromkeys(("mds", "mgr", "mon", "osd"), "allow *")
# As Ceph's own tools set it.
_MANAGER = {"mon": "profile mgr", "osd": "allow *", "mds": "allow *"}


def conf(node: StorageNode) -> str:
    location = {"root": "default", **node.ceph.locations[node.name]}
    sections: dict[str, dict[str, str]] = {
        "global": {
            "fsid": node.ceph.fsid,
            "mon_host": ",".join(node.monitors.values()),
            "public_network": node.ceph.public_network,
            # For the pool that Ceph creates for itself.
            "osd_pool_default_size": str(max(pool.replicas for pool in node.ceph.pools.values())),
            # The plan sizes pools by their purpose; the autoscaler would split them under load, as they fill.
            "osd_pool_default_pg_autoscale_mode": "off",
            **node.ceph.settings,
        },
        "mon": {
            "auth_allow_insecure_global_id_reclaim": "false",
            # `restful` cannot be loaded on this release of Debian (see stand_in.py).
            "mgr_initial_modules": "iostat",
        },
        "osd": {
            "crush_location": " ".join(f"{kind}={name}" for kind, name in location.items()),
            **({"osd_memory_target": str(node.osds[0].memory)} if node.osds else {}),
        },
    }
    if node.address:
        sections[f"mon.{node.name}"] = {"public_addr": node.address}
    blocks = (
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items())
        for name, lines in sections.items()
    )
    return "# Written by groundup.cloud.\n" + "\n".join(blocks)


def caps(*, managers: Sequence[str], clients: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Return the capabilities of every entity of the cluster."""
    return {
        "mon.": {"mon": "allow *"},
        ADMIN: _ALL,
        BOOTSTRAP: {"mon": "profile bootstrap-osd"},
        **{f"mgr.{name}": _MANAGER for name in managers},
        **clients,
    }


def keyring(keys: Mapping[str, str], allowed: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Return a keyring with ``keys``, and their ``allowed`` capabilities."""
    lines = []
    for entity, key in keys.items():
        lines += [f"[{entity}]", f"\tkey = {key}"]
        lines += [f'\tcaps {kind} = "{what}"' for kind, what in (allowed or {}).get(entity, {}).items()]
    return "\n".join(lines) + "\n"

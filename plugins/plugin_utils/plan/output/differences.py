"""What differs between two plans of a site, by the layer whose run makes it so. Secrets have names in plans, no values.

Both plans are the content of plan.json: the former one may be of another version, with other fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["host", "address", "version", "image", "chart", "value", "file", "resource", "finding", "setting"]
Path = tuple[str, ...]
NO_LAYER = ""
HIDDEN = "(hidden)"
_ABSENT: Any = object()
# The longest path holds. Of a host without its name; `_MADE`, and a whole host, are of the layer that makes hosts.
_OWNERS: dict[str, str] = {
    "site": NO_LAYER, "domain": NO_LAYER, "profile": NO_LAYER, "max_unavailable": NO_LAYER, "enough": NO_LAYER,
    "preflight": NO_LAYER, "findings": NO_LAYER, "backups": NO_LAYER, "backup_directory": NO_LAYER,
    "networks": "host", "access": "host", "host": "host", "proxy": "host",
    "hosts": "host", "hosts.neighbours": NO_LAYER, "hosts.node_labels": "kubernetes", "hosts.node_taints": "kubernetes",
    "hosts.zone": "hypervisor", "hosts.place_labels": "hypervisor",
    "supply": "supply", "supply.registry": "seed", "supply.registry_inside": "seed", "supply.registry_tls": "seed",
    "supply.registry_login": "seed", "supply.files_url": "seed", "supply.files_root": "seed", "supply.seed": "seed",
    "supply.readers": "seed", "supply.ca": "seed", "supply.packages": "seed",
    "kubernetes": "kubernetes", "kubernetes.storage_class": "storage", "kubernetes.storage_backend": "storage",
    "kubernetes.storage_charts": "storage", "kubernetes.storage_releases": "storage", "edge": "kubernetes",
    "ceph": "storage", "ovn": "network", "openstack": "openstack", "identity": "openstack", "resources": "openstack",
    "hypervisor": "hypervisor", "metal": "ironic", "monitoring": "monitoring",
}  # fmt: skip
_WRITTEN = ("openstack", "overrides")  # what comes of them is in the values of releases
_MADE = {"provisioner", "bmc", "serial", "system_disk", "approve", "hardware"}
_KEYS = {"findings": ("name", "where"), "resources": ("kind", "domain", "place", "name")}  # of items of a list
_RELEASES = {"releases", "storage_releases", "extra_releases"}
_ADDRESSES = {
    "address", "addresses", "interfaces", "cidr", "gateway", "pool", "leaves", "southbound", "northbound",
    "control_addresses", "dns_address", "endpoint_address", "pod_cidr", "service_cidr", "mon_host", "public_network",
    "seed_address", "names", "name_servers", "subnet_pool",
}  # fmt: skip
_VERSIONS = {"version", "release"}
_FILES = {"programs", "environment", "environments", "ramdisk", "image", "packages"}
_OPERATORS = {"values", "overrides", "extra_releases"}  # where a site file may have what it should not
_SECRET_KEY = re.compile(
    r"(?i)pass(word|wd|phrase)?$|secret|token|credential|private|keyring|cookie|^kek$|(^|[_-])key$"
)
_SECRETS = re.compile(r"(?i)(secret|password|credential)s?")
_SECRET_TEXT = re.compile(
    r"(?i)(password|passwd|secret|token|\bkey)\w*\s*[=:]\s*\S|//[^/\s@]*:[^/\s@]+@|PRIVATE KEY"
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDifference:
    """One thing that a run of the newer plan changes."""

    layer: str  # whose run changes it; "": none
    kind: Kind
    what: str  # path in plan.json, without the host
    host: str  # "": no host's
    change: Literal["new", "gone", "changed"]
    before: Any
    now: Any


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[PlanDifference]:
    """Return what differs between the contents of two plan.json."""
    return [_row(path, one, other, before=before, now=now) for path, one, other in _walk((), before, now)]


def files(before: Mapping[str, str], now: Mapping[str, str]) -> list[PlanDifference]:
    """Return which files beside plan.json differ, by their names; what is in them is not told."""
    found = []
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            change = _change(before.get(name, _ABSENT), now.get(name, _ABSENT))
            layer = "monitoring" if name.startswith("monitoring/") else "plan"
            row = PlanDifference(layer=layer, kind="file", what=name, host="", change=change, before=None, now=None)
            found.append(row)
    return found


def _walk(path: Path, before: Any, now: Any) -> Iterator[tuple[Path, Any, Any]]:
    """Yield path and both values of what differs. What one version lacks and the other leaves empty does not."""
    if before == now or path == _WRITTEN or (_empty(path, before) and _empty(path, now)):
        return
    one, other = _mapping(path, before), _mapping(path, now)
    if one is None or other is None:
        yield path, before, now
        return
    for key in sorted(one.keys() | other.keys()):
        yield from _walk((*path, key), one.get(key, _ABSENT), other.get(key, _ABSENT))


def _empty(path: Path, value: Any) -> bool:
    """Return whether a value says no more than its absence. Without a value of the site's, a chart's own holds."""
    if _OPERATORS & set(path):
        return value is _ABSENT or value == {}
    return value is _ABSENT or value in (None, "", [], {}, 0)


def _mapping(path: Path, value: Any) -> Mapping[str, Any] | None:
    """Return ``value`` as a mapping: a list of items with names by these. None for anything else."""
    if isinstance(value, Mapping):
        return {str(key): inner for key, inner in value.items()}
    if not isinstance(value, list):
        return None
    keys = _KEYS.get(path[-1] if path else "", ("name",))
    if not all(isinstance(one, Mapping) and keys[0] in one for one in value):
        return None
    found = {" ".join(filter(None, (_word(one.get(key)) for key in keys))): one for one in value}
    return found if len(found) == len(value) else None


def _word(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _row(path: Path, one: Any, other: Any, *, before: Mapping[str, Any], now: Mapping[str, Any]) -> PlanDifference:
    host = path[1] if path[0] == "hosts" and len(path) > 1 else ""
    own = ("hosts", *path[2:]) if host else path
    return PlanDifference(
        layer=_layer(own, _about(now, path) or _about(before, path)),
        kind=_kind(own, host=host), what=_what(own), host=host, change=_change(one, other),
        before=_shown(path, one), now=_shown(path, other),
    )  # fmt: skip


def _about(plan: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Return what a plan has of the host, or the network, of a path."""
    part = plan.get(path[0])
    found = part.get(path[1]) if isinstance(part, Mapping) and len(path) > 1 else None
    return found if isinstance(found, Mapping) else {}


def _layer(own: Path, about: Mapping[str, Any]) -> str:
    if own[0] == "hosts" and (len(own) == 1 or own[1] in _MADE):
        return "ironic" if about.get("provisioner") == "ironic" else "metal"
    if own[0] == "hosts" and own[1] == "packages" and len(own) > 2:
        return own[2]
    if own[0] == "networks" and about.get("purpose") == "provider":
        return "openstack"
    prefixes = (".".join(own[:length]) for length in range(len(own), 0, -1))
    return next((_OWNERS[one] for one in prefixes if one in _OWNERS), NO_LAYER)


def _kind(own: Path, *, host: str) -> Kind:
    parts, rest = set(own), _in_release(own)
    tables: tuple[tuple[Kind, bool], ...] = (
        ("host", bool(host) and len(own) == 1),
        ("finding", own[0] == "findings"),
        ("resource", own[0] == "resources"),
        ("value", len(rest) > 1 and rest[1] in _OPERATORS),
        ("chart", len(rest) == 1),
        ("image", "images" in parts),
        ("file", bool(parts & _FILES)),
        ("version", own[-1] in _VERSIONS),
        ("address", bool(parts & _ADDRESSES) or own[0] == "networks"),
    )
    return next((kind for kind, fits in tables if fits), "setting")


def _in_release(own: Path) -> Path:
    """Return the path below a list of releases, whose first part is a release's name; () outside."""
    at = next((at for at, one in enumerate(own) if one in _RELEASES), len(own))
    return own[at + 1 :]


def _what(own: Path) -> str:
    """Return the path as text; of a chart's value, the release and the path in its values."""
    rest = _in_release(own)
    if len(rest) > 2 and rest[1] in _OPERATORS:
        return ".".join((rest[0], *rest[2:]))
    return ".".join(own[1:] if own[0] == "hosts" and len(own) > 1 else own)


def _change(before: Any, now: Any) -> Literal["new", "gone", "changed"]:
    return "new" if before is _ABSENT else "gone" if now is _ABSENT else "changed"


def _shown(path: Path, value: Any) -> Any:
    """Return ``value`` without what lets its reader in."""
    if value is _ABSENT:
        return None
    if isinstance(value, Mapping):
        own = (*path, str(value["name"])) if "name" in value else path  # as `_mapping` names an item of a list
        return {key: _shown((*own, str(key)), inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shown(path, inner) for inner in value]
    if path[-1] == "webhook":  # whoever knows its address may send messages
        return value and HIDDEN
    if isinstance(value, str) and path[-1] != "$secret":
        name = path[-2] if path[-1] == "value" else path[-1]  # a variable of an environment is {name, value}
        named = _OPERATORS & set(path) and (_SECRET_KEY.search(name) or _SECRETS.fullmatch(path[-2]))
        return HIDDEN if named or _SECRET_TEXT.search(value) else value
    return value


def counts(rows: Iterable[PlanDifference]) -> dict[str, dict[str, int]]:
    """Return the number of differences by layer and kind."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        kinds = found.setdefault(row.layer, {})
        kinds[row.kind] = kinds.get(row.kind, 0) + 1
    return found

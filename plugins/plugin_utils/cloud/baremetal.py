"""Converge bare metal machines in Ironic, a cloud's or a seed's, by openstacksdk."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import requests
from keystoneauth1.http_basic import HTTPBasicAuth
from keystoneauth1.session import Session
from openstack.connection import Connection

from ...module_utils._base.changes import Changes
from ...module_utils._ironic.configuration import USER
from ..errors import GroundupError
from ..paths import state_dir
from ..plan.types import Plan
from ..vault import open_store
from ..vault.names import IRONIC
from . import connection

Target = Literal["present", "absent", "manageable", "available", "provisioned"]
SHOWN = (
    "id", "name", "provision_state", "target_provision_state", "power_state", "is_maintenance", "maintenance_reason",
    "last_error", "driver", "driver_info", "properties", "extra", "resource_class", "boot_interface",
    "deploy_interface", "network_interface", "traits", "instance_info",
)  # fmt: skip
_MASKED = "******"  # what Ironic shows of a secret
_STATES: dict[Target, str] = {"manageable": "manageable", "available": "available", "provisioned": "active"}
# Provision state -> {target state: verb of the next step}; `_ENDS` has the state that each verb ends in.
_VERBS: dict[str, dict[str, str]] = {
    "enroll": {"manageable": "manage", "available": "manage", "active": "manage"},
    "manageable": {"available": "provide", "active": "provide"},
    "available": {"manageable": "manage", "active": "active"},
    "active": {"manageable": "deleted", "available": "deleted"},
    "deploy failed": {"manageable": "deleted", "available": "deleted", "active": "active"},
    "error": {"manageable": "deleted", "available": "deleted", "active": "deleted"},
    "clean failed": {"manageable": "manage", "available": "manage", "active": "manage"},
    "inspect failed": {"manageable": "manage", "available": "manage", "active": "manage"},
}
_ENDS = {"manage": "manageable", "provide": "available", "active": "active", "deleted": "available"}
_DELETED_AT = ("enroll", "manageable", "available", "clean failed", "inspect failed")  # no deployed system is lost


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """The wanted state of a machine. Fields that are None or empty are left unchanged."""

    name: str
    state: Target = "present"
    power: Literal["on", "off"] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)  # of the node: texts, or mappings that set only their keys
    ports: Sequence[str] = ()  # MAC addresses
    image: Mapping[str, Any] | None = None  # url, sha256, format
    configdrive: Mapping[str, Any] | None = None
    force: bool = False


@contextmanager
def opened(*, cloud: str | None, plan: Plan | None) -> Iterator[Any]:
    """Yield the bare metal proxy of a cloud in clouds.yaml, or of a site's seed. Raises GroundupError."""
    where = f"clouds.yaml, {cloud}" if cloud else "the seed's Ironic"
    with connection.answered(where, remedy="on a seed: journalctl -u ironic -u nginx"):
        if cloud:
            yield connection.named(cloud).baremetal
        elif plan:
            yield of_seed(plan).baremetal


def of_seed(plan: Plan) -> Connection:
    """Return a connection to the Ironic on a site's seed. Raises GroundupError when there is none yet."""
    ca = state_dir(plan.site) / "ca.crt"
    password = open_store(plan.site, write=False).items().get(IRONIC)
    if plan.metal is None or not password or not ca.is_file():
        raise GroundupError(
            "the site has no Ironic on a seed" if plan.metal is None else "the site's Ironic is not made yet",
            where=f"site {plan.site}",
            why="it is what knows machines",
            remedy="name a cloud of clouds.yaml" if plan.metal is None else "run the playbook groundup.cloud.ironic",
        )
    direct = requests.Session()
    direct.trust_env = False  # the seed is not behind a proxy
    auth = HTTPBasicAuth(endpoint=plan.metal.api_url, username=USER, password=password)
    return Connection(session=Session(auth=auth, session=direct, verify=str(ca), timeout=120))


def facts(proxy: Any, name: str | None = None) -> list[dict[str, Any]]:
    """Return Ironic's facts of all machines, or of ``name``: an empty list when Ironic does not know it."""
    if name is None:
        nodes = list(proxy.nodes(details=True))
        addresses: dict[str, list[str]] = {}
        for port in proxy.ports(details=True):
            addresses.setdefault(port.node_id, []).append(port.address)
        return [_shown(node, addresses.get(node.id, [])) for node in nodes]
    node = proxy.find_node(name)
    return [_shown(node, _ports(proxy, node))] if node else []


def converge(proxy: Any, wanted: NodeSpec, changes: Changes, *, timeout: float) -> dict[str, Any]:
    """Converge a machine to ``wanted``; return its facts, {} when it is absent. Raises GroundupError."""
    node = proxy.find_node(wanted.name)
    if wanted.state == "absent":
        _remove(proxy, node, wanted, changes)
        return {}
    node = _described(proxy, node, wanted, changes)
    node = _wired(proxy, node, wanted, changes)
    node = _brought(proxy, node, wanted, changes, timeout=timeout)
    _powered(proxy, node, wanted, changes, timeout=timeout)
    return facts(proxy, wanted.name)[0] if node else {}


def _described(proxy: Any, node: Any, wanted: NodeSpec, changes: Changes) -> Any:
    """Create the node, or patch the fields that differ."""
    if node is None:
        shown = _text({"name": wanted.name, **_masked(wanted.fields)})
        if "driver" not in wanted.fields:
            raise GroundupError(
                f"Ironic does not know {wanted.name}",
                where="option driver",
                why="a new machine needs a driver",
                remedy="write driver and driver_info, or correct the name",
            )
        if changes.add(f"make {wanted.name}", name=wanted.name, after=shown):
            return proxy.create_node(name=wanted.name, **wanted.fields)
        return None
    patch, before, after = [], dict[str, Any](), dict[str, Any]()
    for name, value in wanted.fields.items():
        parts = value.items() if isinstance(value, Mapping) else [(None, value)]
        has = getattr(node, name)
        for key, part in parts:
            old = has if key is None else (has or {}).get(key)
            if old in (part, _MASKED):  # Ironic masks secrets: a changed one cannot be detected
                continue
            place = name if key is None else f"{name}.{key}"
            path = name if key is None else f"{name}/{str(key).replace('~', '~0').replace('/', '~1')}"
            patch.append({"op": "add", "path": f"/{path}", "value": part})
            before[place], after[place] = old, _masked({str(key): part})[str(key)]
    if patch and changes.add(
        f"set {', '.join(after)} of {wanted.name}", name=wanted.name, before=_text(before), after=_text(after)
    ):
        return proxy.patch_node(node, patch)
    return node


def _wired(proxy: Any, node: Any, wanted: NodeSpec, changes: Changes) -> Any:
    has = _ports(proxy, node) if node else []
    for address in (one.lower() for one in wanted.ports):
        if address not in has and changes.add(f"make port {address} of {wanted.name}"):
            proxy.create_port(node_id=node.id, address=address)
    return node


def _brought(proxy: Any, node: Any, wanted: NodeSpec, changes: Changes, *, timeout: float) -> Any:
    """Step through provision states until the machine is in the wanted one."""
    target = _STATES.get(wanted.state)
    at = node.provision_state if node else "enroll"
    if target is None or at == target:
        return node
    for _ in range(len(_VERBS)):
        if at == target:
            break
        verb = _verb(at, target, wanted)
        if changes.add(f"{verb} {wanted.name}", name=wanted.name, before=f"{at}\n", after=f"{_ENDS[verb]}\n"):
            node = _asked(proxy, node, verb, wanted, timeout=timeout)
        at = _ENDS[verb] if changes.check else node.provision_state
    return node


def _verb(at: str, target: str, wanted: NodeSpec) -> str:
    verb = _VERBS.get(at, {}).get(target)
    if verb is None:
        raise GroundupError(
            f"{wanted.name} is {at}",
            where="its provision state",
            why=f"nothing leads from there to {target}, or something is done with it now",
            remedy="wait until that has ended; see its last_error with module machine_info",
        )
    if at == "active" and not wanted.force:
        raise GroundupError(
            f"{wanted.name} is provisioned",
            where=f"state: {wanted.state}",
            why="its system would be lost",
            remedy="take what runs on it away, then write force: true",
        )
    return verb


def _asked(proxy: Any, node: Any, verb: str, wanted: NodeSpec, *, timeout: float) -> Any:
    more: dict[str, Any] = {}
    if verb == "active":
        if wanted.image:
            told = {
                "image_source": wanted.image["url"], "image_os_hash_algo": "sha256",
                "image_os_hash_value": wanted.image["sha256"], "image_disk_format": wanted.image["format"],
            }  # fmt: skip
            node = proxy.patch_node(node, [{"op": "add", "path": "/instance_info", "value": told}])
        if wanted.configdrive:
            more["config_drive"] = dict(wanted.configdrive)
    return proxy.set_node_provision_state(node, verb, wait=True, timeout=timeout, **more)


def _powered(proxy: Any, node: Any, wanted: NodeSpec, changes: Changes, *, timeout: float) -> None:
    state = f"power {wanted.power}"
    has = node.power_state if node else None
    if (
        wanted.power
        and has != state
        and changes.add(
            f"switch {wanted.name} {wanted.power}", name=wanted.name, before=f"{has or 'unknown'}\n", after=f"{state}\n"
        )
    ):
        proxy.set_node_power_state(node, state, wait=True, timeout=timeout)


def _remove(proxy: Any, node: Any, wanted: NodeSpec, changes: Changes) -> None:
    if node is None:
        return
    allowed = node.provision_state in _DELETED_AT
    if not allowed and not wanted.force:
        raise GroundupError(
            f"{wanted.name} is {node.provision_state}",
            where="state: absent",
            why="a system may run on it, or something is done with it",
            remedy="bring it to available first; or write force: true, which forgets it and leaves it as it is",
        )
    if changes.add(f"forget {wanted.name}", name=wanted.name, before=_text(_shown(node, _ports(proxy, node)))):
        if not allowed:
            proxy.set_node_maintenance(node, "it is taken out of Ironic as it is")
        proxy.delete_node(node)


def _ports(proxy: Any, node: Any) -> list[str]:
    return [port.address for port in proxy.ports(node=node.id)]


def _shown(node: Any, ports: list[str]) -> dict[str, Any]:
    return {name: getattr(node, name, None) for name in SHOWN} | {"ports": sorted(ports)}


def _masked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``fields`` with secrets masked as Ironic masks them."""
    return {
        key: _masked(value) if isinstance(value, Mapping) else _MASKED if _is_secret(key) else value
        for key, value in fields.items()
    }


def _is_secret(key: str) -> bool:
    return any(word in key for word in ("password", "secret", "token", "snmp_community", "key_content"))


def _text(found: Mapping[str, Any]) -> str:
    return json.dumps(found, indent=2, sort_keys=True, default=str) + "\n"

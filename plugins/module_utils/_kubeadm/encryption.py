"""Encryption of Secrets at rest: which keys a control host's API server reads and writes with, and a change of them.

Of the keys in an API server's file the first one writes, all read. `CLEAR` stands for no encryption. Who writes with a
key that another control host does not read takes that Secret from it: callers change one host at a time, in an order
that never does so, and a key leaves a host only when etcd has nothing that was written with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._base import yaml_text
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import place, read
from . import api_server, documents, renewal, static_pods
from .etcd import Etcd
from .host import NodeHost
from .rolling_restart import wait_until_spared
from .spec import EncryptionKey, Node, Paths

CLEAR = documents.CLEAR
FLAG = "encryption-provider-config"
SECRETS = "/registry/secrets/"
_PREFIX = b"k8s:enc:secretbox:v1:"
_OTHER = b"k8s:enc:"


def found(paths: Paths) -> tuple[EncryptionKey, ...]:
    """Return the keys of the host's API server in their order; `CLEAR` alone when it does not encrypt."""
    if FLAG not in static_pods.flags(static_pods.container(api_server.NAME, paths)):
        return (EncryptionKey(name=CLEAR),)
    return listed(read(paths.at(documents.ENCRYPTION)) or "")


def listed(text: str) -> tuple[EncryptionKey, ...]:
    """Return the keys in the ``text`` of a file, in their order."""
    document = yaml_text.load(text)
    resources: list[dict[str, Any]] = document.get("resources") or [{}]
    keys: list[EncryptionKey] = []
    for provider in resources[0].get("providers", ()):
        if "identity" in provider:
            keys.append(EncryptionKey(name=CLEAR))
        keys += [EncryptionKey(**one) for one in (provider.get("secretbox") or {}).get("keys", ())]
    return tuple(keys)


def names(paths: Paths) -> list[str]:
    """Return the names of `found`."""
    return [one.name for one in found(paths)]


def kept(node: Node, paths: Paths) -> Node:
    """Return ``node``, a member, with the encryption that it has: no run of the layer changes it."""
    if names(paths) == [CLEAR]:
        return replace(node, cluster=replace(node.cluster, encrypt_secrets=False))
    return replace(node, encryption_keys=found(paths) or node.encryption_keys)


def restored(node: Node, paths: Paths) -> Node:
    """Return ``node``, whose etcd is of a backup set, with the keys of that set: its Secrets were written with them."""
    keys = listed(read(paths.at(documents.ENCRYPTION)) or "")
    return replace(node, encryption_keys=keys, cluster=replace(node.cluster, encrypt_secrets=True)) if keys else node


def stored(etcd: Etcd) -> dict[str, int]:
    """Return how many Secrets in etcd were written with each key, by its name. Raises NodeApiError."""
    return dict(Counter(map(writer, etcd.values(SECRETS))))


def writer(value: bytes) -> str:
    """Return the name of the key that a stored ``value`` was written with; `CLEAR` for none."""
    if value.startswith(_PREFIX):
        return value[len(_PREFIX) :].partition(b":")[0].decode(errors="replace")
    return value[:40].decode(errors="replace") if value.startswith(_OTHER) else CLEAR


def look(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001  # it only reads
    """Return the keys of the host's API server, whether it has read them, and the Secrets in etcd by key."""
    host = NodeHost(name=given["name"])
    late = renewal.behind(host, Changes(check=False))
    return {
        "changed": False,
        "order": names(host.paths),
        "restarts": api_server.NAME in late,
        "stored": stored(Etcd(host)),
    }


def change(node: Node, host: NodeHost, changes: Changes, *, order: Sequence[str]) -> None:
    """Have the host's API server use the keys in ``order``, and wait for it. Raises GroundupError, OSError."""
    with host.alone():
        node = replace(node, encryption_keys=_ordered(node, host.paths, order))
        if gone := [name for name in names(host.paths) if name not in order]:
            _refuse_used(host, gone)
        text = documents.encryption_config(node.encryption_keys)
        path = host.paths.at(documents.ENCRYPTION)
        if FLAG not in static_pods.flags(static_pods.container(api_server.NAME, host.paths)):
            place(changes, host.paths.init_file, documents.init_config(node), mode=0o600)
        place(changes, path, text, mode=0o600, secret=True)
        due = bool(api_server.differing(node, host.paths)) or api_server.NAME in renewal.behind(host, changes)
        if not due:
            return
        if not changes.check:
            wait_until_spared(node, host)
        if anew := api_server.rewrite(node, host, changes):
            if not changes.check:
                static_pods.wait_until_running(node, host, anew)
            return
        if changes.add(f"restart {api_server.NAME}", name="static pods", before="older than what it reads\n"):
            renewal.restart(api_server.NAME, node=node, host=host)


def _ordered(node: Node, paths: Paths, order: Sequence[str]) -> tuple[EncryptionKey, ...]:
    """Return the keys named in ``order``, of the site's store and of the host. Raises GroundupError."""
    known: Mapping[str, EncryptionKey] = {one.name: one for one in (*found(paths), *node.encryption_keys)}
    known = {**known, CLEAR: EncryptionKey(name=CLEAR)}
    if missing := [name for name in order if name not in known]:
        raise GroundupError(
            f"{node.name} is to read Secrets with {', '.join(missing)}, and nobody has that key",
            where=f"host {node.name}, {documents.ENCRYPTION}; the site's secrets store",
            why="an API server whose file lacks a key does not start, or reads no Secret of it",
            remedy="run the playbook groundup.cloud.rotate again; if it stays, restore the secrets store",
        )
    return tuple(known[name] for name in order)


def _refuse_used(host: NodeHost, gone: Sequence[str]) -> None:
    """Refuse to drop keys that Secrets in etcd were written with. Raises GroundupError."""
    found_there = stored(Etcd(host))
    if used := [f"{found_there[name]} by {name}" for name in gone if found_there.get(name)]:
        raise GroundupError(
            f"{host.name} keeps its keys of Secrets at rest: etcd has Secrets written {', '.join(used)}",
            where=f"host {host.name}, etcd below {SECRETS}",
            why="no API server could read those any more",
            remedy="run the playbook groundup.cloud.rotate again, which writes them anew",
        )

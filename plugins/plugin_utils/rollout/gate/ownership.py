"""Refuse another secrets store: a ConfigMap holds fingerprints of the secrets that the cluster was deployed with.

Another laptop's store, a newly generated one, or one from an old backup has passwords that the databases do not
accept. It is refused before anything changes. A secret that somebody else made, such as a directory's password, may
have a new value: its former fingerprints are kept, so that a store from before is refused. So may one that is being
rotated: only a store that has the value it replaces can name that value's fingerprint. Nothing there is secret.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from ...kube.client import Api
from ...kube.objects import MANAGER
from ...kube.types import resource_path
from ..types import RolloutError

NAME = "groundup-secrets-store"
_SHOWN = 5  # names in an error


def claim(
    api: Api,
    *,
    namespace: str,
    identity: str,
    prints: Mapping[str, str],
    given: Collection[str],
    replaced: Mapping[str, str],
    store: str,
    write: bool,
) -> tuple[str, ...]:
    """Return the names of secrets that the cluster has no fingerprint of; with ``write`` record them there.

    ``identity`` and ``prints`` are those of the store in the file ``store``; ``given``: names that are never generated;
    ``replaced``: fingerprints of values that a rotation has replaced.
    Raises RolloutError when the cluster was deployed with other secrets.
    """
    path = resource_path("v1", "configmaps", namespace=namespace, name=NAME)
    found = api.find(path)
    if found is None:
        _refuse_moved(api, namespace, identity)
    data: dict[str, str] = (found or {}).get("data") or {}
    known, former = _read(data, "fingerprints"), _read(data, "former")
    other = sorted(name for name, value in known.items() if prints.get(name, value) != value)
    allowed = {name for name in other if name in given or replaced.get(name) == known[name]}
    differing = [name for name in other if name not in allowed or prints[name] in former.get(name, "").split()]
    if data.get("identity", identity) != identity or differing:
        raise _refusal(namespace, store, differing, other=data.get("identity", identity) != identity)
    new = tuple(sorted({*prints} - {*known} | {*other}))
    if write and new:
        merged = json.dumps({**known, **prints}, sort_keys=True)
        former |= {name: f"{former.get(name, '')} {known[name]}".strip() for name in other}
        item = {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": namespace},
            "data": {"identity": identity, "fingerprints": merged, "former": json.dumps(former, sort_keys=True)},
        }  # fmt: skip
        api.apply(path, item, manager=MANAGER)
    return new


def _refuse_moved(api: Api, namespace: str, identity: str) -> None:
    """Raise RolloutError when the cloud with this store is in another namespace."""
    named = api.get("/api/v1/configmaps", fieldSelector=f"metadata.name={NAME}").get("items") or ()
    ours = [one for one in named if (one.get("data") or {}).get("identity") == identity]
    others = sorted(str(one["metadata"]["namespace"]) for one in ours)
    if others:
        raise RolloutError(
            f"the cloud with this secrets store is in namespace {', '.join(others)}, and is to be in {namespace}",
            where=f"openstack.namespace of the site file; ConfigMap/{NAME} in {others[0]}",
            why="a second cloud would be made beside it, with empty databases, and take its names",
            remedy=f"write namespace: {others[0]}; when nothing of that cloud is needed: "
            f"kubectl -n {others[0]} delete configmap {NAME}",
        )


def _read(data: Mapping[str, str], key: str) -> dict[str, str]:
    try:
        known = json.loads(data.get(key, "{}"))
        return {str(name): str(value) for name, value in known.items()}
    except (ValueError, AttributeError) as error:
        raise RolloutError(
            f"the fingerprints of the site's secrets cannot be read: {error}",
            where=f"ConfigMap/{NAME}",
            why="they tell whether this is the store the cluster was deployed with",
            remedy="somebody has edited it: restore it, or remove it when you know that the store is the right one",
        ) from error


def _refusal(namespace: str, store: str, differing: list[str], *, other: bool) -> RolloutError:
    names = ", ".join(differing[:_SHOWN]) + (", ..." if len(differing) > _SHOWN else "")
    what = "is another one" if other else f"is older, or was changed ({names})"
    return RolloutError(
        f"the cluster was deployed with the secrets of another store: this one {what}",
        where=f"ConfigMap/{NAME} in {namespace}, and {store}",
        why="the databases and services know the old passwords: with these, none would let the other in",
        remedy="restore the store and its password from the newest backup, or run from where the site was deployed; "
        f"when this one is right all the same: kubectl -n {namespace} delete configmap {NAME}",
    )

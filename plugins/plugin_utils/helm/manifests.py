"""Parse rendered manifests into objects and hooks, and digest them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import yaml

from ..kube.types import Object
from .types import ChartError, Rendered

HOOK = "helm.sh/hook"
RUN_ONCE = {"Job": "jobs", "Pod": "pods"}  # kinds of hooks that hold nothing, with their plurals
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse(text: str, *, where: str) -> tuple[Object, ...]:
    """Return the objects of a multi-document manifest; a ``List`` counts as its items.

    Raises ChartError, naming ``where`` and the document, when a document is not a Kubernetes object.
    """
    try:
        documents = list(yaml.load_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        raise ChartError(
            f"the rendered manifest is not YAML: {error}",
            where=where,
            why="nothing of this release can be created",
            remedy="correct the template, or the value it prints (quote it)",
        ) from error
    objects: list[Object] = []
    for number, document in enumerate(documents, start=1):
        if document is None:
            continue
        if not isinstance(document, dict) or not document.get("kind") or not document.get("apiVersion"):
            raise ChartError(
                f"document {number} of the rendered manifest is no Kubernetes object: it has no kind or apiVersion",
                where=where,
                why="nothing of this release can be created",
                remedy="correct the template that prints it",
            )
        if document["kind"] == "List":
            objects.extend(item for item in document.get("items") or () if isinstance(item, dict))
        else:
            objects.append(document)
    return tuple(objects)


def hook_events(item: Object) -> tuple[str, ...]:
    """Return the hook events of an object, ``()`` for an ordinary one."""
    value = ((item.get("metadata") or {}).get("annotations") or {}).get(HOOK)
    return tuple(event.strip() for event in str(value).split(",")) if value else ()


def is_kept(item: Object) -> bool:
    """Return whether Helm keeps an object when its release no longer has it."""
    return ((item.get("metadata") or {}).get("annotations") or {}).get("helm.sh/resource-policy") == "keep"


def split(release: str, namespace: str, items: Iterable[Object]) -> Rendered:
    """Split ``items`` into ordinary objects and hooks. Test hooks are left out: only ``helm test`` runs them."""
    objects: list[Object] = []
    hooks: list[Object] = []
    for item in items:
        events = hook_events(item)
        if not events:
            objects.append(item)
        elif set(events) - {"test", "test-success", "test-failure"}:
            hooks.append(item)
    return Rendered(
        release=release, namespace=namespace, objects=tuple(objects), hooks=tuple(hooks), digest=digest(objects, hooks)
    )


def digest(*groups: Iterable[Object]) -> str:
    """Return a SHA-256 of all objects, independent of their order (hex, cut to the length of a label)."""
    lines = sorted(json.dumps(item, sort_keys=True, default=str) for group in groups for item in group)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:63]

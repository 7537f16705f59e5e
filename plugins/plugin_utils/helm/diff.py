"""Compare a chart's render with the cluster, field by field.

The API server predicts: a server-side apply as dry run, under helm's field manager, returns the object as it would be
stored. So the server's defaults are on both sides, and its refusals are known before anything changes.
Hooks are compared with those of the last release: Helm deletes and recreates them at every upgrade.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..kube.client import Api, ApiError
from ..kube.objects import declared
from ..kube.types import Discovery, Object, ref_of
from ..kube.workloads import failed
from .manifests import RUN_ONCE, hook_events, is_kept
from .types import FieldChange, LiveRelease, ObjectChange, ReleaseDiff, Rendered

_HELM = "helm"  # the field manager helm applies under; a dry run under it predicts what helm will do
_KEYED_BY = ("name", "containerPort", "port", "mountPath", "key", "ip", "topologyKey")


def against_cluster(api: Api, discovery: Discovery, rendered: Rendered, live: LiveRelease | None) -> ReleaseDiff:
    """Return what an upgrade to ``rendered`` would change. Reads only."""
    changes: list[ObjectChange] = []
    wanted = {ref_of(item, namespace=rendered.namespace) for item in rendered.objects}
    for item in rendered.objects:
        change = _one(api, discovery, item, release=rendered.release, namespace=rendered.namespace)
        if change is not None:
            changes.append(change)
    if live is not None:
        for item in live.objects:
            ref = ref_of(item, namespace=live.namespace)
            if ref not in wanted and not is_kept(item):
                changes.append(ObjectChange(ref=ref, kind="remove"))
    changes.extend(hook_changes(rendered, live))
    return ReleaseDiff(release=rendered.release, changes=tuple(changes))


def removal(live: LiveRelease) -> ReleaseDiff:
    """Return what removing a release would change."""
    gone = (ref_of(item, namespace=live.namespace) for item in live.objects if not is_kept(item))
    return ReleaseDiff(release=live.name, changes=tuple(ObjectChange(ref=ref, kind="remove") for ref in gone))


def hook_changes(rendered: Rendered, live: LiveRelease | None) -> Iterator[ObjectChange]:
    """Yield the hooks that differ from the last release's, among those that an upgrade would run.

    Those of an install are left out once the release was deployed, and those of an upgrade before: they would not run,
    and a chart may render them depending on the cluster's state (a Secret that jobs fill).
    """
    hooks = running(rendered.hooks, live)
    olds = running(live.hooks if live else (), live)
    before = {ref_of(hook, namespace=rendered.namespace): hook for hook in olds}
    for hook in hooks:
        ref = ref_of(hook, namespace=rendered.namespace)
        old = before.pop(ref, None)
        if old is None:
            yield ObjectChange(ref=ref, kind="create", hook=True)
        else:
            fields = tuple(fields_of(old, hook))
            if fields:
                yield ObjectChange(ref=ref, kind="change", fields=fields, hook=True)
    for ref in before:
        if ref.kind in RUN_ONCE:  # see heal; others stay, with what they hold
            yield ObjectChange(ref=ref, kind="remove", hook=True)


def running(hooks: Iterable[Object], live: LiveRelease | None) -> list[Object]:
    """Return those of ``hooks`` that Helm would run: of an installation, or of an upgrade of what was deployed once."""
    event = "-upgrade" if live is not None and live.deployed_before else "-install"
    return [hook for hook in hooks if any(one.endswith(event) for one in hook_events(hook))]


def fields_of(before: Object, after: Object) -> list[FieldChange]:
    """Return the fields in which two states of one object differ; a Secret's values appear as digests."""
    secret = after.get("kind") == "Secret" or before.get("kind") == "Secret"
    changes = []
    for path, old, new in _walk(declared(before), declared(after), ""):
        if secret and path.split(".", 1)[0] in ("data", "stringData"):
            changes.append(FieldChange(path=path, before=_print(old), after=_print(new)))
        else:
            changes.append(FieldChange(path=path, before=old, after=new))
    return changes


def _one(api: Api, discovery: Discovery, item: Object, *, release: str, namespace: str) -> ObjectChange | None:
    ref = ref_of(item, namespace=namespace)
    path = discovery.path(item, namespace=namespace)
    live = api.find(path) if path is not None else None
    if path is None or live is None:
        return ObjectChange(ref=ref, kind="create")
    other = foreign_owner(live, release=release)
    if other:
        return ObjectChange(ref=ref, kind="refused", message=f"it exists and belongs to {other}")
    if ref.kind == "Job" and failed(live):  # see heal: whoever waits for it would wait for ever
        return ObjectChange(ref=ref, kind="create")
    try:
        predicted = api.apply(path, marked(item, release=release, namespace=namespace), manager=_HELM, dry_run=True)
    except ApiError as error:
        if error.status in (400, 403, 409, 422):
            return ObjectChange(ref=ref, kind="refused", message=error.message, fields=tuple(_asked_for(live, item)))
        raise
    fields = fields_of(live, predicted)
    return ObjectChange(ref=ref, kind="change", fields=tuple(fields)) if fields else None


def marked(item: Object, *, release: str, namespace: str) -> Object:
    """Return ``item`` with the label and annotations that helm adds to everything it applies."""
    meta = item.get("metadata") or {}
    labels = {**(meta.get("labels") or {}), "app.kubernetes.io/managed-by": "Helm"}
    marks = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace}
    return {**item, "metadata": {**meta, "labels": labels, "annotations": {**(meta.get("annotations") or {}), **marks}}}


def foreign_owner(live: Object, *, release: str) -> str:
    """Return a live object's owner if it is not the release, else ``""``. Helm does not take such objects over."""
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    owner = annotations.get("meta.helm.sh/release-name")
    if owner == release:
        return ""
    return f"release {owner}" if owner else "nobody helm knows"


def _asked_for(live: Object, item: Object) -> Iterator[FieldChange]:
    """Yield the fields that ``item`` sets differently from ``live``: the API server must have refused some of them."""
    for change in fields_of(live, item):
        if change.after is not None:
            yield change


def _walk(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}, key=str):
            yield from _walk(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _walk_lists(before, after, path)
    elif before != after and not (_empty(before) and _empty(after)):
        yield path, before, after


def _walk_lists(before: list[Any], after: list[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    key = _list_key(before, after)
    if key is None:
        for index in range(max(len(before), len(after))):
            old = before[index] if index < len(before) else None
            new = after[index] if index < len(after) else None
            yield from _walk(old, new, f"{path}[{index}]")
        return
    olds = {item[key]: item for item in before}
    news = {item[key]: item for item in after}
    for name in dict.fromkeys([*olds, *news]):
        yield from _walk(olds.get(name), news.get(name), f"{path}[{name}]")


def _list_key(*lists: list[Any]) -> str | None:
    items = [item for group in lists for item in group]
    for key in _KEYED_BY:
        if items and all(isinstance(item, dict) and key in item for item in items):
            unique = all(len({str(item[key]) for item in group}) == len(group) for group in lists)
            if unique:
                return key
    return None


def _empty(value: Any) -> bool:
    return value is None or value in ({}, [])


def _print(value: Any) -> str | None:
    return None if value is None else f"sha256:{hashlib.sha256(str(value).encode()).hexdigest()[:12]}"


def diff_text(diffs: Iterable[ReleaseDiff], redact: Callable[[str], str] = str) -> str:
    """Return a whole change as text, for ``--diff``."""
    return "".join(f"{redact(line)}\n" for diff in diffs for line in lines(diff))


def lines(diff: ReleaseDiff) -> list[str]:
    """Return the diff as text: one line per object, one per field."""
    marks = {"create": "+", "change": "~", "remove": "-", "refused": "!"}
    text: list[str] = []
    for change in diff.changes:
        hook = " (hook)" if change.hook else ""
        said = f": {change.message}" if change.message else ""
        text.append(f"{marks[change.kind]} {diff.release}: {change.ref}{hook}{said}")
        text.extend(f"    {field.path}: {_short(field.before)} -> {_short(field.after)}" for field in change.fields)
    return text


def _short(value: Any) -> str:
    text = "(absent)" if value is None else repr(value)
    return text if len(text) <= 120 else f"{text[:119]}…"

"""Servers of another series in place of the database's or the queue's members: judged by those that run.

Sources: MariaDB's "Upgrading Galera Cluster" (members of two series only from one long-term series to the next),
RabbitMQ's table of upgradability, without its step from 3.13: another major is a new cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ...health.context import VerifierContext
from ...helm.preview import ChangePreview
from ...kube.types import Object
from ...kube.workloads import pod_spec
from ...plan.types import Plan, ReleasePlan
from ...services import mariadb, rabbitmq
from ...services.record import Servers
from ..types import GateReason, against
from .pairs import way

MARIADB, RABBITMQ = mariadb.SERVICE.name, rabbitmq.SERVICE.name  # releases, which have a container of that name
FOLLOWS: dict[str, dict[str, tuple[str, ...]]] = {
    MARIADB: {"10.11": ("10.6",), "11.4": ("10.11",), "11.8": ("11.4",), "12.3": ("11.8",)},
    RABBITMQ: {"4.1": ("4.0",), "4.2": ("4.0", "4.1"), "4.3": ("4.2",)},
}
_ASK = {MARIADB: mariadb.servers, RABBITMQ: rabbitmq.servers}
_SERIES = re.compile(r"v?(\d+\.\d+)(?![\d])")
_GUIDE = "docs/charts.md, another series of MariaDB or RabbitMQ"


def other_series(
    plan: Plan,
    preview: ChangePreview,
    *,
    context: Callable[[ReleasePlan], VerifierContext],
    unsaved: Callable[[Plan], tuple[str, str]],
) -> Iterator[GateReason]:
    """Yield the reasons against servers of another series; nobody is asked while the series stays.

    ``unsaved``: what the newest backup set lacks, and what to do. Raises ApiError when the Kubernetes API does not
    answer.
    """
    for release in plan.openstack.releases:
        name, live = release.verify, preview.live.get(release.name)
        rendered = preview.rendered.get(release.name)
        if name not in FOLLOWS or release.is_extra or live is None or rendered is None:
            continue
        after, asked = _image(name, rendered.objects), context(release)
        if _image(name, live.objects) == after:
            continue
        pods = [{**pod, "kind": "Pod"} for pod in asked.pods().values()]
        before = {_image(name, [pod]) for pod in pods or live.objects} - {""}
        if {series(_tag(one)) for one in before} == {series(_tag(after))} != {""}:
            continue
        # Of members that are stopped, what their release was.
        found = (
            _ASK[name](asked).of(asked.workload()[1]) if pods else Servers(versions={one: _tag(one) for one in before})
        )
        yield from judge(release, after, found, stopped=not pods)
        if name == MARIADB and any(lacking := unsaved(plan)):
            yield against(release.name, "no-backup")(
                what=lacking[0], remedy=lacking[1],
                why="the way back from another series of the database is a set of before",
            )  # fmt: skip


def judge(release: ReleasePlan, image: str, found: Servers, *, stopped: bool) -> Iterator[GateReason]:
    """Yield the reasons against ``image`` in place of what runs. ``stopped``: no member does. Pure."""
    after = series(_tag(image))
    if not after:
        yield against(release.name, "server-unknown")(
            what=f"image {image or '(none)'} does not say of which series its server is",
            why="a server may refuse what one of another series has written, and nothing takes that back",
            remedy="name the series in its tag, as in mariadb:11.8",
        )
        return
    silent = [*found.silent, *(f"{name} is {said!r}" for name, said in found.versions.items() if not series(said))]
    if silent or (stopped and release.verify == RABBITMQ):
        yield against(release.name, "server-unknown")(
            what=f"it would become {after}, and members do not say what they are: {'; '.join(silent) or 'all stopped'}",
            why="whether that may follow is not known",
            remedy="bring them back with the former image; the playbook groundup.cloud.openstack, tag verify, says "
            "what is wrong with them",
        )
        return
    for before in sorted({series(said) for said in found.versions.values()} - {after}):
        if refused := refusal(release.verify, before, after, alone=stopped or len(found.versions) == 1):
            what, why, remedy = refused
            yield against(release.name, "server-step")(what=what, why=why, remedy=remedy)
    if found.disabled:
        yield against(release.name, "feature-flags")(
            what=f"it would become {after}, and feature flags are not enabled: {', '.join(found.disabled)}",
            why="members of the next series do not start without them",
            remedy=f"kubectl --namespace {release.namespace} exec rabbitmq-rabbitmq-0 -- rabbitmqctl "
            "enable_feature_flag all",
        )


def refusal(server: str, before: str, after: str, *, alone: bool) -> tuple[str, str, str] | None:
    """Return what, why and remedy when ``after`` may not follow ``before``. ``alone``: no member of another runs."""
    follows = FOLLOWS[server]
    steps = way(before, after, follows)
    if before in follows.get(after, ()) or (alone and steps and server == MARIADB):
        return None
    if _number(after) < _number(before):
        remedy = "keep the series that runs; or restore a backup set of before, with its image"
        return f"{before} runs, and {after} is older", "a server does not read what a newer one has written", remedy
    what = f"{before} runs, and {after} may not follow it"
    if not steps:
        why = "upstream supports no such step" if server == RABBITMQ else "no such step is known"
        return what, why, f"a new cluster takes its place: {_GUIDE}" if server == RABBITMQ else f"see {_GUIDE}"
    why = "members of both would be one cluster meanwhile, which upstream does not support"
    stop = f"; or stop all members first: {_GUIDE}" if server == MARIADB else ""
    return what, why, f"go in steps: {' → '.join(steps)}{stop}"


def series(said: str) -> str:
    """Return the series of a version or tag, "" when it says none."""
    found = _SERIES.match(said)
    return found[1] if found else ""


def _image(name: str, items: Iterable[Object]) -> str:
    """Return the image of the server's container, "" without one."""
    for item in items:
        for container in pod_spec(item).get("containers") or () if item.get("kind") in ("StatefulSet", "Pod") else ():
            if container.get("name") == name:
                return str(container.get("image", ""))
    return ""


def _tag(image: str) -> str:
    return image.rpartition("/")[2].partition("@")[0].partition(":")[2]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))

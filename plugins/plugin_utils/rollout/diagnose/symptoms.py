"""Collect a release's symptoms, most telling first: failed containers and jobs, then volumes, then the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...helm.types import Rendered
from ...kube.client import Api, ApiError
from ...kube.types import Object, Ref, ref_of
from ...kube.workloads import (
    CRASHED,
    PULL_REASONS,
    claims_of,
    condition,
    conditions,
    images,
    is_ready,
    runs,
    unready,
    waits_after_crash,
    waits_for_image,
)
from ..apply.readiness import workloads
from ..apply.snapshot import ReleaseSnapshot
from ..types import EventLine, Symptom

_STUCK = (
    *PULL_REASONS, CRASHED, "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
    "ImageInspectError",
)  # fmt: skip
_BEFORE_CONTAINERS = ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "NetworkNotReady")
_PULLING = ("Failed", "BackOff")  # reasons of events about images, among others
_LOG_LINES = 30
Ranked = tuple[int, Symptom]
# The only events of a claim whose storage class binds once its pod has a node.
_WAITS_FOR_ITS_POD = {"WaitForFirstConsumer", "WaitForPodScheduled"}


def collect(rendered: Rendered, snapshot: ReleaseSnapshot) -> list[Symptom]:
    """Return the symptoms of a release, without logs, the most telling first."""
    found: list[Ranked] = []
    serving = tuple(str(owner) for owner in workloads(rendered) if _serves(owner, snapshot))
    for owner in workloads(rendered):
        item = snapshot.objects.get(owner)
        if item is None or not unready(item):
            continue
        base = Symptom(
            release=rendered.release, namespace=owner.namespace, object=str(owner), owner=str(owner), stage="start",
            facts=snapshot.facts, serving=serving,
        )  # fmt: skip
        found.extend(_of_workload(base, owner, item, snapshot))
    return [symptom for _, symptom in sorted(found, key=lambda pair: pair[0])]


def _serves(owner: Ref, snapshot: ReleaseSnapshot) -> bool:
    status = (snapshot.objects.get(owner) or {}).get("status") or {}
    return owner.kind == "Deployment" and bool(status.get("availableReplicas"))


def _of_workload(base: Symptom, owner: Ref, item: Object, snapshot: ReleaseSnapshot) -> Iterator[Ranked]:
    pods = _present(item, snapshot.pods(owner))
    for pod in pods:
        yield from _of_pod(base, pod, snapshot)
    for entry in conditions(item):
        if item["kind"] == "Job" and entry.get("type") == "Failed" and entry.get("status") == "True":
            yield 1, replace(
                base, reason=str(entry.get("reason", "")), message=str(entry.get("message", "")),
                events=snapshot.about(owner), final=True,
            )  # fmt: skip
    if not pods:
        yield 3, replace(base, message="it has no pods", events=snapshot.about(owner))


def _present(item: Object, pods: list[Object]) -> list[Object]:
    """Return the pods of a Deployment's present template, or all its pods while there are none.

    Pods of the former template, even broken ones, stay until a new one is ready: an update is not judged by them.
    """
    if item["kind"] != "Deployment":
        return pods
    template = (item.get("spec") or {}).get("template") or {}
    notes = ((template.get("metadata") or {}).get("annotations") or {}).items()
    return [
        pod
        for pod in pods
        if images(pod) == images(item) and notes <= (pod["metadata"].get("annotations") or {}).items()
    ] or pods


def _of_pod(base: Symptom, pod: Object, snapshot: ReleaseSnapshot) -> Iterator[Ranked]:
    ref = ref_of(pod)
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if status.get("phase") == "Succeeded" or is_ready(pod):
        return
    claims = tuple(claim.name for claim in claims_of(pod))
    base = replace(
        base, object=str(ref), node=str(spec.get("nodeName", "")), claims=claims, events=_unsettled(pod, snapshot),
        reason=str(status.get("reason", "")), message=str(status.get("message", "")), facts=snapshot.facts_for(pod),
    )  # fmt: skip
    yield from _of_claims(base, ref, snapshot)
    if base.node in base.facts.not_ready_nodes:
        yield 0, replace(base, reason="NodeNotReady")
    seen = False
    for init, key in ((True, "initContainerStatuses"), (False, "containerStatuses")):
        for entry in status.get(key) or ():
            ranked = _of_container(replace(base, init=init), entry)
            if ranked is not None:
                seen = True
                yield ranked
    if not seen:
        unscheduled = condition(pod, "PodScheduled") == "False"
        yield 2 if unscheduled or base.reason else 4, base


def _unsettled(pod: Object, snapshot: ReleaseSnapshot) -> tuple[EventLine, ...]:
    """Return the events about a pod, without problems it has overcome since: events stay for an hour."""
    over: tuple[str, ...] = ("FailedScheduling",) if (pod.get("spec") or {}).get("nodeName") else ()
    # A former run proves nothing: after its node restarts, a pod is mounted and started again.
    present = runs(pod) or waits_after_crash(pod)
    if present:
        over += _BEFORE_CONTAINERS
    pulled = present and not waits_for_image(pod)
    return tuple(
        event
        for event in snapshot.about(ref_of(pod))
        if event.reason not in over and not (pulled and event.reason in _PULLING and "pull" in event.message.lower())
    )


def _of_claims(base: Symptom, pod: Ref, snapshot: ReleaseSnapshot) -> Iterator[Ranked]:
    for claim in base.claims:
        ref = Ref("PersistentVolumeClaim", pod.namespace, claim)
        item = snapshot.objects.get(ref)
        if item is None or (item.get("status") or {}).get("phase") in ("Pending", "Lost"):
            events = snapshot.about(ref)
            if events and {event.reason for event in events} <= _WAITS_FOR_ITS_POD:
                continue  # the pod's own symptom says why no node takes it
            state = "missing" if item is None else str(item["status"]["phase"])
            storage_class = ((item or {}).get("spec") or {}).get("storageClassName")
            message = f"claim {claim} is {state}, storage class {storage_class or '(none)'}"
            yield 1, replace(base, object=str(ref), reason="ClaimUnbound", message=message, events=events)


def _of_container(base: Symptom, entry: Object) -> Ranked | None:
    state, last = entry.get("state") or {}, (entry.get("lastState") or {}).get("terminated") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
    restarts = int(entry.get("restartCount") or 0)
    symptom = replace(
        base,
        container=str(entry.get("name", "")),
        image=str(entry.get("image", "")),
        restarts=restarts,
        crashes=restarts + 1 if waiting.get("reason") == CRASHED else 0,
        exit_code=ended.get("exitCode", last.get("exitCode")),
    )
    if waiting.get("reason") in _STUCK or (ended and ended.get("exitCode") != 0):
        reason = str(ended.get("reason") or last.get("reason") or waiting.get("reason", ""))
        if waiting.get("reason") in _STUCK and waiting["reason"] != CRASHED:
            reason = str(waiting["reason"])
        message = " ".join(filter(None, [waiting.get("message"), ended.get("message"), last.get("message")]))
        return 0, replace(symptom, reason=reason, message=message or base.message)
    if "running" in state and not entry.get("ready"):
        reason = str(last.get("reason", "")) if last else "NotReady"
        return (2 if last.get("exitCode") else 4) + (1 if base.init else 0), replace(symptom, reason=reason)
    return None


def log_of(api: Api, symptom: Symptom) -> tuple[str, ...]:
    """Return the last log lines of the container at fault: of its present run, or else of the run before."""
    if not symptom.container or not symptom.object.startswith("Pod/"):
        return ()
    pod = symptom.object.removeprefix("Pod/")
    for previous in (False, True):
        try:
            text = api.logs(symptom.namespace, pod, symptom.container, lines=_LOG_LINES, previous=previous)
        except ApiError as error:
            text = ""
            if error.status not in (400, 404):  # not started, or gone: there is no log
                return (f"(the log cannot be read: {error.message})",)
        lines = tuple(line.rstrip() for line in text.splitlines() if line.strip())
        if lines:
            return lines
    return ()


class LogCollector:
    """Keeps the last log lines of containers that failed: their pods may be gone when a card is made."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._read: set[tuple[str, str, str, int]] = set()
        self._by_owner: dict[tuple[str, str], Symptom] = {}

    def record(self, found: list[Symptom]) -> None:
        """Read the log of every failure not read yet."""
        for symptom in found:
            if not symptom.container or symptom.exit_code in (None, 0):
                continue
            key = (symptom.namespace, symptom.object, symptom.container, symptom.restarts)
            if key not in self._read:
                self._read.add(key)
                log = log_of(self._api, symptom)
                if log:
                    self._by_owner[(symptom.namespace, symptom.owner)] = replace(symptom, log=log)

    def complete(self, symptom: Symptom) -> Symptom:
        """Return ``symptom`` with a log: its own, or the last one of the same workload."""
        own = log_of(self._api, symptom)
        if own:
            return replace(symptom, log=own)
        kept = self._by_owner.get((symptom.namespace, symptom.owner))
        if kept is None:
            return symptom
        if symptom.container or not kept.log:
            return replace(symptom, log=symptom.log or kept.log)
        return replace(
            symptom, log=kept.log, container=kept.container, init=kept.init, exit_code=kept.exit_code, image=kept.image
        )

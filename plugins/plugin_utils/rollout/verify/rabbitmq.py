"""RabbitMQ: do all members run in one cluster, without partitions and alarms (H3)? A pod's phase says none of that."""

from __future__ import annotations

import json
from typing import Any

from ...kube.client import ApiError
from ..types import Check, Verification
from .context import Context, members, name_of, replicas, running

_ARGV = ("rabbitmqctl", "--quiet", "--formatter", "json", "cluster_status")


def verify(context: Context) -> Verification:
    """Return what the first member that answers says about the cluster."""
    owner, wanted = replicas(context, "rabbitmq")
    trouble = "no member runs"
    for pod in running(members(context, "rabbitmq")):
        try:
            answer = context.api.execute(
                context.release.namespace, name_of(pod), _ARGV, container="rabbitmq", timeout=60.0
            )
        except ApiError as error:
            trouble = f"{name_of(pod)}: {error.message}"
            continue
        if answer.code == 0:
            try:
                return Verification(checks=judge(parse(answer.stdout), wanted=wanted, owner=owner))
            except ValueError as error:
                trouble = f"{name_of(pod)}: cluster_status is not JSON: {error}"
        else:
            trouble = f"{name_of(pod)}: {(answer.stderr or answer.stdout).strip()[-200:]}"
    return Verification(checks=(Check(name="answers", ok=False, detail=trouble, layer="message queue", object=owner),))


def parse(output: str) -> dict[str, Any]:
    """Return the JSON object in ``output``, which a warning may precede. Raises ValueError without one."""
    start = output.find("{")
    if start < 0:
        raise ValueError("there is no object in it")
    return dict(json.loads(output[start:]))


def judge(status: dict[str, Any], *, wanted: int, owner: str) -> tuple[Check, ...]:
    """Return the checks on a cluster_status answer."""
    running_nodes = status.get("running_nodes") or []
    partitions = {node: parts for node, parts in (status.get("partitions") or {}).items() if parts}
    alarms = [
        f"{alarm.get('resource', alarm)} on {alarm.get('node', '?')}" if isinstance(alarm, dict) else str(alarm)
        for alarm in status.get("alarms") or ()
    ]

    def check(name: str, *, ok: bool, detail: str) -> Check:
        return Check(name=name, ok=ok, detail=detail, layer="message queue", object=owner)

    return (
        check("members", ok=len(running_nodes) == wanted, detail=f"{len(running_nodes)} of {wanted} nodes run"),
        check(
            "partitions", ok=not partitions,
            detail="; ".join(f"{node} cannot see {', '.join(parts)}" for node, parts in partitions.items()) or "none",
        ),
        check("alarms", ok=not alarms, detail="; ".join(alarms) or "none"),
    )  # fmt: skip

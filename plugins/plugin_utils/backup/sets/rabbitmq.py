"""RabbitMQ's part of a set: its definitions (accounts, virtual hosts, rights, queues), by its management API.

Messages are no data: services send theirs again.
"""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import GroundupError
from ...kube.client import Api, ApiError
from ...kube.types import resource_path
from ...kube.workloads import is_ready

SELECTOR, PORT = "application=rabbitmq,component=server", 15672
ACCOUNT, PASSWORD = "rabbitmq", "rabbitmq/admin"  # name; of the secret
COUNTED = ("users", "vhosts", "permissions", "policies", "queues", "exchanges", "bindings")
_TIMEOUT = 60.0
_OK = (200, 204)


def members(api: Api, namespace: str) -> list[str]:
    """Return the names of the members' pods that are Ready. Raises GroundupError when none is, ApiError."""
    pods = api.get(resource_path("v1", "pods", namespace=namespace), labelSelector=SELECTOR)["items"]
    if not (ready := sorted(str(pod["metadata"]["name"]) for pod in pods if is_ready(pod))):
        raise _failed(f"none of {len(pods)} members is Ready", where=f"namespace {namespace}, pods {SELECTOR}")
    return ready


def take(api: Api, namespace: str, *, password: str, write: Callable[[bytes], object]) -> dict[str, Any]:
    """Write the definitions of the first member that gives them; return what a restore test compares."""
    errors = list[GroundupError]()
    for pod in members(api, namespace):
        try:
            text = _definitions(api, namespace, pod, password)
            found = parse(text)
        except (GroundupError, ValueError) as error:
            errors.append(_failed(str(getattr(error, "what", error)), where=f"pod {pod}, port {PORT}"))
            continue
        write(text)
        return found
    raise errors[0]


def read(api: Api, namespace: str, *, password: str) -> dict[str, Any]:
    """Return the definitions of a member. Raises GroundupError."""
    return dict(json.loads(_definitions(api, namespace, members(api, namespace)[0], password)))


def put(api: Api, namespace: str, text: bytes, *, password: str) -> None:
    """Add definitions to what there is. The administrator keeps the store's password. Raises GroundupError."""
    found = json.loads(text)
    found["users"] = [user for user in found["users"] if user["name"] != ACCOUNT]
    _definitions(api, namespace, members(api, namespace)[0], password, put=json.dumps(found))


def parse(text: bytes) -> dict[str, Any]:
    """Return version and counts of definitions. Raises ValueError."""
    found = json.loads(text)
    if not isinstance(found, dict) or not all(isinstance(found.get(kind), list) for kind in COUNTED):
        raise ValueError("these are no definitions")
    if not any("password_hash" in user for user in found["users"]):
        raise ValueError("no user in them has a password")
    version = str(found.get("rabbitmq_version") or found.get("rabbit_version") or "")
    return {"version": version, "counts": {kind: len(found[kind]) for kind in COUNTED}}


def judge(about: Mapping[str, Any], text: bytes) -> tuple[list[str], str]:
    """Return what definitions lack, and what they have. ``about``: of `take`."""
    try:
        counts = parse(text)["counts"]
    except ValueError as error:
        return [str(error)], ""
    told = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    return [] if counts == about["counts"] else [f"it has {told}, at the backup there were {about['counts']}"], told


def _definitions(api: Api, namespace: str, pod: str, password: str, *, put: str | None = None) -> bytes:
    allowed = base64.b64encode(f"{ACCOUNT}:{password}".encode()).decode()
    headers = {"Authorization": f"Basic {allowed}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(pod)
    try:
        with api.connect(namespace, pod, PORT) as plain:
            plain.settimeout(_TIMEOUT)
            connection.sock, connection.auto_open = plain, 0  # never another connection, to this machine
            connection.request("GET" if put is None else "POST", "/api/definitions", put, headers)
            answer = connection.getresponse()
            text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise _failed(f"{type(error).__name__}: {error}", where=f"pod {pod}, port {PORT}") from error
    if answer.status not in _OK:
        raise ApiError(f"/api/definitions: {answer.status} {answer.reason}", where=pod, status=answer.status)
    return text


def _failed(what: str, *, where: str) -> GroundupError:
    return GroundupError(
        f"RabbitMQ's definitions cannot be had: {what}", where=where, why="accounts and rights would be missing",
        remedy="run the playbook groundup.cloud.openstack, tag verify: it says what is wrong with the message queue",
    )  # fmt: skip

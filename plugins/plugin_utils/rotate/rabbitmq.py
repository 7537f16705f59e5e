"""Accounts of RabbitMQ, by its management API."""

from __future__ import annotations

import base64
import http.client
import json
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..errors import GroundupError
from ..kube.client import Api
from ..kube.types import resource_path
from ..kube.workloads import is_ready
from .accounts import Credential

SELECTOR, PORT = "application=rabbitmq,component=server", 15672
_MAY = {"configure": ".*", "write": ".*", "read": ".*"}
_TIMEOUT = 30.0
_OK, _MISSING, _UNAUTHORIZED = (200, 201, 204), 404, 401
_REFUSED, _NO_OPERATOR = "Not_Authorized", "Not management user"  # what it says of a service's account


@dataclass(frozen=True, slots=True)
class Queue:
    """One member."""

    connect: Callable[[], AbstractContextManager[socket.socket]]
    admin: Credential
    name: str

    def accepts(self, login: Credential) -> bool:
        """Return whether it lets ``login`` in. Raises GroundupError when it does not say."""
        status, said = self._ask("GET", "whoami", login=login)
        if status in _OK:
            return True
        reason = str(said.get("reason"))
        if status != _UNAUTHORIZED or reason not in (_REFUSED, _NO_OPERATOR):
            raise failed(f"no answer to a login: {status} {reason}", self.name)
        return reason == _NO_OPERATOR

    def make(self, login: Credential, host: str) -> None:
        """Make an account that may do everything in the virtual host ``host``, and nothing else.

        It is let in when it has its rights.
        """
        user = quote(login.user, safe="")
        self._do("PUT", f"users/{user}", {"password_hash": "", "tags": ""})
        self._do("PUT", f"permissions/{quote(host, safe='')}/{user}", _MAY)
        self._do("PUT", f"users/{user}", {"password": login.password, "tags": ""})

    def replace(self, login: Credential) -> None:
        """Give an administrator a new password: the old one ends, connections stay."""
        self._do("PUT", f"users/{quote(login.user, safe='')}", {"password": login.password, "tags": "administrator"})

    def peers(self, user: str) -> list[str]:
        """Return the addresses that are connected as ``user``."""
        status, said = self._ask("GET", "connections?columns=user,peer_host", login=self.admin)
        if status not in _OK:
            raise failed(f"its connections cannot be listed: {status}", self.name)
        return sorted({str(one.get("peer_host")) for one in said if one.get("user") == user})

    def queues(self) -> list[dict[str, Any]]:
        """Return name, vhost, type, and whether durable and exclusive, of every queue. Raises GroundupError."""
        status, said = self._ask("GET", "queues?columns=name,vhost,type,durable,exclusive", login=self.admin)
        if status not in _OK:
            raise failed(f"its queues cannot be listed: {status}", self.name)
        return list(said)

    def delete(self, user: str) -> None:
        """Delete an account."""
        self._do("DELETE", f"users/{quote(user, safe='')}", None)

    def _do(self, method: str, path: str, body: Any) -> None:
        status, said = self._ask(method, path, login=self.admin, body=body)
        if status not in _OK and not (method == "DELETE" and status == _MISSING):
            raise failed(f"{method} {path}: {status} {said.get('reason', '')}", self.name)

    def _ask(self, method: str, path: str, *, login: Credential, body: Any = None) -> tuple[int, Any]:
        word = base64.b64encode(f"{login.user}:{login.password}".encode()).decode()
        headers = {"Authorization": f"Basic {word}", "Content-Type": "application/json"}
        client = http.client.HTTPConnection("127.0.0.1")
        try:
            with self.connect() as client.sock:
                client.sock.settimeout(_TIMEOUT)
                client.request(method, f"/api/{path}", None if body is None else json.dumps(body), headers)
                answer = client.getresponse()
                text = answer.read()
                return answer.status, json.loads(text or b"{}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise failed(f"its management API does not answer: {error}", self.name) from error


def member(api: Api, namespace: str, admin: Credential) -> Queue:
    """Return a member that is Ready: all share the accounts. Raises GroundupError when none is."""
    pods = api.get(resource_path("v1", "pods", namespace=namespace), labelSelector=SELECTOR)["items"]
    ready = sorted(str(pod["metadata"]["name"]) for pod in pods if is_ready(pod))
    if not ready:
        raise failed("no member is Ready", f"namespace {namespace}, pods {SELECTOR}")
    return Queue(lambda: api.connect(namespace, ready[0], PORT), admin, ready[0])


def failed(what: str, where: str) -> GroundupError:
    """Return the error of RabbitMQ."""
    return GroundupError(
        f"RabbitMQ: {what}", where=where, why="accounts change only where the queue answers",
        remedy="run the playbook groundup.cloud.openstack, tag verify: it says what is wrong with the message queue; "
        "then run this again",
    )  # fmt: skip

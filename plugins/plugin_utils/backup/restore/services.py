"""What services have beside the databases, put back: Keystone's key repositories, RabbitMQ's definitions."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from ...errors import GroundupError
from ...kube.client import Api
from ...kube.types import resource_path
from ...plan.types import Plan
from ...vault import Store
from ..sets import rabbitmq, service_keys
from ..sets.parts import RABBITMQ, SERVICE_KEYS
from ..sets.service_keys import CREDENTIALS, KEK, TOKENS
from . import workloads

PARTS = (SERVICE_KEYS, RABBITMQ)
Content = Callable[[str], Iterable[bytes]]  # of a part
_MADE = (rabbitmq.ACCOUNT, "guest")  # accounts that every member has from its first start on


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What there is of a part now, and what a restore undoes ("": nothing)."""

    told: str
    undone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services of a site."""

    connect: Callable[[], Api]  # a lost cluster may have no kubeconfig
    plan: Plan
    store: Store

    def held(self, parts: Collection[str], content: Content) -> dict[str, Held]:
        """Return what there is of those of ``parts`` that are a service's, against the set's ``content``."""
        found = dict[str, Held]()
        for part in (part for part in PARTS if part in parts):
            try:
                found[part] = self._held(part, b"".join(content(part)))
            except GroundupError as error:
                undone = f"nobody says what there is of {part} ({error.what}): all that was changed since is undone"
                found[part] = Held(told="no answer", undone=undone)
        return found

    def put(self, parts: Collection[str], content: Content, *, restore: str) -> list[str]:
        """Put back those of ``parts``, in the restore of this name; return what was done. Raises GroundupError."""
        return [line for part in PARTS if part in parts for line in self._part(part, b"".join(content(part)), restore)]

    def _held(self, part: str, content: bytes) -> Held:
        if part == RABBITMQ:
            found = rabbitmq.read(self._api, self._namespace, password=self.store.get(rabbitmq.PASSWORD))
            told = ", ".join(f"{len(found[kind])} {kind}" for kind in rabbitmq.COUNTED)
            accounts = [one["name"] for one in found["users"] if one["name"] not in _MADE]
            undone = f"RabbitMQ has accounts ({', '.join(sorted(accounts))}): the set's passwords replace theirs"
            return Held(told=told, undone=undone if accounts else "")
        wanted = json.loads(content)
        now = {name: self._keys(name) for name in (TOKENS, CREDENTIALS)}
        other = [name for name, keys in now.items() if keys and keys != wanted[name]]
        lines = [f"{name}: {'other keys' if name in other else 'the same' if keys else 'none'}"
                 for name, keys in now.items()]  # fmt: skip
        if self.store.items().get(service_keys.KEK_NAME) != (wanted.get(KEK) or {}).get("0"):
            lines.append(f"{KEK}: another one in the secrets store, and stays")
        undone = f"Keystone has other keys ({', '.join(other)}): their tokens end, what they encrypted opens no more"
        return Held(told="; ".join(lines), undone=undone if other else "")

    def _part(self, part: str, content: bytes, restore: str) -> list[str]:
        if part == RABBITMQ:
            rabbitmq.put(self._api, self._namespace, content, password=self.store.get(rabbitmq.PASSWORD))
            return ["put back RabbitMQ's definitions"]
        wanted = json.loads(content)
        done = [f"put back {name}" for name in (TOKENS, CREDENTIALS) if self._put(name, wanted[name], restore)]
        number = workloads.restart_services(self._api, self._namespace, names=("keystone",))
        return [*done, f"restart {number} pods of Keystone"]

    @property
    def _api(self) -> Api:
        return self.connect()

    @property
    def _namespace(self) -> str:
        return self.plan.openstack.namespace

    def _path(self, name: str) -> str:
        return resource_path("v1", "secrets", namespace=self._namespace, name=name)

    def _keys(self, name: str) -> dict[str, str]:
        found = (self._api.find(self._path(name)) or {}).get("data") or {}
        return {number: base64.b64decode(key).decode() for number, key in found.items()}

    def _put(self, name: str, keys: dict[str, str], restore: str) -> bool:
        """Have these keys, and no other ones, in a Secret; return whether it had not. Others are set aside."""
        if (now := self._keys(name)) == keys:
            return False
        if now:
            self._write(self._free(f"{name}.{restore.lower()}.before-restore", now), now)
        self._write(name, keys)
        return True

    def _free(self, name: str, keys: dict[str, str]) -> str:
        """Return ``name``, or with a number where it has others: of a killed run, and Keystone has rotated since."""
        names = (f"{name}.{number}" if number else name for number in itertools.count())
        return next(one for one in names if self._keys(one) in ({}, keys))

    def _write(self, name: str, keys: dict[str, str]) -> None:
        data = {number: base64.b64encode(key.encode()).decode() for number, key in keys.items()}
        if found := self._api.find(self._path(name)):
            body: dict[str, Any] = {"data": {**dict.fromkeys(found.get("data") or {}), **data}}  # None: the number goes
            self._api.request("PATCH", self._path(name), body=body, content_type="application/merge-patch+json")
        else:
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "Opaque", "data": data}
            self._api.request("POST", self._path(""), body=body)

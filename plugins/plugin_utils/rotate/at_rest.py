"""The key of Secrets at rest, without a gap: which control host reads and writes with which keys, phase by phase.

In every phase, whatever one control host writes, each other one can read: first all read the new key, then each writes
with it, and the old one goes when nothing is written with it. `CLEAR` stands for no encryption: turned on later, it is
the old key.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..kube.client import Api, ApiError
from ..vault import Store, rotation
from ..vault.names import ENCRYPTION_KEY, USER
from ..vault.rotation import FORMER, NEXT

CLEAR = "identity"  # Kubernetes' own word
FIRST = "site-1"  # name of the key that a site is made with
_PAGE = "50"
_MOVED = (404, 409)  # gone, or written anew by somebody else: with the new key, as everybody writes now


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsKeys:
    """The site's keys of Secrets at rest, each a name and 32 bytes in base64."""

    current: tuple[str, str] = field(repr=False)  # what all are to write with
    following: tuple[str, str] | None = field(default=None, repr=False)
    former: tuple[str, str] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, store: Store) -> SecretsKeys:
        """Return those in ``store``. Raises SecretsError."""
        values = store.items()

        def key(kind: str) -> tuple[str, str] | None:
            secret = values.get(ENCRYPTION_KEY + kind)
            return (values.get(ENCRYPTION_KEY + USER + kind, FIRST), secret) if secret else None

        current = (values.get(ENCRYPTION_KEY + USER, FIRST), store.get(ENCRYPTION_KEY))
        return cls(current=current, following=key(NEXT), former=key(FORMER))

    @property
    def target(self) -> str:
        """Return the name of the key that is to be the only one."""
        return (self.following or self.current)[0]

    @property
    def open(self) -> bool:
        """Return whether a rotation is open."""
        return bool(self.following or self.former)

    def order(self) -> list[str]:
        """Return the names of the keys of a new control host, the one that writes first: it joins in any phase."""
        return [one[0] for one in (self.current, self.following, self.former) if one]

    def secrets(self) -> dict[str, str]:
        """Return the keys by name."""
        return dict(one for one in (self.current, self.following, self.former) if one)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKeys:
    """What an API server uses."""

    order: tuple[str, ...]
    restarts: bool = False  # it has not read its file yet


def begin(store: Store) -> None:
    """Make the next key, and its name: etcd keeps the name beside each Secret."""
    rotation.stage(store, [ENCRYPTION_KEY], users={ENCRYPTION_KEY: f"site-{secrets.token_hex(4)}"})


def read_by_all(keys: SecretsKeys, hosts: Mapping[str, HostKeys]) -> dict[str, tuple[str, ...]]:
    """Return the order of each host's keys in phase `both`: it reads the new, and writes as before."""
    new = keys.target
    return {name: one.order if new in one.order else (one.order[0], new, *one.order[1:]) for name, one in hosts.items()}


def written_by_all(keys: SecretsKeys, hosts: Mapping[str, HostKeys]) -> dict[str, tuple[str, ...]]:
    """Return the order of each host's keys in phase `use`: it writes with the new."""
    new = keys.target
    return {name: (new, *(key for key in one.order if key != new)) for name, one in hosts.items()}


def alone(keys: SecretsKeys, hosts: Mapping[str, HostKeys]) -> dict[str, tuple[str, ...]]:
    """Return the order of each host's keys in phase `drop`. Secrets in clear text stay readable, as Kubernetes says."""
    return dict.fromkeys(hosts, (keys.target, CLEAR))


def behind(wanted: Mapping[str, tuple[str, ...]], hosts: Mapping[str, HostKeys]) -> list[str]:
    """Return the hosts whose API server does not use the ``wanted`` keys yet."""
    return [name for name, one in sorted(hosts.items()) if one.order != wanted[name] or one.restarts]


def rewrite(api: Api) -> int:
    """Write every Secret as it is, which encrypts it with the present key; return how many. Raises ApiError."""
    written, more = 0, ""
    while True:
        page = api.get("/api/v1/secrets", limit=_PAGE, **({"continue": more} if more else {}))
        for item in page.get("items") or ():
            where = item["metadata"]
            path = f"/api/v1/namespaces/{where['namespace']}/secrets/{where['name']}"
            try:
                api.request("PUT", path, body={"apiVersion": "v1", "kind": "Secret", **item})
            except ApiError as error:
                if error.status not in _MOVED:
                    raise
            written += 1
        more = str((page.get("metadata") or {}).get("continue") or "")
        if not more:
            return written

"""Client of Ironic's API and of `groundup-contact`, the seed's service that installed machines call.

Uses `requests`: openstacksdk takes 0.3 CPU-s to load, and lags behind Ironic's newer versions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import requests

from ...module_utils._ironic.configuration import USER
from ..errors import GroundupError
from ..https import seed_session

VERSION = "1.95"  # of Ironic's API: network_data (1.66), configdrive as JSON (1.56)
_TIMEOUT = (10, 120)  # seconds to connect, and without a byte of an answer


# Temporary errors: the node is locked, Ironic's limits are reached, no worker is free, or Ironic starts.
_LATER = (HTTPStatus.CONFLICT, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
_SEEN = "uuid,name,driver,provision_state,power_state,maintenance,maintenance_reason,last_error,extra,properties"
_SEEN += ",driver_internal_info,inspection_finished_at"


class BusyError(GroundupError):
    """Ironic is temporarily unable: the node is locked, or the service starts. Try again later."""


class ExistsError(GroundupError):
    """The name or address of a new object is already in use."""


class Ironic:
    """One seed's Ironic."""

    def __init__(self, *, api: str, media: str, password: str, ca: Path, user: str = USER) -> None:
        """Take the URLs of Ironic's API and of the contact service, user, password, and the file of the site's CA."""
        self._api, self._media = api, media
        self._session = seed_session(user=user, password=password, ca=ca, connections=64)
        self._session.headers["X-OpenStack-Ironic-API-Version"] = VERSION

    def now(self, identity: str) -> dict[str, Any] | None:
        """Return a node's current state, by id or name; None when there is none. Raises GroundupError."""
        return self._request("GET", f"{self._api}/v1/nodes/{identity}", missing=True)

    def node(self, identity: str) -> dict[str, Any] | None:
        """Return a node, by its id or name; None when there is none. Raises GroundupError."""
        return self.now(identity)

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return every node by id, with the fields that provisioning needs. Raises GroundupError."""
        return {str(node["uuid"]): node for node in self._all(f"{self._api}/v1/nodes?fields={_SEEN}", "nodes")}

    def create(self, node: Mapping[str, Any], *, mac: str) -> None:
        """Create a node and its port where missing: a killed run may have made one. Raises GroundupError."""
        known = self.now(node["name"])
        if known is None:
            self._request("POST", f"{self._api}/v1/nodes", body=dict(node))
        identity = (known or node)["uuid"]
        if mac not in self.macs(identity):
            body = {"node_uuid": identity, "address": mac, "pxe_enabled": True}
            try:
                self._request("POST", f"{self._api}/v1/ports", body=body)
            except ExistsError as error:
                raise GroundupError(
                    f"another machine has its MAC address {mac}",
                    where=str(node["name"]),
                    why="the seed would take one for the other; neither is written to",
                    remedy="compare the MAC addresses of both with the site file; change one of them",
                ) from error

    def macs(self, identity: str) -> set[str]:
        """Return the MAC addresses of a node's ports. Raises GroundupError."""
        found = self._request("GET", f"{self._api}/v1/ports?node_uuid={identity}") or {}
        return {str(port["address"]) for port in found.get("ports", ())}

    def discovered(self) -> list[dict[str, Any]]:
        """Return the nodes of discovered machines without a name. Raises GroundupError."""
        url = f"{self._api}/v1/nodes?provision_state=enroll&fields=uuid,name,extra,last_error"
        return [node for node in self._all(url, "nodes") if not node["name"]]

    def inventory(self, identity: str) -> dict[str, Any] | None:
        """Return a machine's inventory from its ramdisk, None while it is incomplete. Raises GroundupError."""
        return self._request("GET", f"{self._api}/v1/nodes/{identity}/inventory", missing=True)

    def controller(self, *, address: str, user: str, password: str, **more: str) -> dict[str, Any]:
        """Return a machine's serial number and MAC addresses from its management controller. Raises GroundupError.

        ``more``: what tells several systems of a controller apart, `serial` or the path `system`.
        """
        body = {"address": address, "user": user, "password": password, **more}
        return self._request("POST", f"{self._media}/v1/controllers", body=body) or {}

    def _all(self, url: str, kind: str) -> list[dict[str, Any]]:
        """Return a whole list, over all its pages."""
        found: list[dict[str, Any]] = []
        following: str | None = url
        while following:
            page = self._request("GET", following) or {}
            found += page.get(kind, ())
            following = page.get("next")
        return found

    def change(self, identity: str, fields: Mapping[str, Any]) -> None:
        """Set fields of a node, by JSON path. Raises GroundupError."""
        patch = [{"op": "add", "path": path, "value": value} for path, value in fields.items()]
        self._request("PATCH", f"{self._api}/v1/nodes/{identity}", body=patch)

    def provision(self, identity: str, verb: str, **more: Any) -> None:
        """Request a change of the provision state. Raises GroundupError."""
        self._request("PUT", f"{self._api}/v1/nodes/{identity}/states/provision", body={"target": verb, **more})

    def hold(self, identity: str, *, on: bool, why: str = "") -> None:
        """Set or clear a node's maintenance, in which Ironic leaves it alone. Raises GroundupError."""
        body = {"reason": why} if on else None
        self._request("PUT" if on else "DELETE", f"{self._api}/v1/nodes/{identity}/maintenance", body=body)

    def delete(self, identity: str) -> None:
        """Delete a node; do nothing when it is missing. Raises GroundupError."""
        self._request("DELETE", f"{self._api}/v1/nodes/{identity}", missing=True)

    def expect(self, name: str, *, sha256: str, layers: Sequence[str] = ()) -> None:
        """Register a machine's call home with the seed, by the digest of its token. Raises GroundupError.

        After the call the seed's runner runs ``layers`` on the machine.
        """
        body = {"sha256": sha256} | ({"layers": list(layers)} if layers else {})
        self._request("PUT", f"{self._media}/v1/machines/{name}", body=body)

    def tell(self, name: str, *, called: float, way: Sequence[Mapping[str, Any]]) -> None:
        """Store a machine's journal lines since it ``called`` on the seed. Raises GroundupError."""
        self._request("PUT", f"{self._media}/v1/machines/{name}/way", body={"called": called, "way": list(way)})

    def again(self, name: str) -> None:
        """Have the seed's runner retry a failed machine. Raises GroundupError."""
        self._request("PUT", f"{self._media}/v1/machines/{name}/again", body={})

    def call_of(self, name: str) -> dict[str, Any] | None:
        """Return the seed's record of a machine's call home, None when it expects none. Raises GroundupError."""
        return self._request("GET", f"{self._media}/v1/machines/{name}", missing=True)

    def calls(self) -> dict[str, dict[str, Any]]:
        """Return the seed's records of all calls home, by machine. Raises GroundupError."""
        return self._request("GET", f"{self._media}/v1/machines") or {}

    def _request(self, method: str, url: str, *, body: Any = None, missing: bool = False) -> dict[str, Any] | None:
        try:
            answer = self._session.request(method, url, json=body, timeout=_TIMEOUT)
        except requests.RequestException as error:
            raise BusyError(
                f"the seed's Ironic does not answer: {error}",
                where=url,
                why="machines from power-off are installed by it",
                remedy="run the playbook groundup.cloud.ironic; on the seed: journalctl -u ironic -u nginx",
            ) from None
        if missing and answer.status_code == HTTPStatus.NOT_FOUND:
            return None
        if answer.status_code >= HTTPStatus.BAD_REQUEST:
            exists = answer.status_code == HTTPStatus.CONFLICT and "already exists" in answer.text
            kind = ExistsError if exists else BusyError if answer.status_code in _LATER else GroundupError
            raise kind(
                f"{method} is answered with {answer.status_code}: {answer.text[:400].strip()}",
                where=url,
                why="the machine stays as it is",
                remedy="see journalctl -u ironic on the seed",
            )
        return dict(answer.json()) if answer.content else {}


class Watched(Ironic):
    """Ironic with a cached listing that many machines' threads share.

    While the seed restarts, it raises BusyError. It raises another GroundupError when the seed never answered, or not
    for ``patience`` seconds.
    """

    def __init__(self, *, age: float, patience: float = 600.0, **more: Any) -> None:
        """Take the listing's maximum ``age``, and how long the seed may be silent, in seconds."""
        super().__init__(**more)
        self._age, self._patience = age, patience
        self._lock = threading.Lock()
        self._seen, self._called = dict[str, dict[str, Any]](), dict[str, dict[str, Any]]()
        self._named = dict[str, dict[str, Any]]()
        self._looked = self._heard = float("-inf")

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return every node, listed anew when the listing is too old. Raises GroundupError, BusyError."""
        with self._lock:
            if time.monotonic() - self._looked > self._age:
                self._look()
            return self._seen

    def node(self, identity: str) -> dict[str, Any] | None:
        """Return a node from the listing, by id or name."""
        known = self.nodes()
        return known.get(identity) or self._named.get(identity)

    def now(self, identity: str) -> dict[str, Any] | None:
        """Return a node's current state, and update the listing with it."""
        if node := super().now(identity):
            with self._lock:
                self._seen = {**self._seen, str(node["uuid"]): node}
                self._named = {**self._named, **({str(node["name"]): node} if node.get("name") else {})}
        return node

    def call_of(self, name: str) -> dict[str, Any] | None:
        """Return the record of a machine's call home as of the listing."""
        self.nodes()
        return self._called.get(name)

    def _look(self) -> None:
        asked = time.monotonic()
        try:
            self._seen, self._called = super().nodes(), super().calls()
            self._named = {str(node["name"]): node for node in self._seen.values() if node["name"]}
        except BusyError as error:
            if asked - self._heard > self._patience:
                raise GroundupError(error.what, where=error.where, why=error.why, remedy=error.remedy) from None
            raise
        self._looked = self._heard = asked

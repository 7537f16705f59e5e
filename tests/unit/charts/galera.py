"""What tests of Galera's start share: positions, names, and the ConfigMap that members meet in."""

from __future__ import annotations

import sys
import threading
from typing import Any

from .conftest import script

start = script("mariadb/files/start.py")
data, states, shared = (sys.modules[name] for name in ("galera_data", "galera_state", "shared_object"))
UUID = "9fcd4f8d-e562-11f1-8455-1f2dc3171a73"
OTHER = "11111111-e562-11f1-8455-1f2dc3171a73"
NOTHING = states.Position()


def held(seqno: int = -1, uuid: str = UUID) -> Any:
    return states.Position(uuid, seqno)


def pod(ordinal: int) -> str:
    return f"mariadb-server-{ordinal}"


class ConfigMaps:
    """As much of the API as members share one ConfigMap through."""

    def __init__(self, *, annotations: dict[str, str] | None = None, **content: str) -> None:
        self.version, self.content = 1, dict[str, Any](content)
        self.annotations = dict[str, Any](annotations or {})
        self.down = False
        self._one = threading.Lock()

    def call(self, *request: Any) -> dict[str, Any]:
        with self._one:
            return self._call(*request)

    def _call(self, method: str, _path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        if self.down:
            raise OSError("no route to host")
        if method == "PATCH":
            assert body is not None
            if body["metadata"]["resourceVersion"] != str(self.version):
                raise shared.urllib.error.HTTPError("", shared.CONFLICT, "conflict", None, None)
            self.version += 1
            self.content |= body["data"]
            self.annotations |= body["metadata"].get("annotations", {})
        data, notes = ({k: v for k, v in each.items() if v is not None} for each in (self.content, self.annotations))
        return {"metadata": {"resourceVersion": str(self.version), "annotations": notes}, "data": data}

    @property
    def says(self) -> dict[str, str]:
        """What it holds but for the members' reports."""
        return {k: v for k, v in self.content.items() if v is not None and not k.startswith("member.")}

"""Install what the monitoring host asks by programs of ours: management controllers, and Kubernetes for its objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from .._base.changes import Changes
from .._host import watched
from . import timed
from .redfish import program as redfish
from .workloads import program as workloads

EVERY = 60  # seconds: a controller has a slow processor, and Kubernetes has many objects


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    module: ModuleType
    what: str
    timeout: int  # seconds
    memory: str


_ASKED = {
    watched.REDFISH: _Asked(
        module=redfish, what="Power supplies, fans and temperatures by management controllers",
        timeout=600, memory="256M",  # as long as many controllers that do not answer take
    ),
    watched.WORKLOADS: _Asked(
        module=workloads, what="Workloads and pods by the Kubernetes API", timeout=120, memory="512M",
    ),
}  # fmt: skip


def units(one: watched.AskingProgram) -> dict[str, str]:
    """Return service and timer of ``one``, by name."""
    asked = _ASKED[one]
    command = f"{one.program} {one.metrics} {one.settings}"
    text = timed.oneshot(
        command, what=asked.what, timeout=asked.timeout, memory=asked.memory,
        more="PrivateDevices=yes\nRestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX\n",
    )  # fmt: skip
    return dict(zip(one.units, (text, timed.timer(what=asked.what, every=EVERY)), strict=True))


def converge(changes: Changes, one: watched.AskingProgram, settings: Mapping[str, Any] | None) -> None:
    """Have ``one`` ask as in ``settings``; none: leave nothing of it behind. Raises GroundupError, OSError."""
    if not settings:
        watched.remove_asking(changes, one)
        return
    timer = timed.install(changes, one.program, _ASKED[one].module, units=units(one))
    known = json.dumps(settings, indent=1, sort_keys=True)
    timer.place(one.settings, f"{known}\n", mode=0o600, secret=True)
    timer.running()


def all_of(changes: Changes, wanted: Mapping[str, Any], *, tls: Path) -> None:
    """Have all asked that ``wanted`` names; ``tls``: where credentials are. Raises GroundupError, OSError."""
    machines, servers = wanted["controllers"], wanted["api_servers"]
    logins = {"machines": machines, "passwords": wanted["passwords"]}
    converge(changes, watched.REDFISH, logins if machines else None)
    ways = {"token": f"{tls / 'kubernetes.token'}", "authority": f"{tls / 'kubernetes-ca.crt'}"}
    converge(changes, watched.WORKLOADS, {"servers": servers, **ways} if servers else None)

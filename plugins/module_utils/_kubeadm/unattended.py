"""Renew a control host's certificates automatically, started by its systemd timer.

The steps, lock and guard are those of a run: the host's etcd and API are interrupted only while the others have a
quorum without it. Timers of neighbouring hosts run on different days.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import read
from . import renewal
from .host import NodeHost
from .rolling_restart import wait_until_spared
from .spec import Paths


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlHost:
    """A control host, read from its kubeadm configuration."""

    name: str
    address: str
    api_port: int

    @property
    def api_server(self) -> str:
        """URL of the host's own API server."""
        return f"https://{self.address}:{self.api_port}"

    @classmethod
    def read(cls, paths: Paths) -> ControlHost:
        """Return the host this runs on. Raises GroundupError."""
        try:
            init = json.loads((read(paths.init_file) or "").split("---\n")[0])
            place = init["localAPIEndpoint"]
            return cls(
                name=init["nodeRegistration"]["name"],
                address=place["advertiseAddress"],
                api_port=int(place["bindPort"]),
            )
        except (ValueError, LookupError, TypeError) as error:
            raise GroundupError(
                f"the configuration of kubeadm cannot be read: {error}",
                where=str(paths.init_file),
                why="certificates are renewed by it",
                remedy="run the playbook groundup.cloud.kubernetes, which writes it",
            ) from error


def renew(node: ControlHost, host: NodeHost) -> list[str]:
    """Renew expiring certificates, restart the pods that read them; return changes. Raises GroundupError, OSError."""
    changes = Changes(check=False)
    with host.alone():
        left = renewal.remaining(host.paths)
        if renewal.ending(left) or renewal.behind(host, changes):
            wait_until_spared(node, host)
            renewal.renew(node, host, changes, left=left, anew=())
    return changes.done


def main() -> None:
    """Renew and print the changes; exit with 1 and the reason on failure."""
    paths = Paths()
    try:
        node = ControlHost.read(paths)
        done = renew(node, NodeHost(name=node.name, paths=paths))
    except (GroundupError, OSError) as error:
        sys.exit(str(error))
    sys.stdout.write("".join(f"{line}\n" for line in done or ["no certificate ends soon"]))

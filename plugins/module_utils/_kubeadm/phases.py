"""Single phases of ``kubeadm init``, for what a control host lacks or has otherwise than the site says."""

from __future__ import annotations

from .host import Host
from .spec import Paths

TIMEOUT = 180.0  # seconds


def run_phase(*arguments: str, host: Host, paths: Paths, why: str) -> None:
    """Run one phase with the site's configuration. Raises NodeError."""
    host.run(["kubeadm", "init", "phase", *arguments, "--config", str(paths.init_file)], timeout=TIMEOUT, why=why)

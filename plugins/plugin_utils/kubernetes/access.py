"""The admin kubeconfig of a site on the controller."""

from __future__ import annotations

from pathlib import Path

from ...module_utils._kubeadm.kubeconfig import Access, parse
from ..errors import GroundupError
from ..files import write_atomic
from ..paths import state_dir

__all__ = ["Access", "differs", "keep", "kubeconfig_path", "load"]


def kubeconfig_path(site: str) -> Path:
    """Return where the admin kubeconfig of ``site`` is on the controller."""
    return state_dir(site) / "kubeconfig"


def keep(site: str, content: str) -> bool:
    """Write the kubeconfig of ``site`` (mode 0600) when it differs; return whether it did. Raises OSError."""
    path = kubeconfig_path(site)
    if path.exists() and path.read_text(encoding="utf-8") == content and path.stat().st_mode & 0o777 == 0o600:
        return False
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomic(path, content.encode(), mode=0o600)
    return True


def differs(site: str, content: str) -> bool:
    """Say whether :func:`keep` would write."""
    path = kubeconfig_path(site)
    return not path.exists() or path.read_text(encoding="utf-8") != content


def load(site: str) -> Access | None:
    """Return the access to the cluster of ``site``, None before there is a cluster.

    Raises:
        GroundupError: the kubeconfig is damaged.
    """
    path = kubeconfig_path(site)
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise GroundupError(
            f"the admin kubeconfig of site {site} is damaged: {error}",
            where=str(path),
            why="without it the controller cannot tell this cluster from another",
            remedy="move it away and run the playbook groundup.cloud.kubernetes: a control host gives a new one",
        ) from error

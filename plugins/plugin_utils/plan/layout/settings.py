"""Packages and kernel settings of a host's roles."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ....module_utils._plan.ceph import Backend
from ....module_utils._plan.kubernetes import Volumes
from ...layers.layers import sets_of
from ...layers.packages import OF_THE_MACHINE
from ...layers.roles import Role
from ..model.platform import Hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSettings:
    """Fields of a `HostPlan` that follow from the host's roles."""

    packages: dict[str, tuple[str, ...]]
    sysctl: dict[str, str]
    kernel_modules: tuple[str, ...]


def own_settings(
    written: Hosts,
    roles: tuple[Role, ...],
    *,
    node: bool,
    own_kernel: bool,
    services: Collection[str],
    backend: Backend,
    general: Volumes,
) -> OwnSettings:
    """Return packages and kernel settings of a host with ``roles``. Values of the site file win.

    A host that shares its kernel (``own_kernel`` is false) loads no module and sets only parameters of its network.
    """
    packages: dict[str, set[str]] = {}
    sysctl: dict[str, str] = {}
    modules: list[str] = []
    for layer, one in sets_of(roles, node=node, services=services, backend=backend, general=general):
        if one.packages:
            packages.setdefault(layer, set()).update(one.packages)
        sysctl |= {n: v for n, v in one.sysctl.items() if own_kernel or _of_its_network(n)}
        modules += one.kernel_modules if own_kernel and written.kernel_modules is None else ()
    return OwnSettings(
        packages={layer: tuple(sorted(names)) for layer, names in packages.items()},
        sysctl={name: value for name, value in sysctl.items() if name not in written.sysctl},
        kernel_modules=tuple(dict.fromkeys(modules)),
    )


def _of_its_network(parameter: str) -> bool:
    return parameter.startswith("net.") and parameter not in OF_THE_MACHINE

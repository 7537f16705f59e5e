"""Settings of every host."""

from __future__ import annotations

from ...layers.layers import LAYERS
from ...layers.provisioners import PROVISIONERS
from ...layers.roles import ROLES
from ..layout.context import Layout
from ..part_types import ProxyPlan
from ..types import EdgePlan, HostSettings, SupplyPlan
from . import hardening, trust
from .parts import package_source, planned

# Of inotify: kubelet, containerd and each pod's programs run as root, and share the 128 of one user.
INSTANCES = {"fs.inotify.max_user_instances": "8192"}


def host_settings(
    layout: Layout, edge_plan: EdgePlan, supply_plan: SupplyPlan, proxy: ProxyPlan | None
) -> HostSettings:
    """Return the settings of every host. Names: only those that a host must resolve without a DNS server."""
    written = layout.site.hosts
    names = {f"kubernetes.{layout.site.domain}": edge_plan.address}
    names |= {endpoint.name: edge_plan.address for endpoint in edge_plan.endpoints}
    if supply_plan.seed:
        names[f"registry.{layout.site.domain}"] = layout.hosts[supply_plan.seed].address
    names |= {
        host.fqdn: host.address
        for host in layout.hosts.values()
        if host.address and any(ROLES[role].named for role in host.roles)
    }
    own_kernel = all(PROVISIONERS[host.provisioner].own_kernel for host in layout.hosts.values())
    kernel_modules = layout.profile.kernel_modules if written.kernel_modules is None else written.kernel_modules
    loaded = {*kernel_modules, *(name for host in layout.hosts.values() for name in host.kernel_modules)}
    source = package_source(written, supply_plan.seed)
    blocked = hardening.BLOCKED_MODULES if written.hardening else ()
    units = hardening.DISABLED_UNITS if written.hardening else ()
    sysctl = {
        **(hardening.parameters(own_kernel=own_kernel) if written.hardening else {}),
        **(INSTANCES if own_kernel else {}),
        **layout.profile.sysctl,
        **written.sysctl,
    }
    return planned(
        HostSettings,
        written,
        ntp_servers=tuple(written.ntp_servers or layout.profile.ntp_servers),
        names=names,
        sysctl={name: str(value) for name, value in sysctl.items() if value is not None},
        kernel_modules=tuple(kernel_modules),
        packages=source,
        packages_proxy=proxy if source == "host" else None,
        debian_releases=tuple(supply_plan.packages),
        trusted_cas=trust.trusted_cas(layout.site),
        updates=written.updates or ("debian" if source == "host" and layout.profile.self_updating else "site"),
        disabled_units=tuple(units if written.disabled_units is None else written.disabled_units),
        blocked_modules=tuple(
            name
            for name in (blocked if written.blocked_modules is None else written.blocked_modules)
            if name not in loaded
        ),
        volumes=tuple(
            sorted(
                path
                for layer in LAYERS.values()
                if layer.backend in (None, layout.site.storage.backend)
                for one in layer.installs
                for path in one.volumes
            )
        ),
    )

"""The plan's Ceph as cephadm's service specification, and the configuration for its bootstrap.

Pools, rules and keys are not included: the layer creates them through the monitors, as in any other Ceph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from ...module_utils._plan.ceph import CephPlan
    from ..plan.types import Plan

SPEC, CONF = "cephadm.yml", "ceph.conf"
IMAGE = "ceph/ceph:v19"  # in the site's registry; compatible with clients of release 18


def image(plan: Plan) -> str:
    """Return the container image, which the site's registry must have."""
    return f"{plan.supply.registry}/{IMAGE}"


def specification(plan: Plan, ceph: CephPlan) -> list[dict[str, Any]]:
    """Return the documents for `ceph orch apply -i`: hosts, monitors, managers, and OSDs on the planned devices."""
    monitors = {one.name: one.address for one in ceph.monitors}
    hosts = [
        {
            "service_type": "host",
            "hostname": name,
            "addr": plan.hosts[name].address,
            "labels": ["_admin"] if name in monitors else [],
            "location": {"root": "default", **{kind: at for kind, at in place.items() if kind != "host"}},
        }
        for name, place in ceph.locations.items()
    ]
    watching = [f"{name}:{at}" for name, at in monitors.items()]
    daemons = [
        {"service_type": "mon", "placement": {"count": len(watching), "hosts": watching}},
        {"service_type": "mgr", "placement": {"count": len(ceph.managers), "hosts": list(ceph.managers)}},
    ]
    return [*hosts, *daemons, *_osds(plan, ceph)]


def _osds(plan: Plan, ceph: CephPlan) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for hardware, osds in ceph.osds.items():
        where = [name for name in ceph.locations if plan.hosts[name].hardware == hardware]
        for kind in dict.fromkeys(one.device_class for one in osds):
            own = [one for one in osds if one.device_class == kind and one.device]
            found.append(
                {
                    "service_type": "osd",
                    "service_id": f"{hardware}-{kind}",
                    "placement": {"hosts": where},
                    # Only paths: a filter would take every matching disk, even one that was just erased.
                    "spec": {"data_devices": {"paths": [one.device for one in own]}, "crush_device_class": kind},
                    "config": {"osd_memory_target_autotune": "false", "osd_memory_target": str(own[0].memory)},
                }
            )
    return found


def settings(ceph: CephPlan) -> dict[str, str]:
    """Return the options of all daemons."""
    return {
        "osd_pool_default_size": str(max(pool.replicas for pool in ceph.pools.values())),
        "osd_pool_default_pg_autoscale_mode": "off",  # the plan sizes pools by their purpose
        **ceph.settings,
    }


def configuration(ceph: CephPlan) -> str:
    """Return the file for `cephadm bootstrap --config`."""
    options = {"public_network": ceph.public_network, **settings(ceph)}
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in options.items())


def text(plan: Plan, ceph: CephPlan) -> str:
    """Return the specification as YAML."""
    return str(yaml.safe_dump_all(specification(plan, ceph), sort_keys=False))

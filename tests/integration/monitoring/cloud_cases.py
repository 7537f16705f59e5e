"""The same for what members of the database tell of the cloud's services and objects."""

from __future__ import annotations

from .cases import Case, Series, up


def _state(service: str, values: str, *, on: str = "", project: str = "nova", admin: str = "enabled") -> Series:
    """Return what two members tell: one that is behind says of everything that it does not report."""
    name = f'openstack_{project}_agent_state{{pod="mariadb-server-NUMBER",service="{service}",adminState="{admin}"'
    name += f',hostname="{on}"}}' if on else "}"
    return {name.replace("NUMBER", "0"): values, name.replace("NUMBER", "1"): "0x30"}


def _objects(kind: str, state: str, values: str) -> Series:
    return {f'groundup_cloud_objects{{pod="mariadb-server-0",kind="{kind}",state="{state}"}}': values}


def _silent(service: str, host: str) -> dict[str, str]:
    return {"object": host, "service": service, "hostname": host}


def _agent(values: str) -> Series:
    """Return what the southbound database says of one, beside a second one, and a number that grows."""
    seen = 'neutron_ovn_agent_nb_cfg{object="control-1",chassis="hypervisor-'
    return {f'{seen}3"}}': values, f'{seen}4"}}': "0 0+1x30", 'ovn_southbound_nb_cfg{object="control-1"}': "0+1x30"}


_COMPUTE, _VOLUME = "nova-compute", "cinder-volume"
_COMPUTES = _state(_COMPUTE, "1x30", on="hypervisor-2")
_DISABLED = _state(_COMPUTE, "0x30", on="hypervisor-5", admin="disabled")  # by an operator, or by a verb
CLOUD_CASES = (
    Case(
        alert="HypervisorServiceSilent", layer="hypervisor",
        fires=_COMPUTES | _DISABLED | _state(_COMPUTE, "1 0x30", on="hypervisor-1"),
        quiet=_COMPUTES | _DISABLED | _state(_COMPUTE, "1x30", on="hypervisor-1"),
        labels=_silent(_COMPUTE, "hypervisor-1"),
    ),
    Case(
        alert="CloudServiceSilent", layer="openstack", fires=_state("nova-scheduler", "1 0x30"),
        quiet=_state("nova-scheduler", "1x30"), labels={"object": "nova-scheduler", "service": "nova-scheduler"},
    ),
    Case(
        alert="CloudServiceSilent", layer="openstack",
        fires=_state(_VOLUME, "1 0x30", on="worker@rbd1", project="cinder"),
        quiet=_state(_VOLUME, "1x30", on="worker@rbd1", project="cinder"),
        labels={"object": _VOLUME, "service": _VOLUME, "hostname": "worker@rbd1"},
    ),
    Case(
        alert="ObjectsFailed", layer="openstack",
        fires=_objects("instances", "failed", "0 3x30") | _objects("volumes", "failed", "2x30"),
        quiet=_objects("instances", "failed", "2x30") | _objects("instances", "error", "9x30"),
        labels={"object": "instances", "kind": "instances"},
    ),
    Case(
        alert="ObjectsStuck", layer="openstack", fires=_objects("load balancers", "stuck", "0 1x30"),
        quiet=_objects("load balancers", "stuck", "0x30"),
        labels={"object": "load balancers", "kind": "load balancers"},
    ),
)  # fmt: skip
_BOTH = _COMPUTES | _state(_COMPUTE, "0x30", on="hypervisor-1")
_SRIOV = "neutron-sriov-nic-agent"
CLOUD_ALONE = (
    Case(  # if none reports, that is one fault
        alert="CloudServiceSilent", layer="openstack",
        fires=_state(_SRIOV, "0x30", on="hypervisor-1", project="neutron")
        | _state(_SRIOV, "0x30", on="hypervisor-2", project="neutron"),
        quiet=_state(_SRIOV, "0x30", on="hypervisor-1", project="neutron")
        | _state(_SRIOV, "1x30", on="hypervisor-2", project="neutron"),
        labels={"object": _SRIOV, "service": _SRIOV},
    ),
    Case(  # of a host that does not answer, HostDown tells
        alert="HypervisorServiceSilent", layer="hypervisor",
        fires=_BOTH | up("node", "hypervisor-1", "1x30", layer="host"),
        quiet=_BOTH | up("node", "hypervisor-1", "0x30", layer="host"),
        labels=_silent(_COMPUTE, "hypervisor-1"),
    ),
    Case(
        alert="OvnAgentSilent", layer="hypervisor", fires=_agent("0+1x5 5x30"), quiet=_agent("0 0+1x30"),
        labels={"object": "hypervisor-3", "chassis": "hypervisor-3"},
    ),
    Case(  # of one that nobody could ask, nothing is told
        alert="CloudServiceSilent", layer="openstack", fires=_state("nova-conductor", "0x30"),
        quiet=dict.fromkeys(_state("nova-conductor", ""), "0x3 _x30"),
        labels={"object": "nova-conductor", "service": "nova-conductor"},
    ),
)  # fmt: skip

"""The same for a host's daemons: its node of Kubernetes, and units that ended."""

from __future__ import annotations

from .cases import Case, Series, up

_READY = 'kube_node_status_condition{job="node",object="worker-2",condition="Ready",status="true"}'


def _told(name: str, host: str, values: str) -> Series:
    return {f'{name}{{job="node",object="{host}"}}': values}


def _known(host: str, *, active: str, own: str) -> Series:
    """Return what a node that is cut off tells; ``active``: servers of the API, ``own``: whether its own answers."""
    servers = {'haproxy_backend_active_servers{job="haproxy",proxy="kubernetes",object="control-1"}': active}
    return _told("groundup_node_known", host, "1 0x30") | servers | up("api-server", "control-2", own)


def _unit(name: str, values: str) -> Series:
    return {f'groundup_unit_up{{job="node",object="hypervisor-1",unit="{name}.service"}}': values}


def _since(values: str) -> Series:
    unit = 'job="node",object="seed-1",unit="docker-registry.service"'
    return {f"groundup_unit_since_boot_seconds{{{unit}}}": values}


DAEMON_CASES = (
    Case(
        alert="NodeNotReady", layer="kubernetes", fires=_told("kubelet_up", "worker-1", "1 0x30"),
        quiet=_told("kubelet_up", "worker-1", "1x30"), labels={"object": "worker-1"},
    ),
    Case(
        alert="NodeNotReady", layer="kubernetes", fires={_READY: "1 0x30"}, quiet={_READY: "1x30"},
        labels={"object": "worker-2"},
    ),
    Case(
        alert="NodeNotReady", layer="kubernetes", fires=_told("container_runtime_up", "worker-3", "1 0x30"),
        quiet=_told("container_runtime_up", "worker-3", "1x30"), labels={"object": "worker-3"},
    ),
    Case(  # of what reports to the cloud, HypervisorServiceSilent tells
        alert="UnitEnded", layer="host", fires=_unit("keepalived", "1 0x30") | _unit("nova-compute", "1 0x30"),
        quiet=_unit("keepalived", "1x30"),
        labels={"job": "node", "object": "hypervisor-1", "unit": "keepalived.service"},
    ),
)  # fmt: skip
DAEMONS_ALONE = (
    Case(  # two restarts, as of a run of ours, are no fault
        alert="UnitRestarts", layer="host", fires=_since("10 20 30 _ 40 50 60 70 80 90 100x20"),
        quiet=_since("10x8 20 30x20"), labels={"job": "node", "object": "seed-1", "unit": "docker-registry.service"},
    ),
    Case(  # of a control host whose own API server is away, another alert tells; of an API that nobody has, too
        alert="NodeNotReady", layer="kubernetes", fires=_known("worker-1", active="2x30", own="0x30"),
        quiet=_known("worker-1", active="0x30", own="0x30"), labels={"object": "worker-1"},
    ),
    Case(
        alert="NodeNotReady", layer="kubernetes", fires=_known("control-2", active="2x30", own="1x30"),
        quiet=_known("control-2", active="2x30", own="0x30"), labels={"object": "control-2"},
    ),
    Case(  # pods are asked for at a container runtime, and that is silent
        alert="HostMetricsOld", layer="host", fires=up("node", "worker-1", "1x30", layer="host"),
        quiet=up("node", "worker-1", "1x30", layer="host") | _told("container_runtime_up", "worker-1", "0x30"),
        labels={"job": "node", "layer": "host", "object": "worker-1"},
    ),
)  # fmt: skip

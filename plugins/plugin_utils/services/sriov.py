"""SR-IOV: ports that are virtual functions of hypervisors' cards. OVN serves them DHCP and metadata from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .neutron_workers import worker
from .record import Values
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

# Nova's own (nova/conf/scheduler.py): an option that is written replaces them all.
FILTERS = (
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
)


def nova(plan: Plan) -> Values:
    """Return Nova's values: its scheduler counts free functions. Ports ask for them, so that no alias is needed."""
    if not plan.hypervisor.sriov:
        return {}
    filters = ",".join((*FILTERS, "PciPassthroughFilter"))
    return {"conf": {"nova": {"filter_scheduler": {"enabled_filters": filters}}}}


def neutron(plan: Plan, sizes: Sizes) -> Values:
    """Return Neutron's values: the driver of such ports, and who hears their agents, which OVN's do not need.

    No instance gets a card whole: it would be taken from Open vSwitch.
    """
    if not plan.hypervisor.sriov:
        return {}
    return {
        "conf": {
            "neutron": {"DEFAULT": {"rpc_workers": 1, "rpc_state_report_workers": 1}},
            "plugins": {
                "ml2_conf": {
                    "ml2": {"mechanism_drivers": "ovn,sriovnicswitch"},
                    "sriov_driver": {"vnic_type_prohibit_list": "direct-physical"},
                }
            },
        },
        "extraObjects": {"rpc_server": worker(plan, sizes, "rpc-server", "neutron-rpc-server")},
    }

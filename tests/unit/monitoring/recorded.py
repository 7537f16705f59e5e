"""Names and labels of the metrics that real programs told, one file a job; without those of Go.

`ci/run python -m ansible_collections.groundup.cloud.tests.unit.monitoring.recorded JOB < METRICS` records anew.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.jobs import JOBS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.logs import ALL_LINES, LINES

Metrics = dict[str, set[str]]  # labels by name

PLACE = Path(__file__).parent / "told"
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? \S+", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="(?:[^"\\]|\\.)*"')
_NAMED = re.compile(r"(\w+)(?:\{(.*)\})?")
_NOBODYS = re.compile("go_|flag$|promhttp_")

DRIVE = {"device", "model_name", "serial_number"}
# What scraping adds to each series; what the store, vmalert and its counts of logs make themselves.
OF_TARGETS = {"job", "layer", "object", "rack", "site", "instance"}
MADE: Metrics = {
    "up": set(), "scrape_duration_seconds": set(), ALL_LINES: set(), LINES: {"host"},
    "ALERTS": {"alertname", "alertstate", "severity"},
    # By node exporters of hosts that have bonds, RAID and memory that counts its errors: test_exporter.py asks one.
    **{f"node_bonding_{one}": {"master"} for one in ("active", "slaves")},
    "node_md_disks": {"device", "state"}, "node_md_disks_required": {"device"},
    **{f"node_edac_{one}_errors_total": {"controller"} for one in ("correctable", "uncorrectable")},
    # By text files of ours, on hosts that have what they tell of.
    "groundup_hypervisor_down_instances": {"hypervisor", "project"},
    "groundup_hypervisor_looked_timestamp_seconds": set(),
    **{f"groundup_capacity{figure}": {"scope", "name", "resource"} for figure in ("", "_used", "_free")},
    "redfish_up": {"machine"}, "groundup_redfish_looked_timestamp_seconds": set(),
    **{f"redfish_{one}": {"machine", "kind", "part"} for one in
       ("part_ok", "temperature_celsius", "temperature_limit_celsius")},
    **{f"kube_deployment_{one}": {"namespace", "deployment"} for one in ("spec_replicas", "status_replicas_available")},
    **{f"kube_statefulset_{one}": {"namespace", "statefulset"} for one in ("replicas", "status_replicas_ready")},
    **{f"kube_daemonset_status_{one}": {"namespace", "daemonset"} for one in
       ("desired_number_scheduled", "number_available")},
    **{f"kube_pod_{one}": {"namespace", "pod"} for one in ("deletion_timestamp", "status_unschedulable")},
    **{f"kube_pod_{one}container_status_{what}": {"namespace", "pod", "container", "reason"}
       for one in ("", "init_") for what in ("waiting_reason", "restarts_total")},
    "groundup_cronjob_failed": {"namespace", "cronjob"}, "groundup_nodes_not_ready": set(),
    "groundup_workloads_looked_timestamp_seconds": set(),
    "groundup_capacity_looked_timestamp_seconds": set(),
    **{f"groundup_heal_{what}": {"part"} for what in ("failed", "repeated", "last_timestamp_seconds")},
    "groundup_host_metrics_last_run_timestamp_seconds": set(), "ovn_db_cluster_has_leader": {"db_name"},
    "ovn_chassis_nb_cfg": {"chassis"}, "ovn_southbound_nb_cfg": set(), "libvirt_up": set(), "ovn_northd_status": set(),
    "ovn_controller_southbound_database_connected": set(), "ovs_up": set(), "ovs_cur_cfg": set(), "ovs_next_cfg": set(),
    "ceph_daemon_socket_up": {"ceph_daemon"}, "kubelet_up": set(), "container_runtime_up": set(),
    "groundup_node_known": set(), "kube_node_spec_unschedulable": set(),
    **{f"groundup_unit_{one}": {"unit"} for one in ("up", "started_seconds", "answers")},
    "groundup_virtual_ip": {"address"},
    "groundup_filesystem_readonly": {"device", "fstype", "mountpoint"},
    **{f"smartctl_device_{one}": DRIVE for one in
       ("smart_status", "critical_warning", "percentage_used", "available_spare", "available_spare_threshold",
        "media_errors")},
    **{f"smartctl_{one}": DRIVE for one in
       ("scsi_grown_defect_list", "read_total_uncorrected_errors", "write_total_uncorrected_errors")},
    "smartctl_device_attribute": DRIVE | {"attribute_id", "attribute_name", "attribute_value_type"},
    "groundup_smart_known": DRIVE, "groundup_smart_asked_timestamp_seconds": set(),
    "kube_node_status_condition": {"condition", "status"},
    **{f"openstack_{one}_agent_state": {"service", "hostname", "adminState"} for one in ("cinder", "neutron", "nova")},
    "neutron_ovn_agent_nb_cfg": {"chassis"}, "groundup_cloud_objects": {"kind", "state"},
    "__name__": {"pod"},  # a pattern: of several that pods tell
    "mysql_up": {"pod"}, "rabbitmq_identity_info": {"pod"}, "memcached_up": {"pod"},
    "mysql_global_status_wsrep_local_state": {"pod"}, "mysql_global_status_wsrep_cluster_status": {"pod"},
    "mysql_global_status_wsrep_flow_control_sent": {"pod"},
    "mysql_global_status_wsrep_flow_control_paused_ns": {"pod"},
    "rabbitmq_unreachable_cluster_peers_count": {"pod"}, "memcached_items_evicted_total": {"pod"},
    "rabbitmq_detailed_queue_messages_ready": {"pod", "queue", "vhost"},
}  # fmt: skip
_TEXT = re.compile(r'"[^"]*"')
_SELECTOR = re.compile(r"([a-zA-Z_]\w*)\{([^}]*)\}")
_MATCHER = re.compile(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"')
_SPAN = re.compile(r"\[\w+\]")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right) \(([^)]*)\)")
_BARE = re.compile(r"\b[a-zA-Z_]\w*\b(?!\s*\()")
_WORDS = {"or", "and", "unless", "bool", "by", "without", "on", "group_left", "offset"}


def parsed(text: str) -> Metrics:
    """Return what a target's answer ``text`` tells."""
    found: Metrics = {}
    for name, labels in _SAMPLE.findall(text):
        if not _NOBODYS.match(name):
            found.setdefault(name, set()).update(_LABEL.findall(labels))
    return found


def recorded(job: str) -> Metrics:
    """Return what targets of ``job`` told."""
    words = (PLACE / f"{job}.txt").read_text(encoding="ascii").split()
    found = (_NAMED.fullmatch(word) for word in words)
    return {one[1]: set((one[2] or "").split(",")) - {""} for one in found if one}


def record(job: str, told: Metrics) -> None:
    """Keep what targets of ``job`` tell."""
    words = [name + (f"{{{','.join(sorted(labels))}}}" if labels else "") for name, labels in sorted(told.items())]
    text = textwrap.fill(" ".join(words), 118, break_long_words=False, break_on_hyphens=False)
    (PLACE / f"{job}.txt").write_text(f"{text}\n", encoding="ascii")


def unknown(query: str, *more: str) -> set[str]:
    """Return the metrics and labels of ``query``, and the labels ``more``, that no target of its jobs told."""
    selected = [(name, dict(_MATCHER.findall(text))) for name, text in _SELECTOR.findall(query)]
    rest = _SELECTOR.sub("", query)
    for left_out in (_TEXT, _GROUPING, _SPAN):
        rest = left_out.sub("", rest)
    selected += [(name, {}) for name in _BARE.findall(rest) if name not in _WORDS]
    asked = {label.strip() for group in _GROUPING.findall(query) for label in group.split(",")} - {""} | set(more)
    known, faults = set(OF_TARGETS), set[str]()
    for name, matchers in selected:
        asked |= matchers.keys()
        told = _labels(name, matchers.get("job", ""))
        known |= told or set()
        faults |= {name} if told is None else set()
    return faults | asked - known


def _labels(name: str, jobs: str) -> set[str] | None:
    """Return the labels of the metric ``name`` of ``jobs``, "": of any; None: one does not tell it."""
    if name in MADE:
        return MADE[name]
    found = [told.get(name) for told in map(recorded, jobs.split("|") if jobs else JOBS)]
    there = [one for one in found if one is not None]
    return {label for one in there for label in one} if there and (not jobs or len(there) == len(found)) else None


if __name__ == "__main__":
    record(sys.argv[1], parsed(sys.stdin.read()))

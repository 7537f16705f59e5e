"""An outage is told within 90 s and a restart of half a minute is not: reckoned from the files that hosts have."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched
from ansible_collections.groundup.cloud.plugins.module_utils._host.watched import PROOF
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import unit_texts
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics.samples import PATIENCE
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_timer import TIMER
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files

from .sites import WHOLE, planned

SOON, RESTART = 90.0, 30.0  # seconds
FILES = files(planned("ha", **WHOLE))
SCRAPED = 10.0  # seconds until a target that hangs is given up: the store's own
# Who tells what an alert asks for: seconds until it tells a fault, and at most how much longer one than it lasts.
CEPH, EDGE = (15.0, 15.0), (7.0, 2.0)  # what the manager keeps; HAProxy's checks (roles/edge) of a server that refuses
# Nobody waits for these: they are of what was seen for minutes, hours or days.
SLOW = {
    "ApiServerErrors", "BackupOld", "BinaryLogsOld", "BondDegraded", "CapacityEnding", "CapacityFull", "CapacityOld",
    "CertificateEnding", "ChassisLag", "ClockOff", "CloudServiceSilent", "ConnectionsFilling", "ControllerSilent",
    "ControllersSilent", "ControllersUnasked", "CronJobFails", "DataMissing", "DiskErrors", "DiskFailing",
    "DiskFilling", "DiskHot", "DiskStuck", "DiskUnknown", "DiskWorn", "DisksUnasked", "DriftOld", "DriftUnknown",
    "FanFailed", "FileSystemReadOnly", "GaleraMemberSlow", "HealFailed", "HealRepeated", "HostMetricsOld",
    "HypervisorLookOld", "HypervisorServiceSilent", "InodesFilling", "KilledForMemory",
    "LinkErrors", "LogsMissing", "LogsStopped", "MemcachedEvicts", "MemoryBroken", "MemoryFilling", "MemoryWearing",
    "ObjectsFailed", "ObjectsStuck", "OvnAgentSilent", "PodCrashes", "PodNotEnding", "PodStuck", "PodUnscheduled",
    "PowerSupplyFailed", "QueueDeep", "RaidDegraded", "RemoteWriteFails", "SiteDrifted", "TemperatureHigh",
    "UnitRestarts", "UnitSilent", "WorkloadDown", "WorkloadShort", "WorkloadsUnasked",
}  # fmt: skip
# What each host's own program asks.
OF_HOSTS = (
    r"\b(ovn|ovs|libvirt|mysql|rabbitmq|memcached|kube|kubelet|container)_"
    r"|groundup_(node|unit|virtual)_|ceph_daemon_socket_up"
)
Rule = dict[str, Any]


def seconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(ms|s|m|)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"ms": 0.001, "m": 60.0}.get(unit, 1.0)


def each() -> Iterator[tuple[Rule, float]]:
    """Yield each alert, and the seconds between two of its judgements."""
    for path, text in FILES.items():
        if path.startswith("rules/"):
            for group in yaml.safe_load(text)["groups"]:
                yield from ((rule, seconds(group["interval"])) for rule in group["rules"] if rule["alert"] != PROOF)


def soon(rule: Rule) -> bool:
    # A manager that takes over from a dead one, of which CephManagerDown tells, needs a minute.
    return rule["alert"] not in SLOW and not (rule["alert"] == "TargetDown" and rule["labels"].get("object") == "ceph")


OUTAGES = [
    pytest.param(rule, every, id=f"{rule['alert']}-{rule['labels']['layer']}") for rule, every in each() if soon(rule)
]
INTERVAL = seconds(yaml.safe_load(FILES["scrape.yml"])["global"]["scrape_interval"])
LATE = re.findall(r"(?:evalDelay|latencyOffset)=(\S+)", "".join(unit_texts(days=1, hosts=1).values()))
EVERY, ACCURACY = (
    seconds(re.findall(rf"^{name}=(\S+)$", TIMER, re.MULTILINE)[0]) for name in ("OnUnitActiveSec", "AccuracySec")
)


def sources(expr: str) -> list[tuple[float, float]]:
    """Return those of an expression: seconds until one tells a fault, and how much longer than it lasts."""
    found = []
    if re.search(OF_HOSTS, expr):
        found.append((EVERY + ACCURACY + PATIENCE, EVERY))
    if re.search(r"\bceph_(?!daemon)", expr):
        found.append(CEPH)
    if "haproxy_" in expr:
        found.append(EDGE)
    return found or [(0.0, 0.0)]


@pytest.mark.parametrize(("rule", "every"), OUTAGES)
def test_an_outage_is_told_within_90_seconds(rule: Rule, every: float) -> None:
    told = max(until for until, _ in sources(rule["expr"]))
    stored = (
        max(map(seconds, LATE)) if told else SCRAPED
    )  # one that tells answers; of another, its silence is known late
    holds = math.ceil(seconds(rule["for"]) / every) * every
    waits = seconds(yaml.safe_load(FILES["alertmanager.yml"])["route"]["group_wait"])
    assert told + INTERVAL + stored + every + holds + waits <= SOON


@pytest.mark.parametrize(("rule", "every"), [one for one in OUTAGES if one.id != "HypervisorFailed-hypervisor"])
def test_a_restart_of_half_a_minute_is_not_told(rule: Rule, every: float) -> None:
    for _, longer in sources(rule["expr"]):
        # What is told is so until it is told anew: a part of a step counts as one.
        told = math.ceil(RESTART / longer) * (longer + ACCURACY) if longer else RESTART
        stored = math.ceil(told / INTERVAL) * INTERVAL
        judged = (math.ceil(stored / every) - 1) * every  # from the first to the last judgement of it
        assert seconds(rule["for"]) > judged


def test_what_nobody_waits_for_is_judged_seldom_and_known_here() -> None:
    assert {rule["alert"] for rule, _ in each()} >= SLOW
    assert {rule["alert"] for rule, every in each() if every > 5} == SLOW


def test_an_alert_is_sent_anew_before_alertmanager_takes_it_for_over() -> None:
    (resent,) = re.findall(r"-rule.resendDelay=(\S+)", unit_texts(days=1, hosts=1)[watched.RULES])
    assert seconds(resent) >= max(every for rule, every in each() if soon(rule))

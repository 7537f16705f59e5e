"""Every alert fires when it must, with its object and its words, and else does not: judged by vmalert's own tool."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.rules import rules
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import WHOLE, planned

from .cases import CASES, LOST_RACK, ONE_OF_A_RACK, Case, Series, on_storage, rack, up
from .cloud_cases import CLOUD_ALONE, CLOUD_CASES
from .daemon_cases import DAEMON_CASES, DAEMONS_ALONE
from .drive_cases import DRIVE_CASES, DRIVES_ALONE
from .kernel_cases import KERNEL_CASES
from .machine_cases import MACHINE_CASES, MACHINES_ALONE
from .member_cases import MEMBERS, MEMBERS_ALONE
from .network_cases import NETWORK_ALONE, NETWORK_CASES
from .timer_cases import ENDING, TIMER_CASES, room
from .unknown_cases import UNKNOWN_ALONE
from .workload_cases import WORKLOAD_CASES, WORKLOADS_ALONE

Alert = dict[str, Any]
EVERY = (*CASES, *MEMBERS, *CLOUD_CASES, *TIMER_CASES, *MACHINE_CASES, *NETWORK_CASES, *DAEMON_CASES, *WORKLOAD_CASES)
ALONE = (
    *MEMBERS_ALONE,
    *CLOUD_ALONE,
    *MACHINES_ALONE,
    *UNKNOWN_ALONE,
    *NETWORK_ALONE,
    *DAEMONS_ALONE,
    *WORKLOADS_ALONE,
    *DRIVES_ALONE,
)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned("ha", **WHOLE)


@pytest.fixture(scope="module")
def judge(
    artifact: Callable[[str], Artifact], tmp_path_factory: pytest.TempPathFactory, plan: Plan
) -> Callable[[list[Alert]], subprocess.CompletedProcess[str]]:
    """Return a function that holds tests against those rules of the site that they ask for."""
    program = artifact("victoria-metrics").path / "vmalert-tool"

    def run(tests: list[Alert]) -> subprocess.CompletedProcess[str]:
        place, every = tmp_path_factory.mktemp("rules"), tests[0]["interval"]
        asked = {(one["groupname"], one["alertname"]) for test in tests for one in test["alert_rule_test"]}
        groups = [group for document in rules(plan).values() for group in document["groups"]]
        for group in groups:
            group["rules"] = [one for one in group["rules"] if (group["name"], one["alert"]) in asked]
        (place / "rules.yml").write_text(yaml.safe_dump({"groups": [one for one in groups if one["rules"]]}))
        document = {"rule_files": [f"{place}/rules.yml"], "evaluation_interval": every, "tests": tests}
        path = place / "tests.yaml"
        path.write_text(yaml.safe_dump(document))
        command = [str(program), "unittest", "--files", str(path)]
        return subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300, check=False)

    return run


def test_every_alert_has_a_case() -> None:
    every = {case.alert for case in (*EVERY, *KERNEL_CASES, *DRIVE_CASES, *ALONE)}
    assert every | {"RackDown", "CapacityEnding"} == {*ALERTS, "TargetDown"}


def test_every_alert_fires_with_its_object_and_its_words_and_only_then(
    judge: Callable[[list[Alert]], subprocess.CompletedProcess[str]], plan: Plan
) -> None:
    # One after the other, as each run judges all rules that one of its tests asks for.
    alone = ([(one,) for one in ALONE[begin : begin + 8]] for begin in range(0, len(ALONE), 8))
    runs: list[Sequence[Sequence[Case]]] = [[EVERY], [KERNEL_CASES], [DRIVE_CASES], *alone]
    for together in runs:
        judged = judge([_test(cases, plan, fires=fires) for cases in together for fires in (True, False)])
        assert judged.returncode == 0, judged.stdout + judged.stderr


def test_a_case_that_is_wrong_is_told(
    judge: Callable[[list[Alert]], subprocess.CompletedProcess[str]], plan: Plan
) -> None:
    wrong = _test(CASES[:1], plan, fires=True)
    wrong["alert_rule_test"][0]["exp_alerts"][0]["exp_labels"]["object"] = "worker-2"
    assert judge([wrong]).returncode != 0


def test_targets_that_nobody_asks_are_missed(
    judge: Callable[[list[Alert]], subprocess.CompletedProcess[str]], plan: Plan
) -> None:
    hosts = [up("node", name, "1x30", layer="host") for name in plan.hosts]
    missing = _rule(plan, "host", "DataMissing")
    fired = [{"exp_labels": {"object": "node", **missing["labels"]}, "exp_annotations": missing["annotations"]}]
    every, all_but_one, none = _merged(hosts), _merged(hosts[1:]), {"other": "1x30"}
    tests = [
        _group(series, [_asked(plan, "host", "DataMissing", expected)])
        for series, expected in ((every, []), (all_but_one, fired), (none, fired))
    ]
    judged = judge(tests)
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_a_lost_rack_is_told_and_what_runs_on_lost_hosts_is_not(
    judge: Callable[[list[Alert]], subprocess.CompletedProcess[str]], plan: Plan
) -> None:
    """Of the rack r1, two of three hosts are most; OSDs, monitors and servers of the third are told as ever."""
    on_them = _merged([on_storage(number) for number in (1, 2, 3)])
    tests = [
        _group(_merged([rack("0x30", "0x30", "1x30"), on_them]), [_told(case, plan) for case in LOST_RACK]),
        _group(rack("1x30", "0x30", "1x30"), [_asked(plan, "host", "RackDown", []), _told(ONE_OF_A_RACK, plan)]),
    ]
    judged = judge(tests)
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_a_zone_that_fills_is_told_by_what_is_used_of_it(
    judge: Callable[[list[Alert]], subprocess.CompletedProcess[str]], plan: Plan
) -> None:
    told = [_fired(ENDING, plan)]
    tests = [
        _group(room(used, free), [_asked(plan, "openstack", "CapacityEnding", fired) | {"eval_time": f"{hours}h"}])
        | {"interval": "1h"}
        for used, free, hours, fired in (
            ("10+0.05x60", "80x60", 48, []),  # 36 more in 30 days
            ("10+0.2x60", "80x60", 48, told),
            ("10+0.2x60", "80x60", 20, []),  # not known for a day
            ("10x60", "80x24 20x60", 48, []),  # hosts that are away are no growth
        )
    ]
    judged = judge(tests)
    assert judged.returncode == 0, judged.stdout + judged.stderr


def _test(cases: Sequence[Case], plan: Plan, *, fires: bool) -> Alert:
    """Return all ``cases`` as one test: no series of one means something to the alert of another."""
    wanted: dict[tuple[str, str], list[Alert]] = {(case.layer, case.alert): [] for case in cases}
    for case in cases if fires else ():
        wanted[case.layer, case.alert].append(_fired(case, plan))
    series = _merged([case.fires if fires else case.quiet for case in cases])
    return _group(series, [_asked(plan, *key, expected) for key, expected in wanted.items()])


def _fired(case: Case, plan: Plan) -> Alert:
    rule = _rule(plan, case.layer, case.alert)
    labels = {**rule["labels"], **case.labels}
    words = {
        name: re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: str(labels[found[1]]), text)
        for name, text in rule["annotations"].items()
    }
    return {"exp_labels": labels, "exp_annotations": words}


def _told(case: Case, plan: Plan) -> Alert:
    return _asked(plan, case.layer, case.alert, [_fired(case, plan)])


def _asked(plan: Plan, layer: str, alert: str, expected: list[Alert]) -> Alert:
    group, _ = _places(plan, layer, alert)[0]
    own = {"alertgroup": group}  # a label of vmalert's
    alerts = [{**one, "exp_labels": {**one["exp_labels"], **own}} for one in expected]
    return {"eval_time": "15m", "groupname": group, "alertname": alert, "exp_alerts": alerts}


def _group(series: Series, asked: list[Alert]) -> Alert:
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    return {"interval": "1m", "input_series": inputs, "alert_rule_test": asked}


def _rule(plan: Plan, layer: str, alert: str) -> Alert:
    ((_, rule),) = _places(plan, layer, alert)
    return rule


def _places(plan: Plan, layer: str, alert: str) -> list[tuple[str, Alert]]:
    """Return the rules named ``alert`` of a layer, each with its group."""
    groups = rules(plan)[layer]["groups"]
    return [(group["name"], rule) for group in groups for rule in group["rules"] if rule["alert"] == alert]


def _merged(series: list[Series]) -> Series:
    return {name: values for one in series for name, values in one.items()}

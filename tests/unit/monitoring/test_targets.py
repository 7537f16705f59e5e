"""Everything that the plan has is scraped, where it is, and nothing else is."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.action.plan import ActionModule
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.texts import AGES
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift.rows import OBJECTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import LAYERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import WRITTEN, files
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.jobs import JOBS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.targets import expected, targets
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import example

from .recorded import MADE
from .sites import WHOLE, planned


def scraped(plan: Plan) -> dict[str, Any]:
    """Return the scrape configuration."""
    found: dict[str, Any] = yaml.safe_load(files(plan)["scrape.yml"])
    return found


def asked(plan: Plan, job: str) -> dict[str, str]:
    """Return object and address of each target of ``job``."""
    groups = [one for layer in targets(plan).values() for one in layer if one["labels"]["job"] == job]
    return {one["labels"]["object"]: one["targets"][0] for one in groups}


def test_a_site_without_monitoring_has_no_file_of_it() -> None:
    assert files(make_plan(build_site(example("ha")))) == {}


def test_every_host_is_asked_for_its_node_exporter_at_its_own_address() -> None:
    plan = planned("ha")
    assert asked(plan, "node") == {name: f"{host.address}:9100" for name, host in plan.hosts.items()}


def test_a_machine_without_an_address_is_no_target() -> None:
    plan = planned("region", machines__hypervisor__per_rack=250)  # more than a rack's segment has addresses for
    without = {name for name, host in plan.hosts.items() if not host.address}
    assert without
    assert asked(plan, "node").keys() == plan.hosts.keys() - without


def test_control_hosts_are_asked_at_the_ports_of_the_plan() -> None:
    plan = planned("ha")
    control = {name: plan.hosts[name].address for name in plan.edge.hosts}
    assert len(control) == 3
    assert asked(plan, "api-server") == {name: f"{one}:{plan.kubernetes.api_port}" for name, one in control.items()}
    assert asked(plan, "etcd") == asked(plan, "haproxy") == {name: f"{one}:9101" for name, one in control.items()}


def test_ceph_is_asked_at_its_managers_and_only_where_the_site_runs_it() -> None:
    plan = planned("ha")
    assert plan.ceph
    assert asked(plan, "ceph").keys() == set(plan.ceph.managers)
    assert "storage" not in targets(planned("lab"))


@pytest.mark.parametrize(("without", "managers"), [(0, "all"), (1, "all"), (9, "none")])
def test_a_manager_of_a_host_set_aside_may_be_the_one_that_answers(without: int, managers: str) -> None:
    plan = planned("ha")
    assert plan.ceph
    asked_of = [one["object"] for one in expected(plan, without=plan.ceph.managers[:without]) if one["job"] == "ceph"]
    assert asked_of == (list(plan.ceph.managers) if managers == "all" else [])


def test_an_operator_s_own_ceph_is_not_asked() -> None:
    plan = planned("ha", storage__backend="cephadm")
    assert plan.ceph
    assert not plan.ceph.metrics
    assert "storage" not in targets(plan)


def test_the_store_is_asked_on_the_monitoring_host_alone() -> None:
    named = planned("ha", monitoring__host="storage-2")
    for job in ("store", "rules", "alerts"):
        assert asked(planned("ha"), job) == {"seed-1": f"127.0.0.1:{JOBS[job].number(named)}"}
        assert asked(named, job).keys() == {"storage-2"}


def test_each_target_says_layer_and_rack_and_no_two_are_the_same() -> None:
    plan = planned("ha")
    groups = [(layer, one) for layer, each in targets(plan).items() for one in each]
    assert {layer for layer, _ in groups} <= {*LAYERS, "monitoring"}
    assert all(one["labels"]["layer"] == layer for layer, one in groups)
    assert all(one["labels"]["rack"] == plan.hosts[one["labels"]["object"]].rack for _, one in groups)
    asked_once = [(one["labels"]["job"], one["targets"][0]) for _, one in groups]
    assert len(asked_once) == len(set(asked_once))


def test_a_job_reads_its_layers_file_and_keeps_its_own_targets() -> None:
    plan = planned("ha", monitoring__interval=15, **WHOLE)
    found = scraped(plan)
    written = files(plan)
    assert found["global"] == {"scrape_interval": "15s", "external_labels": {"site": "ha"}}
    assert [one["job_name"] for one in found["scrape_configs"]] == list(JOBS)
    for one in found["scrape_configs"]:
        (path,) = one["file_sd_configs"][0]["files"]
        assert one["job_name"] in {group["labels"]["job"] for group in json.loads(written[path])}
        assert one["relabel_configs"] == [{"action": "keep", "source_labels": ["job"], "regex": one["job_name"]}]


def test_of_histograms_what_a_panel_asks_for_is_kept() -> None:
    plan = planned("ha", **WHOLE)
    panels = "".join(text for path, text in files(plan).items() if path.startswith("vmui/"))
    wanted = set(re.findall(r"\w+_bucket", panels))
    assert "apiserver_request_duration_seconds_bucket" in wanted
    for one in scraped(plan)["scrape_configs"]:
        *_, mark, drop, forget = one["metric_relabel_configs"]
        assert set(mark["regex"].split("|")) == wanted
        assert re.fullmatch(drop["regex"], ";apiserver_request_sli_duration_seconds_bucket")
        assert not re.fullmatch(drop["regex"], "1;apiserver_request_duration_seconds_bucket")
        assert not re.fullmatch(drop["regex"], ";apiserver_request_total")
        assert drop["source_labels"][0] == mark["target_label"]
        assert mark["target_label"] in forget["regex"].split("|")


def test_what_one_host_tells_of_the_site_is_taken_of_no_other() -> None:
    """A hypervisor that is somebody else's could tell of a backup set that nobody made: rules take the newest."""
    ours = [name for name in MADE if re.match("groundup_|kube_|redfish_", name)]
    of_each = "groundup_(node_|virtual|unit|file|cloud|host|log|smart)|kube_node_"
    own = [name for name in ours if re.match(of_each, name)]
    told = [AGES, OBJECTS, *(name for name in ours if name not in own)]
    for one in scraped(planned("ha", monitoring__host="storage-2"))["scrape_configs"]:
        clear, mark, drop, *_, forget = one["metric_relabel_configs"]
        assert (mark["source_labels"], mark["regex"]) == (["object"], r"storage\-2")
        assert clear == {"target_label": mark["target_label"], "replacement": ""}
        assert mark["target_label"] == drop["source_labels"][0]
        assert mark["target_label"] in forget["regex"].split("|")
        assert [name for name in told if not re.fullmatch(drop["regex"], f";{name}")] == []
        assert [name for name in [*own, "node_load1", "kubelet_up"] if re.fullmatch(drop["regex"], f";{name}")] == []
        assert not re.fullmatch(drop["regex"], f"1;{AGES}")


def test_what_leaves_the_monitoring_host_has_a_client_certificate_but_for_ceph() -> None:
    found = scraped(planned("ha", **WHOLE))["scrape_configs"]
    open_ones = {one["job_name"] for one in found if one["scheme"] == "http"}
    assert open_ones == {name for name, job in JOBS.items() if job.loopback} | {"ceph"}
    secured = {one["job_name"]: one["tls_config"].keys() for one in found if one["scheme"] == "https"}
    assert secured.pop("api-server") == {"ca_file"}
    assert set(map(frozenset, secured.values())) == {frozenset(("ca_file", "cert_file", "key_file"))}
    (api,) = (one for one in found if one["job_name"] == "api-server")
    assert api["authorization"] == {"credentials_file": "tls/kubernetes.token"}


def test_the_files_are_what_the_functions_say() -> None:
    plan = planned("ha", monitoring__webhook="https://pager.corp.test/hook")
    written = files(plan)
    assert "https://pager.corp.test/hook" in written["alertmanager.yml"]
    assert json.loads(written["targets/host.json"]) == targets(plan)["host"]
    parts = {path.partition("/")[0] for path in written}
    assert parts == {"targets", "rules", "vmui", "page", "scrape.yml", "alertmanager.yml"}


def test_a_refused_plan_is_written_for_reading() -> None:
    written = files(planned("lab", monitoring__host="seed-9"))
    (group,) = yaml.safe_load(written["rules/monitoring.yml"])["groups"]
    assert (group["name"], [rule["alert"] for rule in group["rules"]]) == ("monitoring", ["AlertingWorks"])


def test_where_alerts_are_sent_to_is_its_owner_s_to_read(tmp_path: Path) -> None:
    action: Any = ActionModule.__new__(ActionModule)
    action._task = SimpleNamespace(check_mode=False)
    action._write(planned("lab"), tmp_path)
    modes = {name: stat.S_IMODE((tmp_path / "monitoring" / name).stat().st_mode) for name in WRITTEN[-2:]}
    assert modes == {"scrape.yml": 0o644, "alertmanager.yml": 0o600}

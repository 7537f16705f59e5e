"""Two plans of a site compared: each difference has the layer whose run makes it so, and no secret is in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import LAYERS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, to_json
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output import compared
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.differences import (
    _OWNERS,
    HIDDEN,
    NO_LAYER,
    PlanDifference,
    differences,
    files,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import HostPlan, SupplyPlan

PlanOf = Callable[..., Plan]
Found = tuple[str, str, str, str, str]


def content(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_json(plan))
    return found


def told(before: dict[str, Any], now: dict[str, Any]) -> set[Found]:
    """Return layer, kind, path, host and change of each difference."""
    return {(row.layer, row.kind, row.what, row.host, row.change) for row in differences(before, now)}


def test_a_plan_is_no_other_than_itself(plan_of: PlanOf) -> None:
    cloud = content(plan_of("cloud"))
    assert differences(cloud, json.loads(json.dumps(cloud))) == []
    assert compared.table([]) == "a run would change nothing"


def test_every_part_of_the_plan_has_a_layer_that_there_is() -> None:
    assert {field.name for field in fields(Plan)} <= _OWNERS.keys()
    assert set(_OWNERS.values()) <= {*LAYERS, NO_LAYER}
    names = {"hosts": HostPlan, "supply": SupplyPlan, "kubernetes": None}
    for path in _OWNERS:
        first, _, rest = path.partition(".")
        if rest and (kind := names[first]):
            assert rest in {field.name for field in fields(kind)}, path


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"machines/worker/count": 2}, ("metal", "host", "hosts", "worker-2", "new")),
        ({"edge/address": "10.79.0.9"}, ("kubernetes", "address", "edge.address", "", "changed")),
        ({"kubernetes/version": "1.37.2"}, ("kubernetes", "version", "kubernetes.version", "", "changed")),
        ({"kubernetes/version": "1.37.2"}, ("supply", "image", "supply.images.kube-proxy", "", "changed")),
        ({"openstack/services": ["keystone"]}, ("openstack", "chart", "openstack.releases.nova", "", "gone")),
        (
            {"openstack/overrides": {"nova": {"values": {"conf": {"nova": {"DEFAULT": {"cpu": 2}}}}}}},
            ("openstack", "value", "nova.conf.nova.DEFAULT.cpu", "", "new"),
        ),
        ({"networks/provider/mtu": 1400}, ("openstack", "address", "networks.provider.mtu", "", "changed")),
        ({"networks/tunnel/mtu": 9000}, ("host", "address", "interfaces.tnl0.mtu", "control-1", "changed")),
        ({"hosts": {"sysctl": {"vm.swappiness": 1}}}, ("host", "setting", "host.sysctl.vm.swappiness", "", "new")),
        ({"machines/worker/labels": {"a": "b"}}, ("kubernetes", "setting", "node_labels.a", "worker-1", "new")),
        (
            {"machines/hypervisor/labels": {"x/a": "b"}},
            ("hypervisor", "setting", "place_labels.x/a", "hypervisor-1", "new"),
        ),
        ({"storage/pools": {"vms": {"replicas": 2}}}, ("storage", "setting", "ceph.pools.vms.replicas", "", "changed")),
        ({"ovn": {"tunnel_ids": "1-99"}}, ("network", "setting", "ovn.tunnel_ids", "", "changed")),
        ({"monitoring": {"enabled": True}}, ("monitoring", "setting", "monitoring", "", "changed")),
        ({"backups": {"keep": 3}}, (NO_LAYER, "setting", "backups.keep", "", "changed")),
        ({"openstack/region": "North"}, ("openstack", "setting", "openstack.region", "", "changed")),
        (
            {"cloud": {"flavors": {"m1": {"vcpus": 1, "memory_mb": 512}}}},
            ("openstack", "resource", "resources.flavor m1", "", "new"),
        ),
        (
            {"machines/control/count": 2},
            (NO_LAYER, "finding", "findings.even-quorum machines.control", "", "new"),
        ),
    ],
)  # fmt: skip
def test_a_change_is_of_its_layer(plan_of: PlanOf, changes: dict[str, Any], expected: Found) -> None:
    before, now = content(plan_of("cloud")), content(plan_of("cloud", changes))
    assert expected in told(before, now)
    back = {"new": "gone", "gone": "new"}
    assert (*expected[:-1], back.get(expected[-1], expected[-1])) in told(now, before)


def test_a_machine_that_the_seed_installs_is_of_the_layer_ironic() -> None:
    before = {"hosts": {"a-1": {"provisioner": "ironic", "serial": "1", "packages": {"host": ["a"]}}}}
    now = {
        "hosts": {
            "a-1": {"provisioner": "ironic", "serial": "2", "packages": {"host": ["a", "b"]}},
            "a-2": {"provisioner": "container"},
        }
    }
    assert told(before, now) == {
        ("ironic", "setting", "serial", "a-1", "changed"),
        ("host", "file", "packages.host", "a-1", "changed"),
        ("metal", "host", "hosts", "a-2", "new"),
    }
    assert told(now, {"hosts": {"a-2": now["hosts"]["a-2"]}}) == {("ironic", "host", "hosts", "a-1", "gone")}


def release(**values: Any) -> dict[str, Any]:
    return {"openstack": {"releases": [{"name": "nova", "version": "1.0", "values": values}]}}


def test_what_a_version_adds_and_leaves_empty_is_no_difference_but_for_a_chart_s_value() -> None:
    new: dict[str, Any] = {
        "kubernetes": {"upgrading": [], "charts": None, "audit": False, "number": 0, "text": "", "map": {}}
    }
    assert told({"kubernetes": {}}, new) == told(new, {"kubernetes": {}}) == set()
    assert told(release(), release(replicas=0, debug=False, hosts=[], pod={})) == {
        ("openstack", "value", f"nova.{name}", "", "new") for name in ("replicas", "debug", "hosts")
    }


def test_a_release_in_another_place_of_the_list_is_the_same_release() -> None:
    one, two = {"name": "a", "version": "1"}, {"name": "b", "version": "1"}
    before, now = ({"openstack": {"releases": order}} for order in ([one, two], [two, {**one, "version": "2"}]))
    assert told(before, now) == {("openstack", "version", "openstack.releases.a.version", "", "changed")}


def test_a_layer_of_packages_that_this_version_lacks_is_the_last() -> None:
    before = {"hosts": {"a": {"packages": {"attic": ["x"]}}}}
    rows = compared.ordered([*differences(before, {"hosts": {"a": {"packages": {}}}}), *files({}, {"dns.zone": "a"})])
    assert [row.layer for row in rows] == ["plan", "attic"]


SECRETS = [
    release(conf={"password": "hunter22"}),
    release(conf={"api_key": "hunter22"}),
    release(conf={"secrets": {"a": "hunter22"}}),
    release(conf={"lines": "user = a\npassword = hunter22\n"}),
    release(conf={"tokens": [{"token": "hunter22"}]}),
    *(release(conf={key: "hunter22"}) for key in ("admin_keyring", "kek", "erlang_cookie", "master_key", "key")),
    release(conf={"env": [{"name": "DB_PASSWORD", "value": "hunter22"}]}),
    release(conf={"lines": "[client.glance]\nkey = hunter22\n"}),
    {"openstack": {"extra_releases": {"own": {"values": {"db": {"password": "hunter22"}}}}}},
    {"supply": {"files_url": "https://me:hunter22@files.test"}},
    {"monitoring": {"webhook": "https://chat.test/hunter22"}},
    {"monitoring": {"x": {"webhook": "https://chat.test/hunter22"}}},
    {"access": {"authorized_keys": ["-----BEGIN PRIVATE KEY-----\nhunter22"]}},
]


@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_is_in_a_difference(secret: dict[str, Any]) -> None:
    other = json.loads(json.dumps(secret).replace("hunter22", "another1"))
    for before, now in ((secret, other), ({}, secret), (secret, {})):
        rows = differences(before, now)
        shown = json.dumps(compared.document("cloud", "x", rows)) + compared.table(rows)
        assert rows
        assert HIDDEN in shown
        assert "hunter22" not in shown
        assert "another1" not in shown


def test_what_is_no_secret_is_shown() -> None:
    """A name that only contains such a word."""
    (row,) = differences(*(release(conf={"keystone": {"keyword": text}}) for text in ("monkey=1", "monkey=2")))
    assert (row.before, row.now) == ("monkey=1", "monkey=2")
    (row,) = differences(*(release(conf={"env": [{"name": "HOST", "value": text}]}) for text in ("a", "b")))
    assert HIDDEN not in str(row)


def test_the_name_of_a_secret_is_told() -> None:
    rows = differences(*(release(conf={"password": {"$secret": name}}) for name in ("nova/old", "nova/new")))
    assert [(row.what, row.before, row.now) for row in rows] == [("nova.conf.password.$secret", "nova/old", "nova/new")]


def test_files_are_named_and_not_shown() -> None:
    rows = files(
        {"dns.zone": "a", "monitoring/alertmanager.yml": "hunter22"}, {"dns.zone": "b", "monitoring/b.yml": ""}
    )
    assert [(row.layer, row.kind, row.what, row.change) for row in rows] == [
        ("plan", "file", "dns.zone", "changed"), ("monitoring", "file", "monitoring/alertmanager.yml", "gone"),
        ("monitoring", "file", "monitoring/b.yml", "new"),
    ]  # fmt: skip
    assert "hunter22" not in compared.table(rows)


def row(**changes: Any) -> PlanDifference:
    return PlanDifference(
        **{"layer": "host", "kind": "setting", "what": "sysctl.a", "host": "", "change": "changed", "before": "0",
           "now": "1", **changes}
    )  # fmt: skip


def test_hosts_with_the_same_difference_are_one_line_and_counted_each() -> None:
    rows = [row(host=f"worker-{number}") for number in range(5)] + [row(host="seed-1", now="2")]
    lines = compared.table(rows).splitlines()
    assert [line.split(maxsplit=2)[2].split("  ")[0] for line in lines[1:3]] == [
        "sysctl.a (worker-0, worker-1, worker-2 and 2 more)", "sysctl.a (seed-1)",
    ]  # fmt: skip
    assert lines[-1] == "a run would change: host 6 settings"


def test_a_long_layer_is_cut_and_the_document_has_all() -> None:
    rows = [row(what=f"sysctl.{number}") for number in range(30)] + [row(layer=NO_LAYER, kind="finding", change="new")]
    text = compared.table(rows)
    assert "and 10 more: output=json has all" in text
    assert text.endswith("a run would change: host 30 settings; of no layer: 1 finding")
    found = compared.document("cloud", "old", rows)
    assert (len(found["rows"]), found["state"], found["counts"]) == (
        31, "differs", {"host": {"setting": 30}, "": {"finding": 1}},
    )  # fmt: skip
    assert compared.document("cloud", "old", [])["state"] == "same"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "0 -> 1"),
        ({"change": "new", "before": None}, "not there -> 1"),
        ({"change": "gone", "now": None}, "1"),
        ({"before": ["a", "b"], "now": ["b", "c"]}, "-a, +c"),
        ({"before": ["a", "b"], "now": ["b", "a"]}, "another order"),
        ({"before": HIDDEN, "now": HIDDEN}, "(hidden), another one"),
        ({"now": "x" * 80}, f"0 -> {'x' * 60}…"),
        ({"now": "\x1b[31m"}, "0 -> \\x1b[31m"),
        ({"before": "", "now": None}, '"" -> null'),
        ({"kind": "host", "host": "worker-3", "change": "new"}, "worker-3  new"),
        ({"kind": "file", "before": None, "now": None}, "changed"),
    ],
)
def test_a_line_says_what_was_and_what_is(changes: dict[str, Any], said: str) -> None:
    if changes.get("change") == "gone":
        said = "0 -> not there"
    line = compared.table([row(**changes)]).splitlines()[1]
    assert line.endswith(said)

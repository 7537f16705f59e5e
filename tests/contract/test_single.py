"""Services that run in one pod at a time: how many copies wait, what they may do, and what Helm says of the Lease."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan

from .conftest import SITES, name_of
from .test_builtin_services import configuration

SINGLE = {"cinder": ["cinder-volume", "cinder-backup"], "designate": ["designate-producer"]}
EACH = [(release, name) for release, names in SINGLE.items() for name in names]
# What takes work from a queue that all share, so that several may run.
SEVERAL = {
    "cinder": ["cinder-scheduler"],
    "designate": ["designate-central", "designate-mdns", "designate-worker"],
    "heat": ["heat-engine"],
    "magnum": ["magnum-conductor"],
    "manila": ["manila-scheduler"],
    "nova": ["nova-conductor", "nova-scheduler"],
}


def by_name(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name_of(item): item for item in items}


def copies(plan: Plan) -> int:
    return min(3, sum("control" in host.roles for host in plan.hosts.values()))


def only(pod: dict[str, Any]) -> dict[str, Any]:
    (one,) = pod["containers"]
    return dict(one)


@pytest.mark.parametrize(("release", "name"), EACH)
def test_each_control_host_has_a_copy_of_which_one_runs(
    plan: Plan, rendered: dict[str, Any], release: str, name: str
) -> None:
    found = by_name(rendered[release])
    if f"Deployment/{name}" not in found:
        assert plan.ceph is None
        return
    spec = found[f"Deployment/{name}"]["spec"]
    pod = spec["template"]["spec"]
    command = only(pod)["command"]
    assert spec["replicas"] == copies(plan)
    (program,) = [word for word in command if word == name]
    if copies(plan) == 1:
        assert command[0] == program, "one plain process"
        assert f"Lease/{name}" not in found
        assert f"Role/{name}" not in found
        assert "livenessProbe" not in only(pod)
        assert "elected.py" not in found[f"ConfigMap/{release}-bin"]["data"]
        return
    assert command[: command.index(program)] == ["python3", "/opt/bin/elected.py"]
    assert {"elected.py", "elected-probe.sh", "lease.py", "shared_object.py"} <= set(
        found[f"ConfigMap/{release}-bin"]["data"]
    )
    assert "/tmp" in [mount["mountPath"] for mount in only(pod)["volumeMounts"]]  # noqa: S108  # word for the probes
    env = {one["name"]: one.get("value") for one in only(pod)["env"]}
    assert {"POD_NAME", "NAMESPACE"} <= set(env)
    assert env["LEASE"] == name
    assert 0 < int(env["GRACE"]) < pod["terminationGracePeriodSeconds"], "time to give the Lease up"
    assert only(pod)["readinessProbe"]["exec"]["command"][:2] == ["/opt/bin/elected-probe.sh", "ready"]
    assert only(pod)["readinessProbe"]["exec"]["command"][2:], "the service's own check, where it runs"
    assert only(pod)["livenessProbe"]["exec"]["command"] == ["/opt/bin/elected-probe.sh", "alive"]
    assert "podAntiAffinity" in pod["affinity"]
    assert pod.get("automountServiceAccountToken") is not False, "it asks the API by its account"
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": "100%"}


@pytest.mark.parametrize(("release", "name"), EACH)
def test_a_copy_may_change_its_own_lease_and_nothing_else_and_helm_says_nothing_of_its_holder(
    plan: Plan, rendered: dict[str, Any], release: str, name: str
) -> None:
    found = by_name(rendered[release])
    if f"Lease/{name}" not in found:
        assert copies(plan) == 1 or plan.ceph is None
        return
    assert "spec" not in found[f"Lease/{name}"]
    (rule,) = found[f"Role/{name}"]["rules"]
    assert rule == {
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [name],
        "verbs": ["get", "patch"],
    }  # fmt: skip
    assert [one["name"] for one in found[f"RoleBinding/{name}"]["subjects"]] == [name]
    assert found[f"Deployment/{name}"]["spec"]["template"]["spec"]["serviceAccountName"] == name


def test_charts_that_cannot_choose_one_of_several_get_one_copy() -> None:
    """OpenStack-Helm's, and whatever else a site brings."""
    content = yaml.safe_load(SITES["ha"].read_text())
    content["openstack"] |= {"charts": "/srv/charts", "services": ["keystone", "cinder", "designate", "ceph-rgw"]}
    releases = {one.name: one for one in with_values(make_plan(build_site(content))).openstack.releases}
    replicas = {name: releases[name].values["pod"]["replicas"] for name in SINGLE}
    assert (replicas["cinder"]["volume"], replicas["cinder"]["backup"], replicas["designate"]["producer"]) == (1, 1, 1)
    assert replicas["cinder"]["scheduler"] == replicas["designate"]["central"] == 3


def test_all_copies_of_cinder_volume_report_by_one_name(rendered: dict[str, Any]) -> None:
    """Volumes belong to that name: one of a pod would leave them without a service when it moves."""
    assert configuration(rendered["cinder"], "cinder", "cinder.conf")["DEFAULT"]["host"] == "cinder-volume-worker"


@pytest.mark.parametrize("release", SEVERAL)
def test_what_may_run_several_times_does(plan: Plan, rendered: dict[str, Any], release: str) -> None:
    found = by_name(rendered[release])
    for name in SEVERAL[release]:
        (item,) = [found[key] for key in (f"Deployment/{name}", f"StatefulSet/{name}") if key in found]
        assert item["spec"]["replicas"] == copies(plan), name

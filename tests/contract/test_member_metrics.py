"""What tells metrics of a Galera member: a container of its own, of sites with monitoring and the built-in charts."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import services
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan

from .conftest import CHARTS, SITES, Render, chart_values, name_of, objects


def releases(**changes: Any) -> dict[str, ReleasePlan]:
    """Return the releases of the site `ha` with ``changes``."""
    data = yaml.safe_load(SITES["ha"].read_text())
    for name, more in changes.items():
        data[name] = {**data.get(name, {}), **more}
    return {one.name: one for one in with_values(make_plan(build_site(data))).openstack.releases}


def pod(render: Render, **changes: Any) -> dict[str, Any]:
    """Return a member's pod, with its annotations."""
    items = {name_of(one): one for one in objects(render(releases(**changes)["mariadb"], CHARTS / "mariadb"))}
    files = {"exporter.py", "cloud_state.sql"} & items["ConfigMap/mariadb-bin"]["data"].keys()
    assert len(files) == (2 if changes else 0)
    template: dict[str, Any] = items["StatefulSet/mariadb-server"]["spec"]["template"]
    return template


def test_only_a_site_with_monitoring_has_it_and_only_there_members_start_anew(render: Render) -> None:
    without, having = pod(render), pod(render, monitoring={"enabled": True})
    assert [one["name"] for one in without["spec"]["containers"]] == ["mariadb"]
    assert [one["name"] for one in having["spec"]["containers"]] == ["mariadb", "exporter"]
    before, after = (one["metadata"]["annotations"]["configmap-bin-hash"] for one in (without, having))
    assert before != after


def test_it_has_the_password_of_the_account_without_rights_and_no_other_secret(render: Render) -> None:
    spec = pod(render, monitoring={"enabled": True})["spec"]
    exporter, volumes = spec["containers"][1], {one["name"]: one for one in spec["volumes"]}
    mounts = {one["mountPath"]: volumes[one["name"]] for one in exporter["volumeMounts"]}
    assert mounts.pop("/run/secrets/audit")["secret"]["secretName"] == "mariadb-dbaudit-password"  # a name
    assert mounts.pop("/opt/bin")["configMap"]["name"] == "mariadb-bin"
    # Where something is mounted, Kubernetes mounts no token.
    assert mounts == {"/var/run/secrets/kubernetes.io/serviceaccount": {"name": "scratch", "emptyDir": {}}}
    assert all("valueFrom" not in one for one in exporter["env"])
    assert exporter["securityContext"] == spec["containers"][0]["securityContext"]


def test_hosts_ask_the_ports_of_the_charts() -> None:
    ports = {
        name: chart_values(name)["endpoints"][endpoint]["port"][port]["default"]
        for name, endpoint, port in (
            ("mariadb", "prometheus_mysql_exporter", "metrics"), ("rabbitmq", "oslo_messaging", "metrics"),
            ("memcached", "oslo_cache", "memcache"),
        )
    }  # fmt: skip
    assert ports == {
        "mariadb": services.DATABASE_METRICS, "rabbitmq": services.QUEUE_METRICS, "memcached": services.CACHE,
    }  # fmt: skip
    assert "rabbitmq_prometheus" in chart_values("rabbitmq")["conf"]["enabled_plugins"]


@pytest.mark.parametrize("name", ["mariadb", "rabbitmq", "memcached"])
def test_hosts_ask_the_members_by_the_names_of_their_pods(render: Render, name: str) -> None:
    items = objects(render(releases()[name], CHARTS / name))
    (workload,) = [one["metadata"]["name"] for one in items if one["kind"] == "StatefulSet"]
    assert workload in services._PARTS


def test_other_charts_are_given_none_of_it() -> None:
    values = releases(monitoring={"enabled": True}, openstack={"charts": "https://charts.example.com"})[
        "mariadb"
    ].values
    assert "monitoring" not in values

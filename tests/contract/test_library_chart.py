"""What the library chart makes of a profile: charts/toy has an API, a worker and a scheduler for this test."""

from __future__ import annotations

import base64
import configparser
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, objects

TOY = Path(__file__).parent / "charts/toy"
Toy = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def toy(helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A function that renders the toy service with other values and returns its objects by kind and name."""
    chart = tmp_path_factory.mktemp("charts") / "toy"
    shutil.copytree(TOY, chart)
    (chart / "charts").mkdir()
    (chart / "charts/groundup-lib").symlink_to(ROOT / "charts/groundup-lib")

    def run(**values: str) -> dict[str, dict[str, Any]]:
        said = [
            argument for path, value in values.items() for argument in ("--set", f"{path.replace('__', '.')}={value}")
        ]
        done = subprocess.run(
            [helm, "template", "toy", chart, "--namespace", "openstack", *said],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return {f"{item['kind']}/{item['metadata']['name']}": item for item in objects(done.stdout)}

    return run


@pytest.fixture(scope="module")
def rendered(toy: Toy) -> dict[str, dict[str, Any]]:
    return toy()


def etc(rendered: dict[str, dict[str, Any]], file: str) -> str:
    return base64.b64decode(rendered["Secret/toy-etc"]["data"][file]).decode()


def section(rendered: dict[str, dict[str, Any]], name: str, *, file: str = "toy.conf") -> dict[str, str]:
    config = configparser.RawConfigParser(default_section="none")
    config.read_string(etc(rendered, file))
    return dict(config[name])


def named(rendered: dict[str, dict[str, Any]], kind: str, purpose: str) -> dict[str, Any]:
    return next(item for key, item in rendered.items() if key.startswith(f"{kind}/toy-{purpose}"))


def container(item: dict[str, Any]) -> dict[str, Any]:
    return dict(item["spec"]["template"]["spec"]["containers"][0])


def waits_for(item: dict[str, Any], variable: str) -> list[str]:
    (init,) = item["spec"]["template"]["spec"]["initContainers"]
    return str(next(each["value"] for each in init["env"] if each["name"] == variable)).split(",")


def test_a_profile_is_short() -> None:
    assert len((TOY / "profile.yaml").read_text().splitlines()) < 60


def test_credentials_database_and_queue_follow_from_the_endpoints(rendered: dict[str, Any]) -> None:
    assert section(rendered, "keystone_authtoken") == {
        "auth_type": "password",
        "auth_url": "http://keystone-api.openstack.svc.cluster.local:5000/v3",
        "www_authenticate_uri": "https://identity.lab.test/v3",
        "region_name": "RegionOne",
        "username": "toy",
        "password": "toy-word",
        "user_domain_name": "service",
        "project_name": "service",
        "project_domain_name": "service",
        "service_type": "toy-box",
        "service_token_roles_required": "true",
    }
    assert section(rendered, "database")["connection"] == (
        "mysql+pymysql://toy:db-word@mariadb.openstack.svc.cluster.local:3306/toy"
    )
    members = ",".join(
        f"toy:toy-queue-word@rabbitmq-rabbitmq-{n}.rabbitmq.openstack.svc.cluster.local:5672" for n in range(2)
    )
    assert etc(rendered, "toy.conf").count(f"transport_url = rabbit://{members}/toy\n") == 1


def test_an_option_that_is_written_wins_also_when_it_is_false(toy: Toy) -> None:
    rendered = toy(
        conf__toy__keystone_authtoken__service_token_roles_required="false",
        conf__toy__keystone_authtoken__username="other",
        conf__toy_api_uwsgi__uwsgi__master="false",
        conf__toy__database__connection="sqlite:///",
    )
    assert section(rendered, "keystone_authtoken")["service_token_roles_required"] == "false"
    assert section(rendered, "keystone_authtoken")["username"] == "other"
    assert section(rendered, "uwsgi", file="toy-api-uwsgi.ini")["master"] == "false"
    admin = rendered["Secret/toy-db-admin"]["data"]["SERVICE_DB_CONNECTION"]
    assert section(rendered, "database")["connection"] == base64.b64decode(admin).decode() == "sqlite:///"


def test_every_account_of_the_profile_has_a_section(rendered: dict[str, Any]) -> None:
    keeper = section(rendered, "keeper")
    assert (keeper["username"], keeper["password"], keeper["endpoint_type"]) == (
        "toy_keeper",
        "keeper-word",
        "internal",
    )
    assert keeper["region_name"] == "written"


def test_one_job_makes_users_the_service_and_its_three_endpoints(rendered: dict[str, Any]) -> None:
    wanted = json.loads(etc(rendered, "identity.json"))
    assert {user["name"]: user["roles"] for user in wanted["users"]} == {
        "toy": ["admin", "service"],
        "toy_keeper": ["admin", "service"],
    }
    inner = "http://toy-api.openstack.svc.cluster.local:9999/v1/%(tenant_id)s"
    urls = {"public": "https://toy.lab.test/v1/%(tenant_id)s", "internal": inner, "admin": inner}
    assert wanted["services"] == [{"type": "toy-box", "name": "toy", "endpoints": urls}]
    job = container(named(rendered, "Job", "identity"))
    assert job["command"] == ["python3", "/opt/bin/identity.py", "/run/identity/identity.json"]
    assert job["envFrom"] == [{"secretRef": {"name": "toy-keystone-admin"}}]
    assert "identity.py" in rendered["ConfigMap/toy-bin"]["data"]


def test_no_job_that_a_pod_waits_for_is_a_hook(rendered: dict[str, Any]) -> None:
    """Helm makes a hook's job anew after the pods: they would be content with the one of the last change."""
    jobs = {key: item["metadata"].get("annotations", {}) for key, item in rendered.items() if item["kind"] == "Job"}
    assert sorted(key.rpartition("-")[0] for key in jobs) == [
        "Job/toy-db", "Job/toy-db-init", "Job/toy-db-sync", "Job/toy-identity", "Job/toy-rabbit-init",
    ]  # fmt: skip
    assert {key for key, notes in jobs.items() if notes} == {"Job/toy-db-contract"}


@pytest.mark.parametrize(
    "change",
    [
        {"images__tags__toy_db_sync": "toy:2"},  # a new release's migrations
        {"endpoints__oslo_db__auth__toy__password": "other"},
        {"endpoints__oslo_db__auth__admin__password": "other"},
    ],
)
def test_pods_wait_for_the_migration_of_their_own_image_and_account(toy: Toy, change: dict[str, str]) -> None:
    before, after = toy(), toy(**change)
    old, new = (named(each, "Job", "db-sync")["metadata"]["name"] for each in (before, after))
    assert old != new
    for key in ("Deployment/toy-api", "Deployment/toy-rpc-worker", "StatefulSet/toy-scheduler"):
        assert new in waits_for(after[key], "DEPENDENCY_JOBS")
        assert old not in waits_for(after[key], "DEPENDENCY_JOBS")
    init = named(after, "Job", "db-init")["metadata"]["name"]
    assert waits_for(named(after, "Job", "db-sync"), "DEPENDENCY_JOBS") == [init]


def test_who_waits_for_openstack_helms_jobs_waits_for_ours(rendered: dict[str, Any]) -> None:
    ours = [named(rendered, "Job", purpose)["metadata"]["name"] for purpose in ("db-sync", "identity", "rabbit-init")]
    for key in ("Deployment/toy-api", "Deployment/toy-rpc-worker", "StatefulSet/toy-scheduler"):
        assert waits_for(rendered[key], "DEPENDENCY_JOBS") == ours
    assert waits_for(named(rendered, "Job", "identity"), "DEPENDENCY_SERVICE") == ["openstack:keystone-api"]


def test_a_job_has_another_name_when_what_it_does_changes(toy: Toy) -> None:
    """A Job cannot be changed: an upgrade that changed one would be refused."""
    names = {
        named(toy(**change), "Job", "identity")["metadata"]["name"]
        for change in (
            {},
            {"images__tags__ks_user": "client:2"},
            {"endpoints__identity__auth__toy__password": "other"},
            {"endpoints__toy_box__host_fqdn_override__public__host": "elsewhere"},
        )
    }
    assert len(names) == 4
    assert named(toy(), "Job", "identity") == named(toy(), "Job", "identity")


def test_a_component_is_known_by_its_own_names_in_the_values(rendered: dict[str, Any]) -> None:
    api, worker, scheduler = (
        rendered[key] for key in ("Deployment/toy-api", "Deployment/toy-rpc-worker", "StatefulSet/toy-scheduler")
    )
    assert [item["spec"]["replicas"] for item in (api, worker, scheduler)] == [3, 2, 1]
    assert worker["metadata"]["labels"]["component"] == "rpc_worker"
    assert scheduler["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 180
    assert scheduler["spec"]["serviceName"] == "toy-scheduler"
    for item in (api, worker, scheduler):
        labels = {"application": "toy", "release_group": "toy", "component": item["metadata"]["labels"]["component"]}
        assert labels.items() <= item["spec"]["selector"]["matchLabels"].items()
        mounts = {mount["mountPath"] for mount in container(item)["volumeMounts"]}
        assert {
            "/etc/toy/toy.conf",
            "/etc/toy/logging.conf",
            "/etc/toy/policy.yaml",
            "/etc/toy/more/notes.txt",
        } <= mounts
    assert container(scheduler)["env"] == [{"name": "NAMESPACE", "value": "openstack"}]


def test_only_an_api_has_a_service_a_disruption_budget_and_probes_over_http(rendered: dict[str, Any]) -> None:
    assert [key for key in rendered if key.startswith(("Service/", "PodDisruptionBudget/"))] == [
        "PodDisruptionBudget/toy-api",
        "Service/toy-api",
    ]
    assert rendered["Service/toy-api"]["spec"]["ports"] == [{"name": "t-api", "port": 9999, "nodePort": 30999}]
    api, worker = container(rendered["Deployment/toy-api"]), container(rendered["Deployment/toy-rpc-worker"])
    assert api["readinessProbe"]["httpGet"] == api["livenessProbe"]["httpGet"] == {"path": "/healthcheck", "port": 9999}
    assert worker["readinessProbe"]["exec"] == {"command": ["test", "-e", "/tmp/alive"]}  # noqa: S108  # a path in the pod
    assert "livenessProbe" not in worker
    assert "readinessProbe" not in container(rendered["StatefulSet/toy-scheduler"])


def test_uwsgi_serves_the_port_of_the_endpoint_and_ends_when_its_application_does_not_load(
    rendered: dict[str, Any],
) -> None:
    assert container(rendered["Deployment/toy-api"])["command"] == ["uwsgi", "--ini", "/etc/toy/toy-api-uwsgi.ini"]
    options = section(rendered, "uwsgi", file="toy-api-uwsgi.ini")
    assert options["http-socket"] == "0.0.0.0:9999"
    assert (options["need-app"], options["processes"]) == ("true", "2")


def test_what_the_values_switch_off_is_not_made(toy: Toy) -> None:
    rendered = toy(
        manifests__deployment_rpc_worker="false",
        manifests__statefulset_engine="false",
        manifests__pdb_api="false",
        manifests__service_api="false",
        manifests__job_ks_user="false",
        manifests__job_db_init="false",
    )
    kinds = {key for key in rendered if key.startswith(("Deployment/", "StatefulSet/", "Service/", "PodDis", "Job/"))}
    assert {key.rpartition("-")[0] if key.startswith("Job/") else key for key in kinds} == {
        "Deployment/toy-api", "Job/toy-db", "Job/toy-db-sync", "Job/toy-rabbit-init",
    }  # fmt: skip

"""The built-in charts render for every example site, the same twice, and look like the real ones where both speak."""

from __future__ import annotations

import base64
import configparser
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import merge

from .conftest import BUILT_IN, CHARTS, Render, chart_values, name_of, objects
from .test_values import violations

# What the real charts read without a default: helm-toolkit's own, names of components, sections of logging.
UNWRITTEN = re.compile(
    r"release_group|endpoints\.\w+\.namespace|pod\.affinity\.anti\.\w+\.\w+|conf\.logging\.\w+\.\w+|conf\.ks_domains"
)
# Files of the real charts that others read too: the roles of hypervisors. All others only their own scripts read.
FILES_FOR_OTHERS = {"Secret/nova-etc": {"nova-compute.conf"}, "Secret/neutron-etc": {"ovn_agent.ini"}}


def pods(items: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return every pod template with the name of its owner."""
    found = []
    for item in items:
        spec = item.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            found.append((name_of(item), spec["template"]["spec"]))
    return found


def test_two_renders_are_identical(plan: Plan, render: Render) -> None:
    for release in plan.openstack.releases:
        assert render(release, CHARTS / release.chart) == render(release, CHARTS / release.chart), release.name


@pytest.mark.parametrize("chart", BUILT_IN)
def test_every_key_a_chart_reads_is_one_of_the_real_chart(chart: str, keys: Any) -> None:
    own = yaml.safe_load((CHARTS / chart / "values.yaml").read_text())
    unknown = {fault.split()[0] for fault in violations(own, keys[chart])}
    assert {path for path in unknown if not UNWRITTEN.fullmatch(path)} == set()


@pytest.mark.parametrize("chart", BUILT_IN)
def test_charts_pass_helms_own_lint(chart: str, helm: Path) -> None:
    done = subprocess.run([helm, "lint", CHARTS / chart], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_objects_others_rely_on_are_there_under_the_real_names(rendered: dict[str, Any], facts: Any) -> None:
    for release, items in rendered.items():
        real = {f"{fact['kind']}/{fact['name']}" for fact in facts[release]["objects"]}
        wanted = set(facts[release]["relied_on"])
        assert wanted <= real, "relied_on speaks of objects the real chart does not have"
        assert wanted <= {name_of(item) for item in items}


def test_objects_both_have_agree_in_labels_ports_and_keys(rendered: dict[str, Any], facts: Any) -> None:
    for release, items in rendered.items():
        mine = {name_of(item): item for item in items}
        for fact in facts[release]["objects"]:
            item = mine.get(name := f"{fact['kind']}/{fact['name']}")
            if item is None:
                continue
            labels = item["metadata"].get("labels", {})
            assert fact.get("labels", {}).items() <= labels.items(), name
            if "ports" in fact:
                ports = item["spec"]["ports"]
                assert [[port["name"], port["port"]] for port in ports] == fact["ports"], name
                assert (item["spec"].get("clusterIP") == "None") == fact["headless"], name
            if "keys" in fact and fact["kind"] != "ConfigMap":
                files = FILES_FOR_OTHERS.get(name, set()) if name.endswith("-etc") else set(fact["keys"])
                assert files <= set(item.get("data", {})), name


def test_every_pod_runs_without_root_on_a_read_only_file_system(rendered: dict[str, Any]) -> None:
    """Only the container that gives a fresh volume its owner is root, and has that one capability."""
    for items in rendered.values():
        for owner, pod in pods(items):
            assert pod["securityContext"]["runAsNonRoot"] is True, owner
            for container in [*pod.get("initContainers", []), *pod["containers"]]:
                security = container["securityContext"]
                assert security["readOnlyRootFilesystem"] is True, (owner, container["name"])
                assert security["capabilities"]["drop"] == ["ALL"], (owner, container["name"])
                if security.get("runAsUser") == 0:
                    assert security["capabilities"]["add"] == ["CHOWN"], (owner, container["name"])


def test_a_port_below_1024_is_open_to_a_pod_that_is_not_root(rendered: dict[str, Any]) -> None:
    for items in rendered.values():
        for owner, pod in pods(items):
            ports = [port["containerPort"] for one in pod["containers"] for port in one.get("ports", ())]
            wanted = {"name": "net.ipv4.ip_unprivileged_port_start"}
            opened = [{**wanted, "value": str(port)} for port in ports if port < 1024]
            assert pod["securityContext"].get("sysctls", []) == opened, owner


def test_every_pod_runs_on_nodes_of_the_control_plane(rendered: dict[str, Any]) -> None:
    for items in rendered.values():
        for owner, pod in pods(items):
            assert pod["nodeSelector"] == {"openstack-control-plane": "enabled"}, owner


def test_who_names_the_writer_leaves_a_node_that_is_gone_at_once(rendered: dict[str, Any]) -> None:
    controller = dict(pods(rendered["mariadb"])).get("Deployment/mariadb-controller")
    replicas = next(i["spec"]["replicas"] for i in rendered["mariadb"] if i["kind"] == "StatefulSet")
    assert (controller is not None) == (replicas > 1)
    away = {entry["key"]: entry["tolerationSeconds"] for entry in (controller or {}).get("tolerations", [])}
    wanted = {"node.kubernetes.io/not-ready": 10, "node.kubernetes.io/unreachable": 10}
    assert away == (wanted if controller else {})


def test_rabbitmqs_new_members_wait_for_the_firsts_erlang_not_for_its_queues(rendered: dict[str, Any]) -> None:
    """The first opens its queues only when it has met another member: waiting for those would be waiting for ever."""
    container = dict(pods(rendered["rabbitmq"]))["StatefulSet/rabbitmq-rabbitmq"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    first = next(entry["value"] for entry in container["env"] if entry["name"] == "FIRST_MEMBER")
    assert first == f"rabbitmq-rabbitmq-0.rabbitmq.openstack.svc.cluster.local:{ports['clustering']}"


def test_probes_ask_the_api_itself(rendered: dict[str, Any]) -> None:
    container = dict(pods(rendered["keystone"]))["Deployment/keystone-api"]["containers"][0]
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/v3", "port": 5000}


def test_the_catalog_is_told_the_public_name_and_the_inner_one(plan: Plan, rendered: dict[str, Any]) -> None:
    job = dict(pods(rendered["keystone"]))["Job/keystone-db-sync"]
    env = {variable["name"]: variable.get("value") for variable in job["containers"][0]["env"]}
    assert env["OS_BOOTSTRAP_PUBLIC_URL"] == next(end.url for end in plan.edge.endpoints if end.service == "keystone")
    inner = f"http://keystone-api.{plan.openstack.namespace}.svc.{plan.kubernetes.dns_domain}:5000/v3"
    assert env["OS_BOOTSTRAP_INTERNAL_URL"] == env["OS_BOOTSTRAP_ADMIN_URL"] == inner


def test_keystones_configuration_names_its_database_and_its_cache(plan: Plan, rendered: dict[str, Any]) -> None:
    secret = next(item for item in rendered["keystone"] if name_of(item) == "Secret/keystone-etc")
    text = base64.b64decode(secret["data"]["keystone.conf"]).decode()
    suffix = f"{plan.openstack.namespace}.svc.{plan.kubernetes.dns_domain}"
    assert f"connection = mysql+pymysql://keystone:secretkeystonedb@mariadb.{suffix}:3306/keystone\n" in text
    assert f"memcache_servers = memcached.{suffix}:11211\n" in text


def test_a_node_port_leads_from_the_edge_to_the_api(plan: Plan, rendered: dict[str, Any]) -> None:
    service = next(item for item in rendered["keystone"] if name_of(item) == "Service/keystone-api")
    endpoint = next(end for end in plan.edge.endpoints if end.service == "keystone")
    assert service["spec"]["ports"][0]["nodePort"] == endpoint.node_port
    assert service["spec"]["type"] == "NodePort"


def test_pods_that_wait_say_so_in_the_variables_of_the_real_charts(rendered: dict[str, Any]) -> None:
    pod = dict(pods(rendered["keystone"]))["Deployment/keystone-api"]
    init = pod["initContainers"][0]
    env = {variable["name"]: variable.get("value") for variable in init["env"]}
    assert init["command"] == ["kubernetes-entrypoint"]
    assert env["DEPENDENCY_SERVICE"] == "openstack:memcached,openstack:mariadb"
    assert env["DEPENDENCY_JOBS"] == "keystone-db-sync,keystone-credential-setup,keystone-fernet-setup"


def test_jobs_are_made_anew_by_an_upgrade(rendered: dict[str, Any]) -> None:
    """A Job cannot be changed: it is a hook, or has another name when it does something else."""
    jobs = [item for items in rendered.values() for item in items if item["kind"] == "Job"]
    assert jobs
    for job in jobs:
        notes = job["metadata"].get("annotations")
        if notes is None:
            assert re.search(r"-[0-9a-f]{8}$", job["metadata"]["name"])
        else:
            assert notes["helm.sh/hook"] == "post-install,post-upgrade"
            assert notes["helm.sh/hook-delete-policy"] == "before-hook-creation"


def test_an_upgrade_never_touches_the_key_repositories(rendered: dict[str, Any]) -> None:
    for item in rendered["keystone"]:
        if name_of(item) in ("Secret/keystone-fernet-keys", "Secret/keystone-credential-keys"):
            assert item["metadata"]["annotations"]["helm.sh/hook"] == "pre-install"
            assert item["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
            assert "before-hook-creation" not in item["metadata"]["annotations"]["helm.sh/hook-delete-policy"]


def test_a_majority_stays_during_maintenance(plan: Plan, rendered: dict[str, Any]) -> None:
    for release in ("mariadb", "rabbitmq"):
        members = next(item for item in rendered[release] if item["kind"] == "StatefulSet")["spec"]["replicas"]
        budget = next(item for item in rendered[release] if item["kind"] == "PodDisruptionBudget")["spec"][
            "minAvailable"
        ]
        assert budget == (members // 2 + 1 if members > 1 else 0), (plan.site, release)


def configuration(items: list[dict[str, Any]], release: str, file: str) -> configparser.RawConfigParser:
    secret = next(item for item in items if name_of(item) == f"Secret/{release}-etc")
    config = configparser.RawConfigParser(default_section="none")
    config.read_string(base64.b64decode(secret["data"][file]).decode())
    return config


def test_another_pipeline_of_nova_is_what_its_apis_load(plan: Plan, render: Render) -> None:
    release = next(one for one in plan.openstack.releases if one.name == "nova")
    wanted = merge(dict(release.values), {"conf": {"nova": {"wsgi": {"api_paste_config": "/etc/nova/own.ini"}}}})
    text = render(replace(release, values=wanted), CHARTS / "nova")
    specs = dict(pods(objects(text)))
    for name in ("nova-api-osapi", "nova-api-metadata"):
        env = {one["name"]: one.get("value") for one in specs[f"Deployment/{name}"]["containers"][0]["env"]}
        assert env["OS_NOVA_CONFIG_FILES"] == "/etc/nova/own.ini;nova.conf"


def test_nova_has_three_schemas_and_hypervisors_a_way_to_none(plan: Plan, rendered: dict[str, Any]) -> None:
    server = f"mariadb.{plan.openstack.namespace}.svc.{plan.kubernetes.dns_domain}:3306"
    nova, compute = (configuration(rendered["nova"], "nova", file) for file in ("nova.conf", "nova-compute.conf"))
    assert nova["api_database"]["connection"] == f"mysql+pymysql://nova:secretnovadb@{server}/nova_api"
    assert nova["database"]["connection"] == f"mysql+pymysql://nova:secretnovadb@{server}/nova"
    # nova-conductor makes the records: a new hypervisor is closed until an instance answered on it.
    assert not nova["DEFAULT"].getboolean("enable_new_services")
    job = dict(pods(rendered["nova"]))["Job/nova-db-init"]["containers"][0]
    made = {variable["name"] for variable in job["env"]}
    assert {f"SERVICE_oslo_db{which}" for which in ("", "_cell0", "_cell1")} <= made
    assert compute.sections() == [name for name in nova.sections() if name not in ("api_database", "database")]
    assert compute["neutron"]["password"] == "secretnovakeystoneneutron"


def test_each_service_calls_others_with_an_account_of_its_own_that_its_job_makes(rendered: dict[str, Any]) -> None:
    for release, sections in {
        "cinder": ("nova", "service_user"),
        "nova": ("cinder", "neutron", "placement", "service_user"),
        "neutron": ("nova", "placement"),
    }.items():
        config = configuration(rendered[release], release, f"{release}.conf")
        secret = next(item for item in rendered[release] if name_of(item) == f"Secret/{release}-etc")
        wanted = json.loads(base64.b64decode(secret["data"]["identity.json"]))
        made = {user["name"]: user for user in wanted["users"]}
        for section in (*sections, "keystone_authtoken"):
            user = made[config[section]["username"]]
            assert user["password"] == config[section]["password"]
            assert user["roles"] == ["admin", "service"]
        assert len(made) == len(sections) + 1


def test_identity_is_made_beside_the_migration_and_apis_wait_for_both(rendered: dict[str, Any]) -> None:
    apis = {name: f"{name}-api" for name in ("cinder", "glance", "placement")}
    apis |= {"neutron": "neutron-server", "nova": "nova-api-osapi"}
    for release, api in apis.items():
        (job,) = [item for item in rendered[release] if name_of(item).startswith(f"Job/{release}-identity-")]
        assert "annotations" not in job["metadata"], "a hook would wait for the migration"
        env = dict(pods(rendered[release]))[f"Deployment/{api}"]["initContainers"][0]["env"]
        waits = next(variable["value"] for variable in env if variable["name"] == "DEPENDENCY_JOBS").split(",")
        assert {f"{release}-db-sync", job["metadata"]["name"]} <= set(waits)


def test_neutron_is_told_the_tunnels_mtu_and_every_member_of_ovns_databases(
    plan: Plan, rendered: dict[str, Any]
) -> None:
    ml2 = configuration(rendered["neutron"], "neutron", "ml2_conf.ini")
    header = int(ml2["ml2_type_geneve"]["max_header_size"]) + 20
    assert int(ml2["ml2"]["path_mtu"]) - header == plan.ovn.tenant_mtu
    control = {host.address for host in plan.hosts.values() if "control" in host.roles}
    for key, port in {"ovn_nb_connection": 6641, "ovn_sb_connection": 16642}.items():
        assert set(ml2["ovn"][key].split(",")) == {f"ssl:{address}:{port}" for address in control}
    server = dict(pods(rendered["neutron"]))["Deployment/neutron-server"]
    (volume,) = [one for one in server["volumes"] if one["name"] == "ovn-tls"]
    (mount,) = [one for one in server["containers"][0]["volumeMounts"] if one["name"] == "ovn-tls"]
    assert volume["secret"]["secretName"] == "neutron-ovn-tls"
    assert ml2["ovn"]["ovn_nb_private_key"] == f"{mount['mountPath']}/tls.key"


def test_neutrons_workers_run_once_and_read_what_the_server_reads(rendered: dict[str, Any]) -> None:
    for name in ("ovn-maintenance-worker", "periodic-workers"):
        worker = next(item for item in rendered["neutron"] if name_of(item) == f"Deployment/neutron-{name}")
        assert (worker["spec"]["replicas"], worker["spec"]["strategy"]) == (1, {"type": "Recreate"})
        (container,) = worker["spec"]["template"]["spec"]["containers"]
        assert container["command"][0] == f"neutron-{name}"
        mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
        files = [word for word in container["command"] if word.startswith("/etc/")]
        assert set(files) <= mounted


def test_metadata_and_console_have_public_names_and_no_entry_in_the_catalog(
    plan: Plan, rendered: dict[str, Any]
) -> None:
    config = configuration(rendered["nova"], "nova", "nova.conf")
    assert config["vnc"]["novncproxy_base_url"] == f"https://console.{plan.domain}/vnc_lite.html"
    agent = configuration(rendered["neutron"], "neutron", "ovn_agent.ini")["DEFAULT"]
    assert (agent["nova_metadata_host"], agent["nova_metadata_protocol"]) == (f"metadata.{plan.domain}", "https")
    assert agent["metadata_proxy_shared_secret"] == config["neutron"]["metadata_proxy_shared_secret"]
    by_name = {route.name.partition(".")[0]: route for route in plan.edge.endpoints}
    assert [by_name[name].in_catalog for name in ("compute", "metadata", "console")] == [True, False, False]
    ports = {item["spec"]["ports"][0]["nodePort"] for item in rendered["nova"] if item["kind"] == "Service"}
    assert ports == {by_name[name].node_port for name in ("compute", "metadata", "console")}


def test_without_ceph_images_are_on_a_volume_that_outlives_the_release(plan: Plan, rendered: dict[str, Any]) -> None:
    if plan.ceph:
        assert not [item for item in rendered["glance"] if item["kind"] == "PersistentVolumeClaim"]
        return
    claim = next(item for item in rendered["glance"] if item["kind"] == "PersistentVolumeClaim")
    assert claim["spec"]["storageClassName"] == plan.kubernetes.storage_class
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    api = next(item for item in rendered["glance"] if name_of(item) == "Deployment/glance-api")
    assert api["spec"]["replicas"] == 1, "the volume is on one host"
    store = configuration(rendered["glance"], "glance", "glance-api.conf")["file"]["filesystem_store_datadir"]
    (perms,) = [one for one in api["spec"]["template"]["spec"]["initContainers"] if one["name"] == "glance-api-perms"]
    assert perms["command"] == ["chown", "42424:42424", store]


def test_values_files_are_yaml_with_every_manifest_switch_a_boolean() -> None:
    for chart in BUILT_IN:
        assert all(isinstance(value, bool) for value in chart_values(chart)["manifests"].values()), chart

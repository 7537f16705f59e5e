"""What our charts say of single services: pipelines, schemas, accounts, names, volumes."""

from __future__ import annotations

import base64
import configparser
import json
from dataclasses import replace
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore.workloads import ACCOUNTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import merge, public_endpoint

from .conftest import CHARTS, Render, name_of, objects
from .test_builtin_charts import job_of, pods


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
    job = job_of(rendered["nova"], "nova-db-init")["containers"][0]
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
            # Nova looks up other projects' servers for its administrators alone.
            assert user["roles"] == (["admin", "service"] if section == "nova" else ["service"])
        backups = {"cinder_swift"} & set(made)  # the account that puts backups into the object store
        assert len(made) == len(sections) + 1 + len(backups)


def test_identity_is_made_beside_the_migration_and_apis_wait_for_both(rendered: dict[str, Any]) -> None:
    apis = {name: f"{name}-api" for name in ("cinder", "glance", "placement")}
    apis |= {"neutron": "neutron-server", "nova": "nova-api-osapi"}
    for release, api in apis.items():
        names = [name_of(item).removeprefix("Job/") for item in rendered[release] if item["kind"] == "Job"]
        made = {name for name in names if name.startswith((f"{release}-identity-", f"{release}-db-sync-"))}
        assert len(made) == 2
        env = dict(pods(rendered[release]))[f"Deployment/{api}"]["initContainers"][0]["env"]
        waits = next(variable["value"] for variable in env if variable["name"] == "DEPENDENCY_JOBS").split(",")
        assert made <= set(waits)


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
    assert dict(ml2["ovs"]) == {"igmp_snooping_enable": "true", "igmp_flood_unregistered": "true"}


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


def test_each_service_is_in_the_catalog_by_its_official_type_and_by_the_one_before(
    plan: Plan, rendered: dict[str, Any]
) -> None:
    older = {name: api for name in rendered for api in RECORDS[name].apis if api.official}
    assert "cinder" in older
    for name, api in older.items():
        secret = next(item for item in rendered[name] if name_of(item) == f"Secret/{name}-etc")
        services = json.loads(base64.b64decode(secret["data"]["identity.json"]))["services"]
        urls = {one["type"]: one["endpoints"] for one in services}
        assert urls[api.official] == urls[api.type]
        assert urls[api.type]["public"] == public_endpoint(plan, name, api.type).url


def test_every_service_with_rules_enforces_scope_and_the_default_roles(rendered: dict[str, Any]) -> None:
    files = {
        name: [item for item in items if name_of(item) == f"Secret/{name}-etc" and "policy.yaml" in item["data"]]
        for name, items in rendered.items()
    }
    judged = {name for name, found in files.items() if found}
    assert judged >= {"keystone", "nova", "neutron", "glance", "cinder", "placement", "heat"}
    # Horizon asks the services, Ceph's gateways are no service of OpenStack: all others have rules.
    assert {name for name in rendered if RECORDS[name].kind == "service"} - judged <= {"horizon", "ceph-rgw"}
    for name in judged - {"horizon", "ceph-rgw"}:
        options = configuration(rendered[name], name, "glance-api.conf" if name == "glance" else f"{name}.conf")
        assert options["oslo_policy"]["enforce_scope"] == options["oslo_policy"]["enforce_new_defaults"] == "true", name
        assert options["oslo_policy"]["policy_file"] == f"/etc/{name}/policy.yaml"


def test_a_restore_knows_the_jobs_that_make_keystones_administrator_and_users(rendered: dict[str, Any]) -> None:
    """They are told by their names: of jobs that are no hook, as the next change of the release runs hooks again."""
    jobs = {
        item["metadata"]["name"]: json.dumps(item["spec"])
        for items in rendered.values() for item in items
        if item["kind"] == "Job" and "helm.sh/hook" not in (item["metadata"].get("annotations") or {})
    }  # fmt: skip
    making = {name for name, spec in jobs.items() if "OS_BOOTSTRAP_PASSWORD" in spec or "identity.py" in spec}
    assert len(making) > 5
    assert {name for name in jobs if ACCOUNTS.fullmatch(name)} == making

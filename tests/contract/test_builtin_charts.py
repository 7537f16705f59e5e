"""The built-in charts render for every example site, the same twice, and look like the real ones where both speak."""

from __future__ import annotations

import base64
import configparser
import contextlib
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.timeouts import TIMEOUTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import password

from .conftest import BUILT_IN, CHARTS, Render, chart_values, name_of
from .test_values import violations

# What the real charts read without a default: helm-toolkit's own, names of components, sections of logging.
UNWRITTEN = re.compile(
    r"release_group|endpoints\.\w+\.namespace|pod\.affinity\.anti\.\w+\.\w+|conf\.logging\.\w+\.\w+|conf\.ks_domains"
)
# Files of the real charts that others read too: the roles of hypervisors. All others only their own scripts read.
FILES_FOR_OTHERS = {"Secret/nova-etc": {"nova-compute.conf"}, "Secret/neutron-etc": {"ovn_agent.ini"}}


def templates(items: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return every pod template with the name of its owner."""
    found = []
    for item in items:
        spec = item.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            found.append((name_of(item), spec["template"]))
    return found


def pods(items: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return the spec of every pod template with the name of its owner."""
    return [(owner, template["spec"]) for owner, template in templates(items)]


def job_of(items: list[dict[str, Any]], purpose: str) -> dict[str, Any]:
    """Return the pod of the job for that purpose, whose name ends in a digest."""
    return next(pod for owner, pod in pods(items) if re.fullmatch(rf"Job/{purpose}-[0-9a-f]{{8}}", owner))


def test_two_renders_are_identical(plan: Plan, render: Render, texts: dict[str, str]) -> None:
    for release in plan.openstack.releases:
        assert render(release, CHARTS / release.chart) == texts[release.name], release.name


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
        assert wanted <= {re.sub(r"^(Job/.*)-[0-9a-f]{8}$", r"\1", name_of(item)) for item in items}


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
    job = job_of(rendered["keystone"], "keystone-db-sync")
    env = {variable["name"]: variable.get("value") for variable in job["containers"][0]["env"]}
    assert env["OS_BOOTSTRAP_PUBLIC_URL"] == next(end.url for end in plan.edge.endpoints if end.service == "keystone")
    inner = f"http://keystone-api.{plan.openstack.namespace}.svc.{plan.kubernetes.dns_domain}:5000/v3"
    assert env["OS_BOOTSTRAP_INTERNAL_URL"] == env["OS_BOOTSTRAP_ADMIN_URL"] == inner


def test_keystones_configuration_names_its_database(plan: Plan, rendered: dict[str, Any]) -> None:
    secret = next(item for item in rendered["keystone"] if name_of(item) == "Secret/keystone-etc")
    text = base64.b64decode(secret["data"]["keystone.conf"]).decode()
    suffix = f"{plan.openstack.namespace}.svc.{plan.kubernetes.dns_domain}"
    assert f"connection = mysql+pymysql://keystone:secretkeystonedb@mariadb.{suffix}:3306/keystone\n" in text


def test_no_service_reads_what_another_pod_may_write_into_a_cache_or_waits_for_keystone_without_end(
    rendered: dict[str, Any],
) -> None:
    """Client libraries of Memcached unpickle what they are given, before they verify it."""
    own_memory, seen = {"dogpile.cache.null", "dogpile.cache.memory", "oslo_cache.dict"}, set()
    secrets = [item for items in rendered.values() for item in items if item["kind"] == "Secret"]
    files = [file for secret in secrets for file in secret.get("data", {}).items()]
    for name, text in files:
        config = configparser.RawConfigParser(strict=False, default_section="")
        with contextlib.suppress(configparser.Error):  # of another format
            config.read_string(base64.b64decode(text).decode())
        for section in config.sections():
            options = dict(config.items(section))
            servers = [options[option] for option in ("memcached_servers", "memcache_servers") if option in options]
            seen |= {section} if servers else set()
            assert not any(servers), f"{name}: [{section}]"
            if section == "keystone_authtoken":
                waits = options.get("http_connect_timeout"), options.get("http_request_max_retries")
                assert waits == (str(TIMEOUTS.identity), "1"), name
            if section == "cache" and options.get("enabled") == "true":
                seen.add(section)
                assert options.get("backend") in own_memory, name
    assert seen == {"cache", "keystone_authtoken"}


def test_a_node_port_leads_from_the_edge_to_the_api(plan: Plan, rendered: dict[str, Any]) -> None:
    service = next(item for item in rendered["keystone"] if name_of(item) == "Service/keystone-api")
    endpoint = next(end for end in plan.edge.endpoints if end.service == "keystone")
    assert service["spec"]["ports"][0]["nodePort"] == endpoint.node_port
    assert service["spec"]["type"] == "NodePort"
    assert service["spec"]["trafficDistribution"] == "PreferSameNode", "or a third of the requests go to a dead host"


def test_pods_that_wait_say_so_in_the_variables_of_the_real_charts(rendered: dict[str, Any]) -> None:
    pod = dict(pods(rendered["keystone"]))["Deployment/keystone-api"]
    init = pod["initContainers"][0]
    env = {variable["name"]: variable.get("value") for variable in init["env"]}
    assert init["command"] == ["kubernetes-entrypoint"]
    assert env["DEPENDENCY_SERVICE"] == "openstack:mariadb"
    sync = next(name_of(item) for item in rendered["keystone"] if name_of(item).startswith("Job/keystone-db-sync-"))
    assert env["DEPENDENCY_JOBS"] == f"{sync.removeprefix('Job/')},keystone-credential-setup,keystone-fernet-setup"


def test_every_job_that_a_pod_waits_for_is_there(rendered: dict[str, Any]) -> None:
    """A pod that waits for a name that no job has waits for ever."""
    for items in rendered.values():
        jobs = {item["metadata"]["name"] for item in items if item["kind"] == "Job"}
        for name, pod in pods(items):
            for init in pod.get("initContainers", ()):
                env = {one["name"]: one.get("value") for one in init.get("env", ())}
                waits = filter(None, (env.get("DEPENDENCY_JOBS") or "").split(","))
                assert set(waits) <= jobs, name


def test_only_what_asks_the_kubernetes_api_has_a_token_for_it(rendered: dict[str, Any]) -> None:
    """Of an account that may do more than wait, every container; else the init container, which ends."""
    for items in rendered.values():
        more = {item["metadata"]["name"] for item in items if item["kind"] == "Role"}
        for name, pod in pods(items):
            if pod.get("serviceAccountName", "default") in more:
                assert pod.get("automountServiceAccountToken") is not False, name
                continue
            assert pod.get("automountServiceAccountToken") is False, name
            volumes = [one["name"] for one in pod.get("volumes", ()) if "serviceAccountToken" in str(one)]
            inits = [one for one in pod.get("initContainers", ()) if one["name"] == "init"]
            assert volumes == ["wait-access" for _ in inits], name
            holders = {
                one["name"]
                for one in (*pod.get("initContainers", ()), *pod["containers"])
                for mount in one.get("volumeMounts", ())
                if mount["name"] in volumes or mount["mountPath"].startswith("/var/run/secrets")
            }
            assert holders == {one["name"] for one in inits}, name


def test_the_databases_controller_may_change_the_databases_pods_alone(rendered: dict[str, Any]) -> None:
    named = {name_of(item): item for item in rendered["mariadb"]}
    if "Role/mariadb-controller" not in named:
        return  # one member, which is always the writer
    members = named["StatefulSet/mariadb-server"]["spec"]["replicas"]
    rules = [rule for rule in named["Role/mariadb-controller"]["rules"] if rule["resources"] == ["pods"]]
    changing = [rule["resourceNames"] for rule in rules if {"patch", "update", "delete"} & set(rule["verbs"])]
    assert changing == [[f"mariadb-server-{number}" for number in range(members)]]


def test_short_passwords_are_refused_and_ours_are_not(rendered: dict[str, Any]) -> None:
    (secret,) = [item for item in rendered["keystone"] if name_of(item) == "Secret/keystone-etc"]
    config = configparser.RawConfigParser(default_section="none")
    config.read_string(base64.b64decode(secret["data"]["keystone.conf"]).decode())
    rule = config["security_compliance"]["password_regex"]
    assert re.match(rule, password())  # those of the secrets store
    assert re.match(rule, "twelve chars")
    assert not re.match(rule, "eleven char")
    assert config["security_compliance"]["lockout_failure_attempts"] == "5"


def test_jobs_are_made_anew_by_an_upgrade(rendered: dict[str, Any]) -> None:
    """A Job cannot be changed: it is a hook, or has another name when it does something else."""
    jobs = [item for items in rendered.values() for item in items if item["kind"] == "Job"]
    assert jobs
    for job in jobs:
        notes = job["metadata"].get("annotations")
        if notes is None:
            assert re.search(r"-[0-9a-f]{8}$", job["metadata"]["name"])
        else:
            contracts = job["metadata"]["labels"]["component"] == "db-contract"  # never on a fresh install
            assert notes["helm.sh/hook"] == ("post-upgrade" if contracts else "post-install,post-upgrade")
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


def test_values_files_are_yaml_with_every_manifest_switch_a_boolean() -> None:
    for chart in BUILT_IN:
        assert all(isinstance(value, bool) for value in chart_values(chart)["manifests"].values()), chart

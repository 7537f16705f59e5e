"""OpenStack-Helm's own charts, unmodified, take our values. Skipped with the reason when there are none here."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor import configuration, ini
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS

from .conftest import Render, chart_in, name_of, objects

Items = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="session")
def items(plan: Plan, render: Render, real_charts: Path) -> Items:
    """What the real charts make of the site's releases, by release."""
    return {
        release.name: objects(render(release, chart_in(real_charts, release.chart)))
        for release in plan.openstack.releases
    }


def test_every_release_renders_with_the_real_chart(items: Items) -> None:
    for name, made in items.items():
        # Of the object store the cluster has only what tells Keystone of it.
        wanted = {"Job"} if any(api.role for api in RECORDS[name].apis) else {"StatefulSet", "Deployment"}
        assert {item["kind"] for item in made} & wanted, name


def test_no_object_is_made_twice(items: Items) -> None:
    for name, found in items.items():
        made = [(item["kind"], item["metadata"]["name"]) for item in found]
        assert [each for each in made if made.count(each) > 1] == [], name


def test_the_edge_asks_no_api_for_a_path_that_its_pipeline_lacks(items: Items) -> None:
    for name, made in items.items():
        if any(api.health == "/healthcheck" for api in RECORDS[name].apis):
            files = [base64.b64decode(data) for item in made for data in (item.get("data") or {}).values()
                     if item["kind"] == "Secret" and item["metadata"]["name"] == f"{name}-etc"]  # fmt: skip
            assert any(b"healthcheck" in data for data in files), name


def test_two_renders_of_the_real_charts_are_identical(
    plan: Plan, items: Items, render: Render, real_charts: Path
) -> None:
    for release in plan.openstack.releases:
        assert objects(render(release, chart_in(real_charts, release.chart))) == items[release.name], release.name


def test_every_image_of_the_real_charts_comes_from_the_sites_registry(plan: Plan, items: Items) -> None:
    def images(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["image"]] if isinstance(value.get("image"), str) else []
            return own + [image for item in value.values() for image in images(item)]
        return [image for item in value for image in images(item)] if isinstance(value, list) else []

    for name, made in items.items():
        found = images(made)
        assert found
        assert {image for image in found if not image.startswith(plan.supply.registry + "/")} == set(), name


def test_the_real_charts_register_the_public_url_of_the_plan(plan: Plan, items: Items) -> None:
    listed = [end.service for end in plan.edge.endpoints if end.in_catalog]
    for service in sorted(set(listed)):
        url = next(endpoint.url for endpoint in plan.edge.endpoints if endpoint.service == service)
        assert url in registered_urls(items[service]), service


def test_the_real_charts_services_are_in_the_catalog_by_their_official_types_too(plan: Plan, items: Items) -> None:
    older = {name: api for name in items for api in RECORDS[name].apis if api.official}
    assert "cinder" in older
    for name, api in older.items():
        files = next(one for one in items[name] if "identity.json" in (one.get("data") or {}))
        wanted = json.loads(files["data"]["identity.json"])
        (entry,) = wanted["services"]
        assert (entry["type"], wanted["users"], wanted["region"]) == (api.official, [], plan.openstack.region)
        public = next(end.url for end in plan.edge.endpoints if (end.service, end.type) == (name, api.type))
        assert set(entry["endpoints"]) == {"public", "internal", "admin"}
        assert entry["endpoints"]["public"] == public
        assert set(entry["endpoints"].values()) <= registered_urls(items[name])
        compile(files["data"]["identity.py"], "identity.py", "exec")
        job = next(one for one in items[name] if one["kind"] == "Job" and "official-type" in one["metadata"]["name"])
        assert job["metadata"]["name"] == files["metadata"]["name"]
        admin = job["spec"]["template"]["spec"]["containers"][0]["envFrom"][0]["secretRef"]["name"]
        assert "OS_PASSWORD" in secret(items[name], admin)["data"]


def registered_urls(made: list[dict[str, Any]]) -> set[Any]:
    """Return the URLs, and other values, that the chart's own jobs are given."""
    jobs = [item["spec"]["template"]["spec"] for item in made if item["kind"] == "Job"]
    pods = [each for job in jobs for each in (*(job.get("initContainers") or ()), *job["containers"])]
    return {entry.get("value") for each in pods for entry in each.get("env") or ()}


def secret(items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the Secret ``name`` among ``items``."""
    return next(item for item in items if (item["kind"], item["metadata"]["name"]) == ("Secret", name))


def unreadable(item: dict[str, Any]) -> Iterator[str]:
    """Yield the Secrets in a workload's volumes that its user, who is in no group of theirs, cannot read."""
    pod = item.get("spec", {}).get("template", {}).get("spec", {})
    user = pod.get("securityContext") or {}
    for volume in pod.get("volumes") or ():
        mode = volume.get("secret", {}).get("defaultMode", 0o644)
        if user.get("runAsUser") and "fsGroup" not in user and not mode & 0o004:
            yield f"{item['kind']}/{item['metadata']['name']}: {volume['name']}"


def test_a_pods_user_can_read_what_it_mounts(items: Items) -> None:
    assert [fault for made in items.values() for item in made for fault in unreadable(item)] == []


def test_nothing_of_a_hypervisor_runs_in_the_cluster(items: Items) -> None:
    assert not [item["metadata"]["name"] for made in items.values() for item in made if item["kind"] == "DaemonSet"]


def test_each_of_novas_schemas_is_called_the_same_with_every_chart(items: Items) -> None:
    text = base64.b64decode(secret(items["nova"], "nova-etc")["data"]["nova.conf"]).decode()
    urls = [ini.value(text, section, "connection") or "" for section in ("database", "api_database")]
    assert [url.rpartition("/")[2] for url in urls] == ["nova", "nova_api"]
    assert all(":secretnovadb@" in url for url in urls)


def test_hypervisors_find_their_configuration(plan: Plan, items: Items) -> None:
    nova = secret(items["nova"], configuration.NOVA_SECRET)
    text = configuration.secret_file(nova, configuration.NOVA_FILES, where="")
    assert "secretnovadb" not in configuration.for_hosts(text)
    assert ini.value(text, "DEFAULT", "transport_url")
    neutron = secret(items["neutron"], configuration.NEUTRON_SECRET)
    agent = configuration.secret_file(neutron, configuration.AGENT_FILES, where="")
    assert ini.value(agent, "DEFAULT", "nova_metadata_host") == f"metadata.{plan.domain}"
    assert ini.value(agent, "DEFAULT", "metadata_proxy_shared_secret") == "secretneutronmetadataproxy"


def text_of(items: list[dict[str, Any]], release: str, name: str) -> str:
    """Return a file of a release's configuration."""
    return base64.b64decode(secret(items, f"{release}-etc")["data"][name]).decode()


def test_barbican_encrypts_with_the_sites_key_alone(items: Items) -> None:
    text = text_of(items["barbican"], "barbican", "barbican.conf")
    assert ini.value(text, "simple_crypto_plugin", "kek") == "secretbarbicankek"


def test_octavias_api_has_ovns_driver_and_its_agent_and_no_account_of_the_administrators(
    plan: Plan, items: Items
) -> None:
    text = text_of(items["octavia"], "octavia", "octavia.conf")
    assert ini.value(text, "ovn", "ovn_nb_connection") == ",".join(plan.ovn.northbound)
    assert ini.value(text, "service_auth", "username") == "octavia"
    assert ini.value(text, "service_auth", "password") == "secretoctaviakeystone"
    started = text_of(items["octavia"], "octavia", "octavia-api-uwsgi.ini")
    assert ini.value(started, "uwsgi", "attach-daemon") == "octavia-driver-agent"
    kinds = {name_of(item) for item in items["octavia"] if item["kind"] in ("Deployment", "DaemonSet", "StatefulSet")}
    assert kinds == {"Deployment/octavia-api", "Deployment/octavia-housekeeping"}


@pytest.mark.parametrize("release", ["designate", "magnum", "manila"])
def test_an_api_is_started_by_what_this_release_has(items: Items, release: str) -> None:
    started = text_of(items[release], release, f"{release}-api-uwsgi.ini")
    assert ini.value(started, "uwsgi", "module") == f"{release}.wsgi.api:application"
    assert ini.value(started, "uwsgi", "wsgi-file") is None
    assert "/v1" not in text_of(items["manila"], "manila", "api-paste.ini")


def test_magnum_administers_a_domain_with_a_password_of_the_sites(items: Items) -> None:
    text = text_of(items["magnum"], "magnum", "magnum.conf")
    assert ini.value(text, "trust", "trustee_domain_admin_password") == "secretmagnumtrusteedomainadmin"
    assert ini.value(text, "keystone_auth", "password") == "secretmagnumkeystone"


def test_designates_pool_names_no_server_that_is_not_there(plan: Plan, items: Items) -> None:
    (pool,) = yaml.safe_load(text_of(items["designate"], "designate", "pools.yaml"))
    assert pool["ns_records"] == [{"hostname": f"ns1.{plan.domain}.", "priority": 1}]
    assert (pool["nameservers"], pool["targets"]) == ([], [])

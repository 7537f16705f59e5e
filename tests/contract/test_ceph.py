"""What reaches Ceph, and with what: a key a service, in the places where built-in charts and real ones look for it."""

from __future__ import annotations

import base64
import configparser
from dataclasses import replace
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan, with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.hypervisor.configuration import NOVA_FILES
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import merge, public_endpoint
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import references

from .conftest import CHARTS, SITES, Render, chart_in, objects

# Release, its workload, its client of Ceph, the Secret with the key.
CLIENTS = [
    ("glance", "glance-api", "glance", "images-rbd-keyring"),
    ("cinder", "cinder-volume", "cinder", "cinder-volume-rbd-keyring"),
    ("cinder", "cinder-backup", "cinder-backup", "cinder-backup-rbd-keyring"),
    ("cinder", "cinder-backup", "cinder", "cinder-volume-rbd-keyring"),
]
RELEASES = ("glance", "cinder", "nova")
# ceph.conf and keys are mounted there.
PLACE = "/etc/ceph"


# Somebody else's Ceph, with names of its owner.
EXTERNAL = {
    "backend": "external",
    "pools": {"images": {"name": "cloud-images"}, "backups": {"name": "cloud-backups"}},
    "external": {
        "fsid": "5f1c0a3e-93f4-4b0e-8f0e-0a4d2f1f7c11",
        "monitors": ["10.9.0.1", "10.9.0.2"],
        "clients": {name: f"cloud-{name}" for name in ("glance", "cinder", "cinder-backup", "nova")},
    },
}


@pytest.fixture(scope="module", params=["native", "external"])
def site(request: pytest.FixtureRequest) -> Plan:
    if request.param == "native":
        return site_plan(SITES["cloud"])
    content = yaml.safe_load(SITES["cloud"].read_text())
    del content["machines"]["storage"]
    return with_values(make_plan(build_site({**content, "storage": EXTERNAL})))


@pytest.fixture(scope="module", params=["builtin", "real"])
def rendered(request: pytest.FixtureRequest, site: Plan, render: Render) -> dict[str, list[dict[str, Any]]]:
    """What the built-in charts, and the real ones, make of the releases."""
    releases = [release for release in site.openstack.releases if release.name in RELEASES]
    if request.param == "builtin":
        return {release.name: objects(render(release, CHARTS / release.chart)) for release in releases}
    directory = request.getfixturevalue("real_charts")
    return {release.name: objects(render(release, chart_in(directory, release.chart))) for release in releases}


def one(items: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = [item for item in items if (item["kind"], item["metadata"]["name"]) == (kind, name)]
    return found


def ini(text: str) -> configparser.RawConfigParser:
    config = configparser.RawConfigParser(default_section="none")
    config.read_string(text)
    return config


def etc(items: list[dict[str, Any]], release: str, file: str) -> configparser.RawConfigParser:
    return ini(base64.b64decode(one(items, "Secret", f"{release}-etc")["data"][file]).decode())


@pytest.mark.parametrize("client_of", CLIENTS, ids=lambda one: f"{one[1]}-{one[2]}")
def test_a_service_has_its_own_key_and_the_monitors_where_its_pod_looks(
    site: Plan, rendered: dict[str, Any], client_of: tuple[str, str, str, str]
) -> None:
    assert site.ceph
    service, workload, name, keyring = client_of
    items, client = rendered[service], site.ceph.clients[name]
    conf = ini(one(items, "ConfigMap", f"{service}-ceph-etc")["data"]["ceph.conf"])["global"]
    assert (conf["fsid"], conf["mon_host"]) == (site.ceph.fsid, site.ceph.mon_host)
    held = one(items, "Secret", keyring)["stringData"]
    key = f"secretcephclient.{name}".replace("-", "")
    assert held["key"] == key
    assert ini(held[f"ceph.{client.name}.keyring"])[client.name]["key"] == key
    pod = one(items, "Deployment", workload)["spec"]["template"]["spec"]
    told = str(pod["volumes"])
    assert f"{service}-ceph-etc" in told
    assert keyring in told
    mounts = [mount["mountPath"] for container in pod["containers"] for mount in container["volumeMounts"]]
    assert PLACE in mounts


def test_images_are_put_into_their_pool_and_told_to_cinder(site: Plan, rendered: dict[str, Any]) -> None:
    assert site.ceph
    config = etc(rendered["glance"], "glance", "glance-api.conf")
    backend = config["glance_store"]["default_backend"]
    assert config["DEFAULT"]["enabled_backends"] == f"{backend}:rbd"
    assert config["DEFAULT"].getboolean("show_image_direct_url"), "without it Cinder copies every image"
    store = config[backend]
    assert store["rbd_store_pool"] in site.ceph.clients["glance"].writes
    assert f"client.{store['rbd_store_user']}" == site.ceph.clients["glance"].name


def test_hypervisors_are_told_whose_key_opens_a_volume_and_where_they_have_it(
    site: Plan, rendered: dict[str, Any]
) -> None:
    assert site.ceph
    client = site.ceph.clients["cinder"]
    (name,) = etc(rendered["cinder"], "cinder", "cinder.conf")["DEFAULT"]["enabled_backends"].split(",")
    backend = etc(rendered["cinder"], "cinder", "backends.conf")[name]
    assert backend["rbd_pool"] in client.writes
    assert (f"client.{backend['rbd_user']}", backend["rbd_secret_uuid"]) == (client.name, client.uuid)


def test_backups_are_in_a_pool_that_the_volumes_key_does_not_reach(site: Plan, rendered: dict[str, Any]) -> None:
    assert site.ceph
    config = etc(rendered["cinder"], "cinder", "cinder.conf")["DEFAULT"]
    (client,) = [one for one in site.ceph.clients.values() if one.name == f"client.{config['backup_ceph_user']}"]
    assert config["backup_driver"] == "cinder.backup.drivers.ceph.CephBackupDriver"
    assert config["backup_ceph_pool"] in client.writes
    assert config["backup_ceph_pool"] not in str(site.ceph.clients["cinder"].caps)


def test_disks_of_instances_are_made_with_novas_own_key(site: Plan, rendered: dict[str, Any]) -> None:
    """Hypervisors read the release's configuration; where their disks are they say themselves."""
    assert site.ceph
    client = site.ceph.clients["nova"]
    file = next(name for name in NOVA_FILES if name in one(rendered["nova"], "Secret", "nova-etc")["data"])
    config = etc(rendered["nova"], "nova", file)["libvirt"]
    assert config["images_rbd_pool"] in client.writes
    assert (f"client.{config['rbd_user']}", config["rbd_secret_uuid"]) == (client.name, client.uuid)


def test_no_job_asks_for_the_key_of_cephs_administrator(rendered: dict[str, Any]) -> None:
    jobs = [item["metadata"]["name"] for items in rendered.values() for item in items if item["kind"] == "Job"]
    assert [name for name in jobs if "storage-init" in name or "clean" in name] == []


def test_a_changed_key_starts_the_pods_anew(site: Plan, render: Render) -> None:
    """A file that is mounted by itself, or read once, is never read again."""
    for service, workload, *_ in CLIENTS:
        release = next(release for release in site.openstack.releases if release.name == service)
        before = one(objects(render(release, CHARTS / service)), "Deployment", workload)
        other = merge(release.values, {"extraObjects": {"ceph_keyring": {"stringData": {"key": "another"}}}})
        after = one(objects(render(replace(release, values=other), CHARTS / service)), "Deployment", workload)
        notes = [item["spec"]["template"]["metadata"]["annotations"] for item in (before, after)]
        assert notes[0] != notes[1], service


def test_the_object_store_is_its_entry_in_keystone_alone(plan: Plan, rendered_store: list[dict[str, Any]]) -> None:
    """Gateways are on storage hosts: in the cluster there is nothing of them, and no key."""
    kinds = {item["kind"] for item in rendered_store}
    assert not kinds & {"Deployment", "DaemonSet", "StatefulSet", "Service", "Ingress"}, kinds
    assert "ceph/client.rgw" not in references(release_of(plan, "ceph-rgw").values)
    text = str([item for item in rendered_store if item["kind"] == "Job"]) + "".join(
        base64.b64decode(held).decode() for item in rendered_store if item["kind"] == "Secret"
        for held in (item.get("data") or {}).values()
    )  # fmt: skip
    url = public_endpoint(plan, "ceph-rgw").url
    assert text.count(url) == 3, "public, internal and admin"
    assert "ceph-rgw_swift" in text


def release_of(plan: Plan, name: str) -> ReleasePlan:
    return next(one for one in plan.openstack.releases if one.name == name)


@pytest.fixture(params=["builtin", "real"])
def rendered_store(request: pytest.FixtureRequest, plan: Plan, render: Render) -> list[dict[str, Any]]:
    """What the built-in chart, and the real one, make of the object store."""
    directory = CHARTS / "ceph-rgw"
    if request.param == "real":
        directory = chart_in(request.getfixturevalue("real_charts"), "ceph-rgw")
    return objects(render(release_of(plan, "ceph-rgw"), directory))


@pytest.mark.parametrize("charts", ["builtin", "real"])
def test_backups_in_the_object_store_have_an_account_trust_the_sites_ca_and_have_no_key_of_the_pool(
    charts: str, render: Render, request: pytest.FixtureRequest
) -> None:
    data = yaml.safe_load(SITES["cloud"].read_text())
    data["storage"]["backups"] = "objects"
    data["openstack"]["services"].append("ceph-rgw")
    release = release_of(with_values(make_plan(build_site(data))), "cinder")
    real = charts == "real"
    chart = chart_in(request.getfixturevalue("real_charts"), "cinder") if real else CHARTS / "cinder"
    items = objects(render(release, chart))
    config = etc(items, "cinder", "cinder.conf")["DEFAULT"]
    assert config["backup_driver"] == "cinder.backup.drivers.swift.SwiftBackupDriver"
    assert config["backup_swift_key"] == "secretcinderkeystoneswift"
    pod = one(items, "Deployment", "cinder-backup")["spec"]["template"]["spec"]
    assert "cinder-volume-rbd-keyring" in str(pod["volumes"])
    assert "cinder-backup-rbd-keyring" not in str(pod["volumes"])
    mounts = [mount["mountPath"] for container in pod["containers"] for mount in container["volumeMounts"]]
    assert config["backup_swift_ca_cert_file"].rsplit("/", 1)[0] in mounts
    made = base64.b64decode(one(items, "Secret", "cinder-etc")["data"].get("identity.json", "")).decode()
    assert real or config["backup_swift_user"] in made


@pytest.mark.parametrize("charts", ["builtin", "real"])
def test_the_dashboard_believes_the_sites_ca_where_it_has_an_object_store_to_ask(
    charts: str, render: Render, request: pytest.FixtureRequest
) -> None:
    data = yaml.safe_load(SITES["cloud"].read_text())
    real = charts == "real"
    chart = chart_in(request.getfixturevalue("real_charts"), "horizon") if real else CHARTS / "horizon"

    def pod() -> tuple[str, dict[str, Any]]:
        items = objects(render(release_of(with_values(make_plan(build_site(data))), "horizon"), chart))
        settings = base64.b64decode(one(items, "Secret", "horizon-etc")["data"]["local_settings"]).decode()
        return settings, one(items, "Deployment", "horizon")["spec"]["template"]["spec"]

    settings, without = pod()
    assert "OPENSTACK_SSL_CACERT" not in settings or real
    assert "horizon-tls" not in str(without)
    data["openstack"]["services"].append("ceph-rgw")
    settings, found = pod()
    (mount,) = [one for one in found["containers"][0]["volumeMounts"] if one["name"] == "horizon-tls"]
    assert f'OPENSTACK_SSL_CACERT = "{mount["mountPath"]}/ca.crt"' in settings
    (place,) = [one for one in found["volumes"] if one["name"] == "horizon-tls"]
    only = [{"key": "ca.crt", "path": "ca.crt"}]
    assert place["secret"] == {"secretName": "horizon-tls", "defaultMode": 0o444, "items": only}

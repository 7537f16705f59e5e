"""What the plan decides about the object store: all of it with the service alone."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._plan.ceph import CephPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import users
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.names import required

GROUPS = {"seed": {"count": 1}, "control": {"count": 1}, "worker": {"count": 1}, "storage": {"count": 3}}


def plan(*services: str, **written: Any) -> Plan:
    """Return the plan of a lab with storage hosts, and ``services`` beside Keystone."""
    content = {"plugin": "groundup.cloud.site", "site": "unit", "domain": "unit.test", "profile": "lab"}
    openstack = {"services": ["keystone", *services]}
    storage = {"backend": "native", **written}
    return with_values(
        make_plan(build_site({**content, "machines": GROUPS, "storage": storage, "openstack": openstack}))
    )


def ceph(found: Plan) -> CephPlan:
    assert found.ceph
    return found.ceph


def test_a_site_that_does_not_name_it_has_nothing_of_it() -> None:
    found = plan()
    assert ceph(found).gateway is None
    assert "rgw" not in str(ceph(found).pools) + str(ceph(found).clients)
    assert not [name for name in required(found) if "rgw" in name]
    assert not [one.user for one in users(found) if one.user.startswith("rgw")]
    assert "radosgw" not in str([host.packages for host in found.hosts.values()])
    assert "8088/tcp" not in str(found.preflight.by_roles)


def test_a_site_that_names_it_has_a_gateway_on_every_storage_host_and_nowhere_else() -> None:
    found = plan("ceph-rgw")
    hosts = [name for name, host in found.hosts.items() if "radosgw" in host.packages.get("storage", ())]
    assert hosts == ["storage-1", "storage-2", "storage-3"]
    assert {one.user: one.names for one in users(found) if one.user.startswith("rgw")} == {
        f"rgw-{name}": (found.hosts[name].fqdn, found.hosts[name].address) for name in hosts
    }
    assert found.preflight.by_roles["storage"].listens["8088/tcp"] == ("radosgw",)
    assert not [one for one in found.findings if one.severity == "error"]


def test_both_of_its_names_lead_to_the_storage_hosts_and_swifts_is_in_the_catalog() -> None:
    found = plan("ceph-rgw")
    servers = {name: f"{found.hosts[name].address}:8088" for name in ceph(found).locations}
    names = {one.name: (one.servers, one.in_catalog) for one in found.edge.endpoints if one.service == "ceph-rgw"}
    assert names == {"object-store.unit.test": (servers, True), "s3.unit.test": (servers, False)}


def test_its_key_reaches_its_own_pools_and_no_other_key_reaches_them() -> None:
    found = ceph(plan("ceph-rgw"))
    pools = {pool.name for pool in found.pools.values() if pool.application == "rgw"}
    client = found.clients["rgw"]
    assert set(client.writes) == pools
    assert client.caps == {"mon": "allow r", "osd": ", ".join(f"allow rwx pool={name}" for name in client.writes)}
    assert not [one.name for one in found.clients.values() if one != client and pools & {*one.writes, *one.reads}]


def test_gateways_ask_keystone_by_the_account_that_the_release_makes() -> None:
    found = plan("ceph-rgw")
    (release,) = [one for one in found.openstack.releases if one.name == "ceph-rgw"]
    made = release.values["endpoints"]["identity"]["auth"]["swift"]
    told = ceph(found).gateway
    assert told
    assert told.settings["rgw_keystone_admin_user"] == made["username"]
    assert told.settings["rgw_keystone_admin_project"] == made["project_name"]
    assert told.settings["rgw_keystone_admin_domain"] == made["user_domain_name"] == made["project_domain_name"]
    assert made["password"] == {"$secret": told.password}
    assert told.password in required(found)
    public = next(one.url for one in found.edge.endpoints if one.service == "keystone")
    assert public == f"{told.settings['rgw_keystone_url']}/v3"


def test_its_pools_keep_their_names_and_may_be_on_other_devices() -> None:
    found = ceph(plan("ceph-rgw", pools={"objects": {"name": "mine"}, "objects-index": {"replicas": 2}})).pools
    assert (found["objects"].name, found["objects-index"].replicas) == ("default.rgw.buckets.data", 2)
    apart = ceph(plan("ceph-rgw", pools={"objects-meta": {"device_class": "nvme"}})).pools["objects-meta"]
    assert (apart.rule, apart.pg_num) == ("host-nvme", 8), "no data are expected in any pool of that class"


def test_backups_go_to_the_object_store_by_choice() -> None:
    others = ("placement", "glance", "neutron", "nova", "cinder")
    pool, objects = plan(*others, "ceph-rgw"), plan(*others, "ceph-rgw", backups="objects")
    told = [release_values(found, "cinder")["conf"]["cinder"]["DEFAULT"] for found in (pool, objects)]
    assert [one["backup_driver"].split(".")[-2] for one in told] == ["ceph", "swift"]
    assert "cinder-backup" not in {one.user for one in users(pool)}
    assert "cinder-backup" in {one.user for one in users(objects)}, "who gives its pods the site's CA"
    assert "backups-without-objects" not in {one.name for one in objects.findings}


def release_values(found: Plan, name: str) -> dict[str, Any]:
    """Return the values of a release."""
    return next(one.values for one in found.openstack.releases if one.name == name)

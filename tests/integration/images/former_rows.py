#!/usr/bin/env python3
# mypy: disable-error-code="import-not-found"
"""Rows of a service, written and read by the code of the release whose Python runs this.

Usage: former_rows.py SERVICE [WHO]                 WHO: write a row of that name; print the names that are there
       former_rows.py nova starts                   ask what Nova's services ask when they start; print its versions
       former_rows.py nova version HOST [VERSION]   have nova-compute of HOST be of VERSION, or of this release

Each row is read with what belongs to it: a password that is accepted, a secret that is decrypted, an instance with its
flavor.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable
from typing import Any

WORD = "a-word-of-12-letters"


def keystone(who: str) -> list[str]:
    """Return users whose password is accepted and whose secret is decrypted, each with its project."""
    import keystone.conf
    from keystone.common import provider_api, sql
    from keystone.server import backends

    keystone.conf.configure()
    sql.initialize()
    keystone.conf.CONF([], project="keystone")
    backends.load_backends()
    apis = provider_api.ProviderAPIs
    if who:
        project = {"id": uuid.uuid4().hex, "name": who, "domain_id": "default", "enabled": True, "description": ""}
        apis.resource_api.create_project(project["id"], {**project, "is_domain": False})
        user = {"name": who, "password": WORD, "domain_id": "default", "enabled": True}
        made = apis.identity_api.create_user({**user, "default_project_id": project["id"]})
        secret = {"id": uuid.uuid4().hex, "user_id": made["id"], "project_id": project["id"], "type": "totp"}
        apis.credential_api.create_credential(secret["id"], {**secret, "blob": who})
    found = []
    for secret in apis.credential_api.list_credentials():
        user = apis.identity_api.get_user(secret["user_id"])
        apis.identity_api.driver.authenticate(user["id"], WORD)
        project = apis.resource_api.get_project(user["default_project_id"])
        assert project["name"] == user["name"] == apis.credential_api.get_credential(secret["id"])["blob"]
        found.append(user["name"])
    return found


def placement(who: str) -> list[str]:
    """Return providers with their inventory."""
    from oslo_config import cfg
    from placement import conf, context, db_api, deploy
    from placement.objects import inventory, resource_provider

    config = cfg.ConfigOpts()
    conf.register_opts(config)
    config([], project="placement")
    db_api.configure(config)
    deploy.update_database(config)
    admin = context.RequestContext()
    admin.config = config
    if who:
        made = resource_provider.ResourceProvider(admin, uuid=str(uuid.uuid4()), name=who)
        made.create()
        given = {"total": 8, "reserved": 0, "min_unit": 1, "max_unit": 8, "step_size": 1, "allocation_ratio": 1.0}
        made.set_inventory([inventory.Inventory(resource_provider=made, resource_class="VCPU", **given)])
    found = resource_provider.get_all_by_filters(admin)
    assert all([one.total for one in inventory.get_all_by_resource_provider(admin, each)] == [8] for each in found)
    return [one.name for one in found]


def glance(who: str) -> list[str]:
    """Return images with their properties."""
    from glance import context
    from glance.common import config
    from glance.db.sqlalchemy import api

    config.parse_args(args=[], default_config_files=["/etc/glance/glance-api.conf"])
    admin = context.RequestContext(is_admin=True)
    if who:
        given = {"id": str(uuid.uuid4()), "name": who, "status": "active", "owner": "p", "visibility": "public"}
        form = {"disk_format": "raw", "container_format": "bare", "size": 1, "min_disk": 0, "min_ram": 0}
        api.image_create(admin, {**given, **form, "properties": {"who": who}})
    found = api.image_get_all(admin)
    assert all([one["value"] for one in each["properties"]] == [each["name"]] for each in found)
    return [one["name"] for one in found]


def neutron(who: str) -> list[str]:
    """Return networks with their subnets."""
    import netaddr
    from neutron.common import config
    from neutron.objects import network, subnet
    from neutron_lib import context

    files = ("/etc/neutron/neutron.conf", "/etc/neutron/plugins/ml2/ml2_conf.ini")
    config.register_common_config_options()
    config.init([word for file in files for word in ("--config-file", file)])
    admin = context.get_admin_context()
    if who:
        made = network.Network(admin, id=str(uuid.uuid4()), name=who, project_id="p", admin_state_up=True)
        made.create()
        given = {"network_id": made.id, "project_id": "p", "ip_version": 4, "cidr": netaddr.IPNetwork("10.0.0.0/24")}
        subnet.Subnet(admin, id=str(uuid.uuid4()), name=who, enable_dhcp=True, **given).create()
    found = network.Network.get_objects(admin)
    assert all([one.name for one in subnet.Subnet.get_objects(admin, network_id=each.id)] == [each.name]
               for each in found)  # fmt: skip
    return [one.name for one in found]


def cinder(who: str) -> list[str]:
    """Return volumes that have a type of their name."""
    from cinder import context, objects
    from cinder.common import config  # noqa: F401  # registers options
    from cinder.db import api
    from oslo_config import cfg

    cfg.CONF([], project="cinder")
    objects.register_all()
    admin = context.get_admin_context()
    if who:
        api.volume_type_create(admin, {"id": str(uuid.uuid4()), "name": who, "extra_specs": {"who": who}})
        kind = api.volume_type_get_by_name(admin, who)["id"]
        given = {"project_id": "p", "user_id": "u", "size": 1, "status": "available", "host": "worker@rbd#rbd"}
        objects.Volume(admin, display_name=who, volume_type_id=kind, use_quota=True, **given).create()
    found = objects.VolumeList.get_all(admin)
    assert all(one.volume_type.name == one.volume_type.extra_specs["who"] == one.display_name for one in found)
    return [one.display_name for one in found]


def nova(who: str) -> list[Any]:
    """Return instances with the flavor and the host of their name."""
    from nova import config, context, objects, utils
    from nova.db.main import api
    from nova.objects import service

    config.parse_args(["nova-manage"])
    objects.register_all()
    admin = context.get_admin_context()
    (cell,) = (one for one in objects.CellMappingList.get_all(admin) if one.name == "cell1")
    if who == "starts":
        utils.raise_if_old_compute()
        return [service.SERVICE_VERSION_ALIASES[service.OLDEST_SUPPORTED_SERVICE_VERSION], service.SERVICE_VERSION]
    with context.target_cell(admin, cell) as there:
        if who.startswith("version "):
            _, host, *version = who.split()
            record = objects.Service.get_by_host_and_binary(there, host, "nova-compute")
            wanted = int(*version) or service.SERVICE_VERSION
            api.service_update(there, record.id, {"version": wanted})
            return [wanted]
        if who:
            objects.Service(there, host=who, binary="nova-compute", topic="compute", report_count=0).create()
            given = {"memory_mb": 64, "vcpus": 1, "root_gb": 1, "ephemeral_gb": 0, "swap": 0, "rxtx_factor": 1.0}
            flavor = objects.Flavor(admin, name=who, flavorid=who, is_public=True, vcpu_weight=0, **given)
            flavor.create()
            own = {"project_id": "p", "user_id": "u", "display_name": who, "host": who, "uuid": str(uuid.uuid4())}
            made = objects.Instance(there, system_metadata={}, **own)
            made.flavor = objects.Flavor.get_by_name(admin, who)
            made.create()
            objects.InstanceMapping(
                admin, instance_uuid=made.uuid, cell_mapping=cell, project_id="p", user_id="u", queued_for_delete=False
            ).create()
        found = objects.InstanceList.get_by_filters(there, {"deleted": False}, expected_attrs=["flavor"])
        assert all(one.flavor.name == one.host == one.display_name for one in found)
    assert {one.name for one in objects.FlavorList.get_all(admin)} == {one.display_name for one in found}
    return [one.display_name for one in found]


SERVICES: dict[str, Callable[[str], list[Any]]] = {
    one.__name__: one for one in (keystone, placement, glance, neutron, cinder, nova)
}


if __name__ == "__main__":
    print(json.dumps(sorted(SERVICES[sys.argv[1]](" ".join(sys.argv[2:])))))

"""Prints, as JSON, what a user with openstacksdk gets from the cloud: a token's expiry and the public catalog."""

from __future__ import annotations

import json

import openstack

connection = openstack.connect()
access = connection.session.auth.get_access(connection.session)
public = {
    service["type"]: [endpoint["url"] for endpoint in service["endpoints"] if endpoint["interface"] == "public"]
    for service in access.service_catalog.catalog
}
project = {"project": access.project_name, "project_id": access.project_id}
print(json.dumps({"expires": access.expires.isoformat(), **project, "public": public}))

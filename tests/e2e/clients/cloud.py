"""Prints what the cloud's administrator sees of its hypervisors, and of what tenants have."""

from __future__ import annotations

import json

import openstack

cloud = openstack.connect()
print(
    json.dumps(
        {
            "computes": {one.host: [one.status, one.state] for one in cloud.compute.services(binary="nova-compute")},
            "aggregates": {one.name: sorted(one.hosts) for one in cloud.compute.aggregates()},
            "agents": sorted([one.host, one.agent_type] for one in cloud.network.agents() if one.is_alive),
            "external": {one.name: one.mtu for one in cloud.network.networks(is_router_external=True)},
            "projects": sorted(one.name for one in cloud.identity.projects()),
            "servers": [one.name for one in cloud.compute.servers(all_projects=True)],
            "images": [one.name for one in cloud.image.images()],
            "routers": [one.name for one in cloud.network.routers()],
        }
    )
)

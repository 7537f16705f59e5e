"""A person with a project: `make IMAGE` makes all that he needs to begin, `delete` deletes it, with what he made.

Prints, as JSON, what was made; his password is in no argument.
"""

from __future__ import annotations

import json
import secrets
import sys

import openstack

NAME = "first-hour"
cloud = openstack.connect()


def delete_network(project: openstack.identity.v3.project.Project) -> None:
    for address in cloud.network.ips(project_id=project.id):
        cloud.network.delete_ip(address)
    for router in cloud.network.routers(project_id=project.id):
        for port in cloud.network.ports(device_id=router.id, device_owner="network:router_interface"):
            cloud.network.remove_interface_from_router(router, port_id=port.id)
        cloud.network.delete_router(router)
    for network in cloud.network.networks(project_id=project.id):
        for port in cloud.network.ports(network_id=network.id):
            cloud.network.delete_port(port)
        cloud.network.delete_network(network)
    for group in cloud.network.security_groups(project_id=project.id):
        cloud.network.delete_security_group(group)


def delete() -> None:
    for server in cloud.compute.servers(all_projects=True):
        if server.name.startswith(NAME):
            cloud.compute.delete_server(server, force=True)
            cloud.compute.wait_for_delete(server, wait=300)
    for volume in [one for one in cloud.block_storage.volumes(all_projects=True) if one.name.startswith(NAME)]:
        cloud.block_storage.delete_volume(volume)
        cloud.block_storage.wait_for_delete(volume, wait=300)
    if project := cloud.identity.find_project(NAME):
        delete_network(project)
    for flavor in cloud.compute.flavors(is_public=None):
        if flavor.name == NAME:
            cloud.compute.delete_flavor(flavor)
    for image in cloud.image.images(name=NAME):
        cloud.image.delete_image(image)
    for found in (cloud.identity.find_user(NAME), cloud.identity.find_project(NAME)):
        if found:
            (cloud.identity.delete_user if hasattr(found, "password") else cloud.identity.delete_project)(found)


def make(image: str) -> dict[str, str]:
    password = secrets.token_urlsafe(24)
    project = cloud.identity.create_project(name=NAME, domain_id="default")
    user = cloud.identity.create_user(name=NAME, password=password, domain_id="default", default_project_id=project.id)
    cloud.identity.assign_project_role_to_user(project, user, cloud.identity.find_role("member"))
    cloud.image.create_image(
        NAME, filename=image, disk_format="qcow2", container_format="bare", visibility="public", wait=True, timeout=300
    )
    cloud.compute.create_flavor(name=NAME, ram=128, vcpus=1, disk=1)
    network = cloud.network.create_network(name=NAME, project_id=project.id)
    subnet = cloud.network.create_subnet(
        name=NAME, network_id=network.id, ip_version=4, cidr="192.168.124.0/24", project_id=project.id
    )
    external = next(iter(cloud.network.networks(is_router_external=True)))
    router = cloud.network.create_router(
        name=NAME, external_gateway_info={"network_id": external.id}, project_id=project.id
    )
    cloud.network.add_interface_to_router(router, subnet_id=subnet.id)
    (group,) = cloud.network.security_groups(project_id=project.id, name="default")
    cloud.network.create_security_group_rule(
        security_group_id=group.id, direction="ingress", ether_type="IPv4", protocol="icmp", project_id=project.id
    )
    return {"user": NAME, "project": NAME, "password": password, "image": NAME, "flavor": NAME, "network": NAME}


delete()
print(json.dumps(make(sys.argv[2]) if sys.argv[1] == "make" else {}))

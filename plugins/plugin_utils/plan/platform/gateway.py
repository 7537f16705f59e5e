"""The object gateway of each storage host: Swift and S3 for Keystone's users."""

from __future__ import annotations

from ....module_utils._plan.ceph import CephGateway
from ...layers.ports import PORTS
from ...layers.storage import GATEWAY
from ...services import RECORDS
from ..layout.context import Layout

CLIENT = "client.rgw"
ACCOUNT, PASSWORD = f"{GATEWAY}_swift", f"{GATEWAY}/keystone-swift"  # created in Keystone by its release
HEALTH = "/swift/healthcheck"
# Roles with read and write access to their project. This Ceph release has no read-only role: `reader` is refused.
ROLES = ("admin", "member")


def gateway(layout: Layout) -> CephGateway | None:
    """Return the settings of object gateways; None without an object store."""
    services = layout.site.openstack.services
    identity = RECORDS["keystone"].api
    if GATEWAY not in services or not identity or layout.site.storage.backend != "native":
        return None
    return CephGateway(
        client=CLIENT,
        port=PORTS["objects"].port,
        password=PASSWORD,
        health_path=HEALTH,
        settings={
            # No admin API and no local users: Keystone has all users.
            "rgw_enable_apis": "s3, swift",
            "rgw_keystone_url": f"https://{identity.host}.{layout.site.domain}",
            "rgw_keystone_verify_ssl": "true",
            "rgw_keystone_api_version": "3",
            "rgw_keystone_admin_user": ACCOUNT,
            "rgw_keystone_admin_project": "service",
            "rgw_keystone_admin_domain": "service",
            "rgw_keystone_accepted_roles": ", ".join(ROLES),
            # Containers have a name space per project, shared by Swift and S3.
            "rgw_keystone_implicit_tenants": "true",
            "rgw_s3_auth_use_keystone": "true",
            "rgw_swift_account_in_url": "true",
            "rgw_swift_versioning_enabled": "true",
            # HAProxy sets the client's address, and removes one that a client sends.
            "rgw_remote_addr_param": "HTTP_X_FORWARDED_FOR",
        },
    )

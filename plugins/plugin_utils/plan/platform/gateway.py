"""The object gateway of each storage host: Swift and S3 for whom Keystone knows."""

from __future__ import annotations

from ...layers.ports import PORTS
from ...layers.storage import GATEWAY
from ...services import RECORDS
from ..layout.context import Layout
from ..part_types import CephGateway

CLIENT = "client.rgw"
ACCOUNT, PASSWORD = f"{GATEWAY}_swift", f"{GATEWAY}/keystone-swift"  # as its release makes it in Keystone
HEALTH = "/swift/healthcheck"
# Roles in a project: each may read and write. This release of Ceph has no role that only reads; `reader` is refused.
ROLES = ("admin", "member")


def gateway(layout: Layout) -> CephGateway | None:
    """Return what gateways are told; None where the site has no object store."""
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
            # No administration and no users of its own: Keystone knows all of them.
            "rgw_enable_apis": "s3, swift",
            "rgw_keystone_url": f"https://{identity.host}.{layout.site.domain}",
            "rgw_keystone_verify_ssl": "true",
            "rgw_keystone_api_version": "3",
            "rgw_keystone_admin_user": ACCOUNT,
            "rgw_keystone_admin_project": "service",
            "rgw_keystone_admin_domain": "service",
            "rgw_keystone_accepted_roles": ", ".join(ROLES),
            # A project's containers have a name space of their own, the same by Swift and by S3.
            "rgw_keystone_implicit_tenants": "true",
            "rgw_s3_auth_use_keystone": "true",
            "rgw_swift_account_in_url": "true",
            "rgw_swift_versioning_enabled": "true",
            # The edge says where a client comes from, and lets nobody else say so.
            "rgw_remote_addr_param": "HTTP_X_FORWARDED_FOR",
        },
    )

"""Settings of Tempest's plugins, one a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .target import Target

if TYPE_CHECKING:
    from .settings import Prepared


def of_plugins(target: Target, ground: Prepared, *, wait: int) -> dict[str, dict[str, Any]]:
    """Return settings by section. ``wait``: seconds to wait for something."""
    key_manager = "barbican" in target.services
    return {
        "service_available": {
            "barbican": key_manager, "designate": "designate" in target.services, "heat": "heat" in target.services,
            "load_balancer": "octavia" in target.services,
        },
        "enforce_scope": dict.fromkeys(("barbican", "designate", "octavia"), True),
        "identity-feature-enabled": {"federation": False, "external_idp": False},
        "volume-feature-enabled": {"volume_revert": target.volumes_in_ceph, "consistency_group": False},
        "key_manager": {"region": target.region},
        "barbican_tempest": {"enable_multiple_secret_stores": False},
        "ephemeral_storage_encryption": {"enabled": False},
        "image_signature_verification": {"enforced": False, "certificate_validation": False},
        "dns_feature_enabled": {"api_v2_quotas": True, "api_v2_quotas_verify_project": True,
                                "enforce_new_defaults": True},
        "dns": {"build_timeout": wait},
        "load_balancer": {
            "provider": target.balancers, "enabled_provider_drivers": f"{target.balancers}:{target.balancers}",
            "RBAC_test_type": "keystone_default_roles", "enforce_new_defaults": True, "octavia_svc_username": "octavia",
            "lb_build_timeout": wait,
        },
        # OVN balances connections; it reads none.
        "loadbalancer-feature-enabled": {
            "not_implemented_is_error": False, "l4_protocol": "TCP", "health_monitor_enabled": True,
            **dict.fromkeys(("l7_protocol_enabled", "log_offload_enabled", "pool_algorithms_enabled",
                             "prometheus_listener_enabled", "session_persistence_enabled", "terminated_tls_enabled"),
                            target.balancers != "ovn"),
        },
        # With an account, it is logged in whenever tests are listed.
        **({"heat_plugin": _heat(target, ground, wait)} if "heat" in target.services else {}),
    }  # fmt: skip


def _heat(target: Target, ground: Prepared, wait: int) -> dict[str, Any]:
    """Return the settings of Heat's plugin, which takes no account of Tempest's own."""
    account = ground.account
    return {
        "auth_url": target.auth_url, "auth_version": "3", "region": target.region, "ca_file": target.ca,
        "username": account["username"], "password": account["password"], "project_name": account["project_name"],
        "admin_username": account["username"], "admin_password": account["password"],
        "admin_project_name": account["project_name"], "user_domain_name": account["domain_name"],
        "project_domain_name": account["domain_name"], "image_ref": ground.images[0],
        "minimal_image_ref": ground.images[0], "instance_type": ground.flavors[1],
        "minimal_instance_type": ground.flavors[0], "build_timeout": wait,
        # They want a network and a keypair of fixed names, and a guest with Heat's agents.
        "skip_functional_tests": True, "skip_scenario_tests": True,
    }  # fmt: skip

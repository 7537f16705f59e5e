"""Mistakes in policies, tokens and passwords, each with the finding it is."""

from __future__ import annotations

from typing import Any


def values(release: str, **conf: Any) -> dict[str, Any]:
    """Return the change of a site file that overrides `conf` of a release."""
    return {f"openstack/overrides/{release}": {"why": "a test", "values": {"conf": conf}}}


def policy(release: str, name: str, rule: str) -> tuple[dict[str, Any], str]:
    """Return the change that writes a rule, and its place."""
    return values(release, policy={name: rule}), f"openstack.overrides.{release}.values.conf.policy.{name}"


_KEY = "identity.passwords"
_REAL = {"openstack/charts": "/srv/charts"}
_KEYSTONE = "openstack.overrides.keystone.values.conf.keystone"

_SIGNATURES = "openstack.image_signatures"
_SIGNED = {"openstack/image_signatures": "required"}
_SERVICES = ["keystone", "placement", "glance", "neutron", "nova", "cinder", "barbican"]

# name, severity, example, changes, a key the finding points at
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    *(
        ("policy-unknown-rule", "error", "cloud", *policy(*written))
        for written in (
            ("nova", "os_compute_api:servers:crate", "role:member"),
            ("neutron", "get_netwrok:mtu", "role:reader"),
            ("glance", "delete_image", "rule:owners"),
        )
    ),
    ("image-source-inside", "error", "cloud", {"openstack/image_sources": ["keystone-api"]}, "openstack.image_sources"),
    ("image-source-inside", "error", "cloud", {"openstack/image_sources": ["keystone-api.openstack.svc"]},
     "openstack.image_sources"),
    ("signatures-without-service", "error", "cloud", _SIGNED, "openstack.services"),
    ("signatures-never-read", "error", "cloud", {**_SIGNED, "openstack/services": _SERVICES},
     "hardware.diskless.compute.disks"),
    ("signatures-not-of-volumes", "warning", "cloud", {**_SIGNED, "openstack/services": _SERVICES}, _SIGNATURES),
    ("signatures-bind-moves", "warning", "cloud", {**_SIGNED, "openstack/services": _SERVICES}, _SIGNATURES),
    ("cloud-image-unsigned", "warning", "cloud",
     {**_SIGNED, "openstack/services": _SERVICES,
      "cloud/images": {"debian": {"source": "/srv/debian.raw", "sha256": "a" * 64, "format": "raw",
                                  "properties": {"img_signature": "c2ln"}}}},
     "cloud.images.debian.properties"),
    *(("dns-domain-taken", "error", "cloud", {"openstack/dns": {"domain": domain}}, "openstack.dns.domain")
      for domain in ("cloud.test", "cluster.local", "openstacklocal")),
    *(("dns-without-service", "error", "edge", {"openstack/dns": {key: value}, "openstack/services": ["keystone"]},
       f"openstack.dns.{key}") for key, value in {
           "domain": "vm.example.org", "name_servers": {"ns1.example.org": "192.0.2.53"}}.items()),
    ("dns-pools-twice", "error", "cloud",
     {"openstack/dns": {"name_servers": {"ns1.example.org": "192.0.2.53"}},
      "openstack/services": ["keystone", "designate"],
      "openstack/overrides": {"designate": {"values": {"conf": {"pools": "- name: default\n"}}}}},
     "openstack.dns.name_servers"),
    ("password-regex-invalid", "error", "cloud", {"identity/passwords": {"regex": "(?=.*[0-9]"}}, f"{_KEY}.regex"),
    ("password-regex-refuses-services", "error", "cloud", {"identity/passwords": {"regex": ".*[!?]"}}, f"{_KEY}.regex"),
    ("password-regex-unexplained", "warning", "cloud", {"identity/passwords": {"regex": ".*[0-9]"}},
     f"{_KEY}.explanation"),
    ("password-expires-before-change", "error", "cloud",
     {"identity/passwords": {"minimum_days": 30, "expire_days": 30}}, f"{_KEY}.minimum_days"),
    ("lockout-off", "warning", "region", {"identity/lockout": {"attempts": 0}}, "identity.lockout.attempts"),
    ("lockout-of-services", "warning", "cloud", {"identity/lockout": {"attempts": 5}, **_REAL},
     "identity.lockout.attempts"),
    ("expiry-of-services", "error", "cloud", {"identity/passwords": {"expire_days": 90}, **_REAL},
     f"{_KEY}.expire_days"),
    ("expiry-of-services", "error", "cloud", {"identity/passwords": {"change_first": True}, **_REAL},
     f"{_KEY}.change_first"),
    ("token-outlives-keys", "error", "cloud", values("keystone", keystone={"token": {"expiration": 259200}}),
     _KEYSTONE),
    ("token-outlives-keys", "error", "cloud", values("keystone", keystone={"fernet_tokens": {"max_active_keys": 3}}),
     _KEYSTONE),
]  # fmt: skip

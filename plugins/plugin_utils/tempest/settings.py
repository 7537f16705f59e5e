"""Write tempest.conf for a cloud. What is not set here has Tempest's own default."""

from __future__ import annotations

import configparser
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .plugin_settings import of_plugins
from .suites import Suite
from .target import Target

Sections = dict[str, dict[str, Any]]
_SLOW = 3  # how many times as long an emulated guest takes
_WAIT = 300  # seconds; Tempest's own default
_TEST = 1200  # seconds for one test


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudFacts:
    """Answers of the cloud's APIs."""

    extensions: Sequence[str]  # aliases of Neutron's
    versions: Mapping[str, tuple[str, str]]  # service -> lowest and highest microversion
    network: tuple[str, str] | None  # id and name of the external network


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a run has made for its tests. Every name begins with ``prefix``."""

    prefix: str
    account: Mapping[str, str] = field(repr=False)  # username, password, project_name, domain_name
    images: tuple[str, str] = ("", "")  # ids
    flavors: tuple[str, str] = ("", "")  # ids; the second is larger
    image_file: Path | None = None
    image_user: str = ""


def test_timeout(target: Target) -> int:
    """Return the seconds that one test may take."""
    return _TEST * (_SLOW if target.emulated else 1)


def sections(target: Target, asked: CloudFacts, ground: Prepared, suite: Suite, *, directory: Path) -> Sections:
    """Return all settings by section. ``directory``: of the run, for locks and logs."""
    wait = _WAIT * (_SLOW if target.emulated else 1)
    found: Sections = {
        "DEFAULT": {"log_dir": directory, "log_file": "tempest.log", "debug": True,
                    "resource_name_prefix": ground.prefix},
        "oslo_concurrency": {"lock_path": directory / "locks"},
        "auth": _account(ground),
        "service_available": {
            "cinder": "cinder" in target.services, "glance": "glance" in target.services,
            "horizon": bool(target.dashboard), "neutron": "neutron" in target.services,
            "nova": "nova" in target.services, "swift": "ceph-rgw" in target.services,
        },
        # The default roles and scopes of OpenStack are on in every service of this release.
        "enforce_scope": dict.fromkeys(("cinder", "glance", "keystone", "neutron", "nova", "placement"), True),
        "identity": {
            "uri_v3": target.auth_url, "region": target.region, "v3_endpoint_type": "public",
            "ca_certificates_file": target.ca,
            # Without lock-out: its test waits for the end of it, by default 30 minutes.
            "user_unique_last_password_count": target.password_history or None,
            "user_minimum_password_age": target.password_days or None,
        },
        "identity-feature-enabled": {
            "domain_specific_drivers": target.domain_drivers,
            "security_compliance": bool(target.password_history or target.password_days),
        },
        "image-feature-enabled": {"import_image": True},
        "service-clients": {"http_timeout": 60 * (_SLOW if target.emulated else 1)},
        **_compute(target, ground, wait),
        **_volume(target, wait),
        **_network(asked, wait),
        **_guest(ground, suite, wait),
        "object-storage": {"operator_role": "member", "reseller_admin_role": "admin"},
        "object-storage-feature-enabled": {"container_sync": False, "object_versioning": False},
        "dashboard": {"dashboard_url": target.dashboard} if target.dashboard else {},  # Tempest reads no empty URL
    }  # fmt: skip
    for service, section in (("nova", "compute"), ("cinder", "volume"), ("placement", "placement")):
        if service in asked.versions:
            low, high = asked.versions[service]
            found.setdefault(section, {}).update(min_microversion=low, max_microversion=high)
    return merged(found, of_plugins(target, ground, wait=wait))


def _account(ground: Prepared) -> dict[str, Any]:
    account = ground.account
    return {
        "use_dynamic_credentials": True, "create_isolated_networks": True,
        "admin_username": account["username"], "admin_password": account["password"],
        "admin_project_name": account["project_name"], "admin_domain_name": account["domain_name"],
        "admin_system": "all", "default_credentials_domain_name": account["domain_name"],
    }  # fmt: skip


def _compute(target: Target, ground: Prepared, wait: int) -> Sections:
    several = target.hypervisors > 1
    return {
        "compute": {
            "image_ref": ground.images[0], "image_ref_alt": ground.images[1],
            "flavor_ref": ground.flavors[0], "flavor_ref_alt": ground.flavors[1],
            "build_timeout": wait, "min_compute_nodes": max(target.hypervisors, 1),
        },
        "compute-feature-enabled": {
            "attach_encrypted_volume": "barbican" in target.services,
            "block_migration_for_live_migration": not target.shared_disks,
            "cold_migration": several,
            "config_drive": True,
            "console_output": True,
            "hostname_fqdn_sanitization": True,
            "ide_bus": target.ide,
            "live_migrate_back_and_forth": several,
            "live_migration": several,
            "resize": several,  # Nova resizes to another host
            "shelve_migrate": several,
            "stable_rescue": True,
            "swap_volume": False,  # libvirt does not copy onto a network disk
            "vnc_console": target.console,
            "vtpm_live_migration": several and "barbican" in target.services,
            "volume_backed_live_migration": several and "cinder" in target.services,
            "volume_multiattach": False,  # no volume type allows it yet
        },
    }  # fmt: skip


def _volume(target: Target, wait: int) -> Sections:
    ours = target.volumes_in_ceph
    more = {"storage_protocol": "ceph", "manage_snapshot_ref": "source-name,snapshot-%s"} if ours else {}
    return {
        "volume": {"catalog_type": target.volume_type, "build_timeout": wait, **more,
                   **({"backup_driver": target.backups} if target.backups else {})},
        "volume-feature-enabled": {
            "backup": bool(target.backups), "clone": True, "snapshot": True, "extend_attached_volume": ours,
            "manage_snapshot": ours, "manage_volume": ours, "multi_backend": False,
        },
    }  # fmt: skip


def _network(asked: CloudFacts, wait: int) -> Sections:
    identifier, name = asked.network or ("", "")
    return {
        "network": {"public_network_id": identifier, "floating_network_name": name, "build_timeout": wait},
        "network-feature-enabled": {
            "api_extensions": asked.extensions, "floating_ips": bool(identifier), "ipv6": True,
            "ipv6_subnet_attributes": True, "port_security": "port-security" in asked.extensions,
        },
        "neutron_plugin_options": {"available_type_drivers": ("geneve", "flat", "vlan")},
    }  # fmt: skip


def _guest(ground: Prepared, suite: Suite, wait: int) -> Sections:
    return {
        "validation": {
            "run_validation": suite.guest, "connect_method": "floating", "ssh_key_type": "ecdsa",
            "image_ssh_user": ground.image_user, "image_alt_ssh_user": ground.image_user,
            "ssh_timeout": wait, "ping_timeout": wait, "connect_timeout": wait // 5,
        },
        "scenario": {"img_file": ground.image_file, "img_disk_format": "qcow2", "dhcp_client": "udhcpc"},
    }  # fmt: skip


def merged(found: Sections, more: Mapping[str, Mapping[str, Any]]) -> Sections:
    """Return ``found`` with ``more`` settings over it."""
    names = dict.fromkeys((*found, *more))
    return {name: {**found.get(name, {}), **more.get(name, {})} for name in names}


def text(found: Sections) -> str:
    """Return the file's text. A setting that is None is left out."""
    file = configparser.RawConfigParser(default_section="")  # [DEFAULT] is a section like others
    file.optionxform = str  # type: ignore[method-assign,assignment]  # names of options keep their case
    file.read_dict({name: dict(_words(values)) for name, values in found.items()})
    written = io.StringIO()
    file.write(written)
    return written.getvalue()


def _words(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, (list, tuple)):
            yield key, ",".join(map(str, value))
        elif value is not None:
            # oslo.config reads $ as a reference to another option.
            yield key, (str(value).lower() if isinstance(value, bool) else str(value)).replace("$", "$$")

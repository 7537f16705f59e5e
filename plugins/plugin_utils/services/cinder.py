"""Cinder: volumes, stored as images in the site's Ceph, which hypervisors open directly."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..health.verification import Check
from ..layers.storage import GATEWAY
from . import ceph, dialects
from .parts import WORKERS, ChartNames, api_values, merge, public_endpoint, queued, resources, uwsgi
from .probing import PROBE, Client, forgotten, probe
from .record import Advice, PodCertificate, PublicApi, ServiceRecord, Values
from .secrets import secret
from .sizes import Sizes

if TYPE_CHECKING:
    from ...module_utils._plan.ceph import CephPlan
    from ..plan.types import Plan

# Names of secrets. Hypervisors also have the first: Cinder tells them to log in with it.
KEY, BACKUP_KEY = "ceph/client.cinder", "ceph/client.cinder-backup"
_BACKEND = "rbd1"
_KEYRING, _BACKUP_KEYRING = "cinder-volume-rbd-keyring", "cinder-backup-rbd-keyring"  # names of Secrets
_TRUST, _TRUSTED = "cinder-backup-tls", "/etc/cinder-backup"  # Secret and its mount point, for object backups
_OTHERS = ("scheduler", "volume", "backup")  # beside the API
_JOBS = ["cinder-db-sync", "cinder-ks-user", "cinder-rabbit-init"]
_VOLUME = "Deployment/cinder-volume"
_GIB = 1
_PURGE = 3600  # seconds between attempts; what still has clones fails each time, with a line in the log
_PATIENCE = 60.0  # seconds for an empty volume, which takes two

# Nova's account detaches volumes of every project when no user asks: after an evacuation, or a deletion cut short.
# Cinder's own rules have nothing for services.
_POLICY = {
    "context_is_admin": "role:admin or role:service",
    "xena_system_admin_or_project_reader": (
        "role:admin or role:service or (role:reader and project_id:%(project_id)s)"
    ),
    "xena_system_admin_or_project_member": (
        "role:admin or role:service or (role:member and project_id:%(project_id)s)"
    ),
}


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values. cinder-volume and cinder-backup run once: two would need shared locks."""
    queue = [{"endpoint": "internal", "service": name} for name in ("oslo_messaging", "oslo_db", "identity")]
    pod = resources(memory="256Mi", limit="1Gi", cpu=sizes.cpu(100))
    own = {
        "conf": merge(
            queued("cinder"),
            {
                "cinder": {
                    "DEFAULT": {
                        "default_volume_type": "__DEFAULT__",  # Cinder's built-in type, which needs no job
                        "os_region_name": plan.openstack.region,
                        "volume_name_template": "volume-%s",
                        "enabled_backends": _BACKEND if plan.ceph else "",
                    },
                    "nova": {"region_name": plan.openstack.region},
                },
                "backends": {_BACKEND: _backend(plan.ceph)} if plan.ceph else {},
                "cinder_api_uwsgi": uwsgi(sizes.workers["cinder"]),
                "policy": _POLICY,
            },
        ),
        "dependencies": {
            "static": {
                "api": {"jobs": [*_JOBS, "cinder-ks-endpoints"]},
                **{name: {"services": queue, "jobs": _JOBS} for name in _OTHERS},
            }
        },
        "pod": {
            "replicas": {"scheduler": sizes.pods["cinder"], "volume": sizes.single, "backup": sizes.single},
            "resources": dict.fromkeys(("scheduler", "volume"), pod),  # the chart has no setting for backup
        },
        # The layer storage creates pools and keys. Cinder's built-in volume type is the only one.
        "manifests": {
            "cron_volume_usage_audit": False,
            "deployment_backup": plan.ceph is not None,
            "deployment_volume": plan.ceph is not None,
            "job_backup_storage_init": False,
            "job_bootstrap": False,
            "job_clean": False,
            "job_storage_init": False,
            "pod_rally_test": False,
            "pvc_backup": False,
        },
    }
    names = ChartNames(probes=("api", "cinder-api"), labels=("api", "job", *_OTHERS))
    shared = api_values(plan, sizes, "cinder", memory="256Mi", limit="1Gi", cpu=250, names=names)
    return merge(merge(shared, own), _ceph(plan, plan.ceph) if plan.ceph else {})


def _ceph(plan: Plan, found: CephPlan) -> Values:
    """Return values with Cinder's keys, and backups in a place that the volumes' key cannot write."""
    keys = ceph.access(found, "cinder", keyring=_KEYRING)
    return merge(keys, _objects(plan) if found.backups == "objects" else _pool(found))


def _pool(found: CephPlan) -> Values:
    backups = {
        "backup_driver": "cinder.backup.drivers.ceph.CephBackupDriver",
        "backup_ceph_conf": ceph.CONF,
        "backup_ceph_user": ceph.user(found, "cinder-backup"),
        "backup_ceph_pool": found.pools["backups"].name,
    }
    entry = "ceph_backup_keyring"
    return {
        "conf": {"cinder": {"DEFAULT": backups}},
        "extraObjects": {entry: ceph.key(found, "cinder-backup", keyring=_BACKUP_KEYRING, entry=entry)},
    }


def _objects(plan: Plan) -> Values:
    """Return values with backups in the object store, in the services' project, where no tenant can remove them."""
    certificate = {"secretName": _TRUST, "items": [{"key": "ca.crt", "path": "ca.crt"}], "defaultMode": 0o444}
    place = {"name": _TRUST, "secret": certificate}
    mount = {"name": _TRUST, "mountPath": _TRUSTED, "readOnly": True}
    backups = {
        "backup_driver": "cinder.backup.drivers.swift.SwiftBackupDriver",
        "backup_swift_auth": "single_user",
        "backup_swift_auth_version": "3",
        "backup_swift_auth_url": public_endpoint(plan, "keystone").url,
        "backup_swift_user": "cinder_swift",
        "backup_swift_key": secret("cinder/keystone-swift"),
        **dict.fromkeys(("backup_swift_user_domain", "backup_swift_project_domain", "backup_swift_project"), "service"),
        "backup_swift_ca_cert_file": f"{_TRUSTED}/ca.crt",
    }
    return {
        "conf": {"cinder": {"DEFAULT": backups}},
        "pod": {"mounts": {"cinder_backup": {"cinder_backup": {"volumes": [place], "volumeMounts": [mount]}}}},
    }


def _certificates(plan: Plan) -> tuple[PodCertificate, ...]:
    """Return the Secret with which cinder-backup trusts the object store; it presents no certificate itself."""
    objects = plan.ceph is not None and plan.ceph.backups == "objects"
    return (PodCertificate(user="cinder-backup", secret=_TRUST, usage="client"),) if objects else ()


def _backend(found: CephPlan) -> Values:
    return {
        "volume_driver": "cinder.volume.drivers.rbd.RBDDriver",
        "volume_backend_name": _BACKEND,
        "rbd_ceph_conf": ceph.CONF,
        "rbd_pool": found.pools["volumes"].name,
        "rbd_user": ceph.user(found, "cinder"),
        "rbd_secret_uuid": found.clients["cinder"].uuid,
        "report_discard_supported": True,
        "image_volume_cache_enabled": False,  # a volume of a raw image is cloned at once
        # A deleted volume whose snapshot has clones is in the trash: without this, nobody would empty that.
        "enable_deferred_deletion": True,
        "deferred_deletion_delay": 0,
        "deferred_deletion_purge_interval": _PURGE,
    }


def _ask(client: Client) -> Iterator[Check]:
    """Verify that scheduler and back ends are up, and a volume of 1 GiB can be created and deleted."""
    services = (client.call("GET", "/os-services").body or {}).get("services") or ()
    reporting = judge_services(services)
    yield reporting
    now = datetime.datetime.now(datetime.UTC)
    for left in _listed(client):
        if forgotten(left, now=now):
            _delete(client, str(left["id"]))
    if not reporting.ok:
        return  # a volume would wait for them
    wanted = {"name": PROBE, "size": _GIB}
    volume = (client.call("POST", "/volumes", body={"volume": wanted}, good=202).body or {})["volume"]["id"]
    try:
        status = _settled(client, volume)
    finally:
        _delete(client, volume)
    yield judge_volume(status, left=_left(client, volume))


def _listed(client: Client) -> list[dict[str, Any]]:
    """Return the volumes of verifiers."""
    return list((client.call("GET", f"/volumes/detail?name={PROBE}").body or {}).get("volumes") or ())


def _left(client: Client, volume: str) -> str:
    """Return the status of a deleted volume that stays, or is still there after a while; "" when it is gone."""
    end = time.monotonic() + _PATIENCE
    while True:
        status = next((str(one["status"]) for one in _listed(client) if one["id"] == volume), "")
        if status in ("", "error_deleting") or time.monotonic() > end:
            return status
        time.sleep(0.5)


def _delete(client: Client, volume: str) -> None:
    """Delete a volume in any state: after a host's death it may stay "creating" forever."""
    client.call("POST", f"/volumes/{volume}/action", body={"os-force_delete": {}}, good=202)


def _settled(client: Client, volume: str) -> str:
    """Return a volume's status once it is created, or after a timeout."""
    end = time.monotonic() + _PATIENCE
    while (status := _status(client, volume)) in ("creating", "downloading") and time.monotonic() < end:
        time.sleep(0.5)
    return status


def _status(client: Client, volume: str) -> str:
    return str(((client.call("GET", f"/volumes/{volume}").body or {}).get("volume") or {}).get("status"))


def judge_services(services: Iterable[Mapping[str, Any]]) -> Check:
    """Check that a scheduler and every back end is up. The backup service is up while it reaches its pool."""
    found = {(str(one.get("binary")), str(one.get("host"))): one.get("state") == "up" for one in services}
    up = {binary for (binary, _), state in found.items() if state}
    # A scheduler's host is its pod, and deleted pods stay in the list.
    down = [host for (binary, host), state in found.items() if binary != "cinder-scheduler" and not state]
    missing = [binary for binary in (f"cinder-{name}" for name in _OTHERS) if binary not in up]
    faults = [*(f"{binary} is up nowhere" for binary in missing), *(f"{host} is down" for host in down)]
    return Check(
        name="services", ok=not faults, detail="; ".join(faults) or "scheduler and back ends are up",
        layer="message queue", object=f"Deployment/{missing[0]}" if missing else _VOLUME,
    )  # fmt: skip


def judge_volume(status: str, *, left: str) -> Check:
    """Check that a volume was created, and that nothing is ``left`` of it."""
    wrong = f"a volume that was deleted is {left}" if left else ""
    if status != "available":
        wrong = f"a volume of {_GIB} GiB is {status}"
    detail = wrong or f"{_GIB} GiB made and deleted"
    return Check(name="volume", ok=not wrong, detail=detail, layer="volume", object=_VOLUME)


SERVICE = ServiceRecord(
    name="cinder",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    accounts={
        "nova": "for calls to Nova",
        "service": "whose token goes along with a tenant's",
        "swift": "for backups",  # OpenStack-Helm's chart creates it, with a public default password
    },
    # Nova tells nobody else whether another project's volume is in use. Gateways let in members of a project.
    roles={"nova": "admin,service", "swift": "member"},
    api=PublicApi(
        type="volumev3",
        official="block-storage",
        host="volume",
        path="/v3",
        health="/healthcheck",
        port=8776,
        node_port=30877,
    ),
    images=dict.fromkeys(("cinder_api", "cinder_db_sync", *(f"cinder_{name}" for name in _OTHERS)), "openstack"),
    certificates=_certificates,
    secrets={KEY: "Cinder's key of the site's Ceph", BACKUP_KEY: "key of the backups' pool in it"},
    data=(
        f"conf.backends.{_BACKEND}.rbd_pool",
        "conf.cinder.DEFAULT.enabled_backends",
        "conf.cinder.DEFAULT.backup_driver",
        "conf.cinder.DEFAULT.backup_ceph_pool",
    ),
    workers=WORKERS,
    advice=(
        Advice(
            name="volumes-without-ceph",
            severity="error",
            when=lambda plan, _: plan.ceph is None,
            what="Cinder has nothing to make volumes on",
            why="its volumes are images of a Ceph: every request for one would end in an error",
            remedy="write storage.backend: native and storage hosts, or external and where it is; or leave cinder out; "
            "LVM and NFS come later",
        ),
        Advice(
            name="backups-without-objects",
            severity="error",
            when=lambda plan, _: bool(_certificates(plan)) and GATEWAY not in plan.openstack.services,
            where="storage.backups",
            what="Cinder's backups are to be in an object store that the site has not",
            why="every backup would end in an error",
            remedy="add ceph-rgw to openstack.services, or write storage.backups: pool",
        ),
    ),
    values=values,
    dialect=dialects.cinder,
    verify=probe("cinder", _ask),
)

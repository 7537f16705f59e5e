"""Glance: images."""

from __future__ import annotations

import datetime
import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..health.verification import Check
from . import ceph, glance_trash
from .parts import WORKERS, ChartNames, api_values, merge, queued, uwsgi
from .probing import PROBE, Client, forgotten, probe
from .record import Advice, PublicApi, ServiceRecord, Values
from .sizes import Sizes

if TYPE_CHECKING:
    from ...module_utils._plan.ceph import CephPlan
    from ..plan.types import Plan

KEY = "ceph/client.glance"  # name of the secret
_OBJECT = "Deployment/glance-api"
_KEYRING = "images-rbd-keyring"  # name of the Secret
_VOLUME = {"lab": "4Gi", "edge": "100Gi", "rack": "200Gi", "region": "500Gi"}
_CHUNK = 64 * 1024 * 1024  # bytes per chunk of an upload; with uWSGI's smaller default, snapshots would hang
_THREADS = 8  # of each process: a client that reads slowly holds one
_PYTHON = "/var/lib/openstack/bin/python3"  # by which Glance converts; under uWSGI it does not know its own
_SIZE = 256 * 1024  # bytes of the test image


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values. Without Ceph, images are files on one volume, and one pod serves them."""
    pods = sizes.pods if plan.ceph else {**sizes.pods, "glance": 1}
    shared = api_values(
        plan, replace(sizes, pods=pods), "glance", memory="256Mi", limit="2Gi", cpu=250,
        names=ChartNames(probes=("api", "glance-api"), labels=("api", "job")),
    )  # fmt: skip
    own = {
        "conf": {
            **queued("glance"),
            "glance": {**queued("glance")["glance"], **_imports(plan, pods["glance"])},
            "glance_api_uwsgi": uwsgi(sizes.workers["glance"], threads=_THREADS, **{"chunked-input-limit": _CHUNK}),
        },
        # A file store needs no setup, the layer storage creates pools, and no image is fetched from elsewhere.
        "dependencies": {
            "static": {
                "api": {"jobs": ["glance-db-sync", "glance-rabbit-init", "glance-ks-user", "glance-ks-endpoints"]}
            }
        },
        "manifests": {
            "job_bootstrap": False,
            "job_clean": False,
            "job_storage_init": False,
            "pod_rally_test": False,
            "pvc_tmp": False,
        },
    }
    return merge(merge(shared, own), _rbd(plan, plan.ceph, sizes) if plan.ceph else _files(plan))


def _imports(plan: Plan, pods: int) -> Values:
    """Return the ways of an import: by upload, and from the hosts of the site file.

    Glance fetches a URL by itself, from within the cluster. It compares names, not addresses: a list of forbidden ones
    is passed by any name that leads to them, so that only a list of allowed hosts guards what is inside.
    """
    sources = plan.openstack.image_sources
    # What was staged is in one pod. Ours tell each other which; OpenStack-Helm's cannot.
    direct = ["glance-direct"] if plan.openstack.charts == "builtin" or pods == 1 else []
    found: Values = {
        "DEFAULT": {"enabled_import_methods": f"[{','.join([*direct, *(['web-download'] if sources else [])])}]"},
        "wsgi": {"python_interpreter": _PYTHON},
    }
    if sources:
        found["import_filtering_opts"] = {
            "allowed_hosts": f"[{','.join(sources)}]", "allowed_schemes": "[https,http]", "allowed_ports": "[443,80]",
        }  # fmt: skip
    if plan.ceph:
        # A raw image is cloned in Ceph, any other one is copied and converted for each instance and volume.
        found["image_import_opts"] = {"image_import_plugins": "[image_conversion]"}
        found["image_conversion"] = {"output_format": "raw"}
    return found


def _files(plan: Plan) -> Values:
    return {
        "storage": "pvc",
        "volume": {"class_name": plan.kubernetes.storage_class, "size": _VOLUME[plan.profile]},
    }


def _rbd(plan: Plan, found: CephPlan, sizes: Sizes) -> Values:
    """Return values with images in Ceph. Cinder gets their location, so that a volume of a raw image is a clone."""
    store = {
        "rbd_store_ceph_conf": ceph.CONF,
        "rbd_store_pool": found.pools["images"].name,
        "rbd_store_user": ceph.user(found, "glance"),
        "rbd_thin_provisioning": True,
    }
    options = {"enabled_backends": "rbd:rbd", "show_image_direct_url": True}
    conf = {"glance": {"DEFAULT": options, "glance_store": {"default_backend": "rbd"}, "rbd": store}}
    trash = {"extraObjects": glance_trash.objects(plan, found, sizes, keyring=_KEYRING)}
    return merge({"storage": "rbd", "conf": conf, **ceph.access(found, "glance", keyring=_KEYRING)}, trash)


def _ask(client: Client) -> Iterator[Check]:
    """Verify that an image can be uploaded, read back unchanged with its checksum, and deleted."""
    said = ((client.call("GET", "/info/import").body or {}).get("import-methods") or {}).get("value") or []
    yield judge_methods(said, str(client.context.value("conf.glance.DEFAULT.enabled_import_methods") or "[]"))
    left = client.call("GET", f"/images?name={PROBE}").body or {}
    now = datetime.datetime.now(datetime.UTC)
    for entry in left.get("images") or ():
        if forgotten(entry, now=now):
            client.gone(f"/images/{entry['id']}")
    wanted = {"name": PROBE, "disk_format": "raw", "container_format": "bare", "visibility": "private"}
    image = (client.call("POST", "/images", body=wanted, good=201).body or {})["id"]
    content = secrets.token_bytes(_SIZE)
    try:
        client.call("PUT", f"/images/{image}/file", body=content, content="application/octet-stream", good=204)
        record = client.call("GET", f"/images/{image}").body or {}
        back = client.call("GET", f"/images/{image}/file").data
    finally:
        client.gone(f"/images/{image}")
    yield judge(content, back, algorithm=str(record.get("os_hash_algo")), digest=str(record.get("os_hash_value")))


def judge_methods(said: list[str], wanted: str) -> Check:
    """Check that images come in by the planned ways, and by no other: one of them asks any URL."""
    ok = sorted(said) == sorted(wanted.strip("[]").split(",") if wanted != "[]" else [])
    detail = f"imports: {', '.join(said) or 'none'}" + ("" if ok else f"; planned {wanted}")
    return Check(name="imports", ok=ok, detail=detail, object=_OBJECT)


def judge(content: bytes, back: bytes, *, algorithm: str, digest: str) -> Check:
    """Check that the content came ``back`` unchanged, and that Glance's own digest of it is right."""
    said = f"{len(content)} bytes put, read back and deleted"
    if back != content:
        said = f"of {len(content)} bytes {len(back)} came back" + (", others" if len(back) == len(content) else "")
    elif algorithm not in hashlib.algorithms_available or hashlib.new(algorithm, content).hexdigest() != digest:
        said, back = f"its digest ({algorithm}) is another than that of the image", b""
    return Check(name="image", ok=back == content, detail=said, layer="volume", object=_OBJECT)


SERVICE = ServiceRecord(
    name="glance",
    needs=("keystone",),
    uses=("database", "queue", "cache"),
    api=PublicApi(type="image", host="image", health="/healthcheck", port=9292, node_port=30092),
    images=dict.fromkeys(("glance_api", "glance_db_sync", "glance_metadefs_load"), "openstack"),
    secrets={KEY: "Glance's key of the site's Ceph"},
    data=("storage", "conf.glance.rbd.rbd_store_pool"),
    workers=WORKERS,
    advice=(
        Advice(
            name="images-on-one-volume",
            when=lambda plan, _: plan.ceph is None,
            production=True,
            what="Glance keeps images as files on one volume, and has one pod",
            why="with the host of that volume no image can be read, so no server starts",
            remedy="write storage.backend: native and three storage hosts: then images are in Ceph",
        ),
    ),
    values=values,
    verify=probe("glance", _ask, path="/v2"),
)

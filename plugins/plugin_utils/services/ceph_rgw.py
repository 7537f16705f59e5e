"""The object store: Swift and S3 by gateways (radosgw) on storage hosts. The release sets up account and catalog."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..health.verification import Check
from ..layers.ports import PORTS
from ..layers.storage import GATEWAY
from .parts import node_labels, public_endpoint
from .probing import PROBE, Client, probe
from .record import Advice, PublicApi, ServiceRecord, Values
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_SWIFT, _S3 = "object-store", "s3"
_OBJECT = "radosgw on the storage hosts"
_SIZE = 256 * 1024  # bytes of the test object
_PORT = PORTS["objects"].port
# Parts of the chart that the layer storage replaces.
_OFF = (
    "configmap_ceph_templates", "configmap_test_bin", "deployment_rgw", "helm_tests",
    "ingress_rgw", "job_ceph_rgw_storage_init", "job_rgw_pool", "job_s3_admin", "secret_ingress_tls",
    "secret_keystone_rgw", "secret_s3_rgw", "service_ingress_rgw", "service_rgw",
)  # fmt: skip


def values(_plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values: an account in Keystone and an entry in the catalog."""
    return {
        "labels": node_labels(("job",)),
        "conf": {"rgw_ks": {"enabled": True}},
        "pod": {"resources": {"enabled": sizes.resources}},
        "manifests": dict.fromkeys(_OFF, False),
    }


def endpoints(plan: Plan, _sizes: Sizes, _client: str) -> Values:
    """Return the public endpoint for all uses: the cluster has no Service for it, and pods resolve the public name."""
    url = urlsplit(public_endpoint(plan, GATEWAY, _SWIFT).url)
    return {
        _SWIFT.replace("-", "_"): {
            "name": GATEWAY,
            "host_fqdn_override": {"default": url.hostname, "public": {"host": url.hostname}},
            "scheme": {"default": url.scheme},
            "port": {"api": dict.fromkeys(("default", "public"), url.port or 443)},
            "path": {"default": url.path},
        }
    }


def _ask(client: Client) -> Iterator[Check]:
    """Verify that an object can be put, read back and deleted with a token, and is refused without one."""
    account = client.at(next(one["url"] for one in client.token.catalog if one["type"] == _SWIFT))  # with the project
    content, thing = secrets.token_bytes(_SIZE), f"/{PROBE}/{PROBE}"
    plain = "application/octet-stream"
    _remove(account, thing)  # that of a run that was killed: of a container that is there the answer is another
    account.call("PUT", f"/{PROBE}", body=b"", content=plain, good=201)
    try:
        account.call("PUT", thing, body=content, content=plain, good=201)
        back = account.call("GET", thing).data
        alone = client.context.request("GET", f"{account.url}{thing}").status
    finally:
        _remove(account, thing)
    yield judge_object(sent=content, back=back)
    yield judge_refusal(alone)


def _remove(account: Client, thing: str) -> None:
    account.gone(thing)
    account.gone(f"/{PROBE}")


def judge_object(*, sent: bytes, back: bytes) -> Check:
    """Check that an object came back unchanged."""
    ok = sent == back
    detail = f"{len(sent)} bytes put, read and deleted" if ok else f"{len(back)} other bytes come back of {len(sent)}"
    return Check(name="object", ok=ok, detail=detail, layer="volume", object=_OBJECT)


def judge_refusal(status: int) -> Check:
    """Check that a request without a token was refused."""
    ok = status in (401, 403)
    detail = "refused without a token" if ok else f"without a token it answers {status}"
    return Check(name="refusal", ok=ok, detail=detail, layer="credentials", object=_OBJECT)


SERVICE = ServiceRecord(
    name=GATEWAY,
    instead_of="swift",
    title="Object store",
    needs=("keystone",),
    accounts={"swift": "that gateways ask about tokens with"},
    nobody_at=("keystone",),
    api=PublicApi(
        type=_SWIFT, host=_SWIFT, path="/swift/v1/AUTH_%(project_id)s", health="/swift/healthcheck", port=_PORT,
        role="storage",
    ),
    more_apis=(
        PublicApi(type=_S3, host=_S3, health="/swift/healthcheck", port=_PORT, role="storage", in_catalog=False),
    ),
    images=dict.fromkeys(("ks_user", "ks_service", "ks_endpoints"), "openstack-client"),
    advice=(
        Advice(
            name="objects-without-ceph",
            severity="error",
            when=lambda plan, _: not (plan.ceph and plan.ceph.backend == "native"),
            what="the object store has no storage hosts with the backend native",
            why="its gateways run on them, and objects are in the Ceph of the site's own",
            remedy="write storage.backend: native and machines.storage, or leave ceph-rgw out",
        ),
    ),
    endpoints=endpoints,
    values=values,
    verify=probe(GATEWAY, _ask),
)  # fmt: skip

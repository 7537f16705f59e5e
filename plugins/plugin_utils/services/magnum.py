"""Magnum: Kubernetes clusters for tenants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..health.verification import Check
from . import dialects
from .parts import WORKERS, ChartNames, api_values, merge, queued, resources, uwsgi
from .probing import Client, probe
from .record import Advice, PublicApi, ServiceRecord, Values
from .secrets import account, secret
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_NAMES = ChartNames(probes=None, labels=("api", "conductor", "job"))
_DOMAIN_ADMIN = "magnum/trustee-domain-admin"
_CLIENTS = ("barbican", "cinder", "glance", "heat", "neutron", "nova", "octavia")


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values: the API, and the conductor that creates clusters."""
    region, pods = plan.openstack.region, sizes.pods["magnum"]
    identity = f"http://keystone-api.{plan.openstack.namespace}.svc.{plan.kubernetes.dns_domain}:5000/v3"
    place = {"project_name": "service", "user_domain_name": "service", "project_domain_name": "service"}
    client = {"region_name": region, "endpoint_type": "internalURL"}  # pods lack the CA of the public ones
    own = {
        "endpoints": {
            "identity": {
                "auth": {
                    # Administers the domain of the clusters' users.
                    "magnum_stack_user": {
                        "region_name": region, "domain_name": "magnum", "role": "admin",
                        "username": "magnum-domain", "password": secret(_DOMAIN_ADMIN),
                    }
                }
            }
        },
        "conf": {
            "magnum": {
                **queued("magnum")["magnum"],
                **{f"{name}_client": client for name in _CLIENTS},
                "magnum_client": {"region_name": region},
                # It logs in at www_authenticate_uri, and the charts do not set its own account.
                "keystone_authtoken": {"www_authenticate_uri": identity},
                "keystone_auth": {
                    "auth_type": "password", "auth_url": identity, **account("magnum", "magnum/keystone"), **place,
                },
                "trust": {"trustee_keystone_region_name": region},
            },
            # This release has no script for the chart's `wsgi-file`.
            "magnum_api_uwsgi": uwsgi(
                sizes.workers["magnum"], module="magnum.wsgi.api:application", **{"wsgi-file": None}
            ),
        },
        "pod": {
            "replicas": {"conductor": pods},
            "resources": {"conductor": resources(memory="256Mi", limit="1Gi", cpu=sizes.cpu(50))},
        },
        "manifests": {"job_bootstrap": False},
    }  # fmt: skip
    return merge(api_values(plan, sizes, "magnum", memory="256Mi", limit="1Gi", cpu=100, names=_NAMES), own)


def _ask(client: Client) -> Iterator[Check]:
    """Verify that clusters are listed and a conductor is up."""
    client.call("GET", "/clusters?limit=1")
    yield judge((client.call("GET", "/mservices").body or {}).get("mservices") or ())


def judge(listed: Iterable[Mapping[str, Any]]) -> Check:
    """Check that a conductor is up; entries of deleted pods stay in the list."""
    ok = any(one.get("binary") == "magnum-conductor" and one.get("state") == "up" for one in listed)
    detail = "clusters are listed, a conductor is up" if ok else "nothing is heard of a conductor"
    return Check(name="conductor", ok=ok, object="StatefulSet/magnum-conductor", detail=detail)


SERVICE = ServiceRecord(
    name="magnum",
    needs=("keystone", "heat", "nova", "neutron", "barbican"),
    uses=("database", "queue", "cache"),
    advice=(
        Advice(
            name="needless-magnum",
            when=lambda plan, _: plan.profile not in ("rack", "region"),
            what="magnum in a site of profile {profile}",
            why="it adds Heat, Barbican and a trust to what Cluster API does with an application credential",
            remedy="leave it out unless tenants must order clusters from OpenStack itself",
        ),
        Advice(
            name="clusters-not-seen",
            when=lambda *_: True,
            what="Magnum's one driver makes clusters by Heat, and nobody has made one with this version",
            why="its API and conductor answered in a test, which has no Heat; Cluster API's driver is not in its image",
            remedy="leave magnum out of a site that people rely on; or try it, and tell what you saw",
        ),
    ),
    roles={"magnum": "admin,service"},  # it makes trusts, users and stacks of other projects; nobody tried it with less
    api=PublicApi(
        type="container-infra",
        official="container-infrastructure-management",
        host="container-infra",
        path="/v1",
        port=9511,
        node_port=30511,
    ),
    dialect=dialects.magnum,
    images=dict.fromkeys(("magnum_api", "magnum_conductor", "magnum_db_sync"), "openstack-more"),
    secrets={_DOMAIN_ADMIN: "administrator of the domain of the users that clusters act as"},
    workers=WORKERS,
    values=values,
    verify=probe("magnum", _ask),
)

"""Barbican: tenants' secrets, encrypted with a key of the site's store."""

from __future__ import annotations

import datetime
import secrets as random
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..health.verification import Check
from .parts import WORKERS, ChartNames, api_values, merge, public_endpoint, uwsgi
from .probing import PROBE, Client, forgotten, probe
from .record import Advice, PublicApi, ServiceRecord, Values
from .secrets import secret
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_KEK = "barbican/kek"  # key that encrypts each project's key; a Fernet key
_NAMES = ChartNames(probes=("api", "barbican-api"))


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values. The API does all work itself, without the message queue."""
    own = {
        "conf": {
            "barbican": {
                "DEFAULT": {"host_href": public_endpoint(plan, "barbican").url},  # prefix of every secret's URL
                "secretstore": {"enabled_secretstore_plugins": "store_crypto"},
                "crypto": {"enabled_crypto_plugins": "simple_crypto"},
                "simple_crypto_plugin": {"kek": secret(_KEK)},
                "oslo_messaging_notifications": {"driver": "noop"},
                "oslo_middleware": {"enable_proxy_headers_parsing": True},
            },
            "barbican_api_uwsgi": uwsgi(sizes.workers["barbican"]),
            # No data were ever encrypted with the chart's own key, which is public.
            "simple_crypto_kek_rewrap": {"old_kek": ""},
        },
        "dependencies": {
            "static": {
                "api": {
                    "jobs": ["barbican-db-sync", "barbican-ks-user", "barbican-ks-endpoints"],
                    "services": [{"endpoint": "internal", "service": name} for name in ("oslo_db", "identity")],
                }
            }
        },
        "manifests": {"job_bootstrap": False, "job_rabbit_init": False, "pod_test": False, "secret_rabbitmq": False},
    }
    return merge(api_values(plan, sizes, "barbican", memory="256Mi", limit="1Gi", cpu=250, names=_NAMES), own)


def _ask(client: Client) -> Iterator[Check]:
    """Verify that a secret can be stored, read back and deleted."""
    now = datetime.datetime.now(datetime.UTC)
    for left in (client.call("GET", f"/secrets?name={PROBE}").body or {}).get("secrets") or ():
        if forgotten({"name": left["name"], "created_at": left["created"]}, now=now):
            client.gone(_path(left["secret_ref"]))
    word = random.token_urlsafe()
    wanted = {"name": PROBE, "payload": word, "payload_content_type": "text/plain"}
    reference = str((client.call("POST", "/secrets", body=wanted, good=201).body or {})["secret_ref"])
    try:
        back = replace(client, headers={"Accept": "text/plain"}).call("GET", f"{_path(reference)}/payload").data
    finally:
        client.gone(_path(reference))
    yield judge(word, back.decode(errors="replace"), reference=reference, url=client.url)


def _path(reference: str) -> str:
    return f"/secrets/{reference.rpartition('/')[2]}"


def judge(word: str, back: str, *, reference: str, url: str) -> Check:
    """Check that a secret came ``back`` unchanged, and that its URL is reachable for clients."""
    wrong = "" if back == word else "a secret is read back as something else than was stored"
    if not reference.startswith(f"{url}/"):
        wrong = f"a secret is called {reference}: clients reach {url}"
    return Check(
        name="secret", ok=not wrong, object="Deployment/barbican-api", detail=wrong or "stored, read back and deleted"
    )


SERVICE = ServiceRecord(
    name="barbican",
    needs=("keystone",),
    uses=("database", "cache"),
    optional=("queue",),  # the charts' Secrets contain an account, which is not used
    api=PublicApi(type="key-manager", host="key-manager", health="/healthcheck", port=9311, node_port=30486),
    images={"barbican_api": "openstack-more", "barbican_db_sync": "openstack-more"},
    secrets={_KEK: "encrypts the keys that encrypt tenants' secrets; without it all of them are lost"},
    workers=WORKERS,
    advice=(
        Advice(
            name="keys-in-software",
            when=lambda *_: True,
            production=True,
            what="Barbican encrypts with a key of the site's secret store, in its pods' memory",
            why="whoever reads Secret barbican-etc and the database reads every tenant's secrets",
            remedy="name an HSM or a Vault in openstack.overrides.barbican (conf.barbican.secretstore), or accept it",
        ),
    ),
    values=values,
    verify=probe("barbican", _ask, path="/v1"),
)

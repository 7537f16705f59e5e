"""Endpoints several charts must agree on: each is written once, and every chart takes its part from here.

The shape is the charts' own: ``hosts``, ``port``, ``scheme``, ``path`` by endpoint (``public``, ``internal``,
``admin``), ``auth`` by account.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ..plan.types import EndpointPlan, Plan
from .secrets import secret
from .sizes import Sizes

Values = dict[str, Any]
KEYSTONE_PORT = 5000
RABBITMQ_ADMIN = "rabbitmq"


def account(username: str, password: str) -> Values:
    """Return an account: its name and the reference to the secret called ``password``."""
    return {"username": username, "password": secret(password)}


def public_endpoint(plan: Plan, service: str) -> EndpointPlan:
    """Return the public endpoint of ``service``. Raises KeyError when the plan's edge has none."""
    for endpoint in plan.edge.endpoints:
        if endpoint.service == service:
            return endpoint
    raise KeyError(f"the plan's edge has no endpoint for {service}, which has an API")


def oslo_db(*, service: str | None = None) -> Values:
    """Return the database: its administrator, and the account of ``service`` when one is given."""
    auth = {"admin": account("root", "mariadb/root")}
    if service is None:
        return {"auth": auth}
    return {"auth": {**auth, service: account(service, f"{service}/db")}, "path": f"/{service}"}


def oslo_messaging(sizes: Sizes, *, service: str) -> Values:
    """Return the message queue as ``service`` uses it.

    The transport URL lists one pod name a member, so the number of members must be RabbitMQ's own.
    """
    return {
        "auth": {"admin": account(RABBITMQ_ADMIN, "rabbitmq/admin"), service: account(service, f"{service}/rabbitmq")},
        "statefulset": {"replicas": sizes.rabbitmq, "name": "rabbitmq-rabbitmq"},
        "path": f"/{service}",
    }


def oslo_cache() -> Values:
    """Return the cache. Without this key the charts make one up at every render, which rolls every pod."""
    return {"auth": {"memcache_secret_key": secret("memcached/secret-key")}}


def identity(plan: Plan) -> Values:
    """Return Keystone: the administrator's account, the name inside the cluster, and the public URL of the catalog.

    TLS ends at the site's edge, so the public endpoint has a scheme, a name and a port of its own.
    """
    public = urlsplit(public_endpoint(plan, "keystone").url)
    scope = {
        "region_name": plan.openstack.region,
        "user_domain_name": "default",
        "project_domain_name": "default",
        "default_domain_id": "default",
    }
    return {
        "auth": {
            "admin": {**scope, **account("admin", "keystone/admin"), "project_name": "admin"},
            "test": {**scope, **account("keystone-test", "keystone/test"), "role": "admin", "project_name": "test"},
        },
        # The name "public" is given to the ingress of the charts of the tag 2026.1.0: it must not be the API's own.
        "hosts": {"default": "keystone-api", "internal": "keystone-api", "public": "keystone"},
        "host_fqdn_override": {"public": {"host": public.hostname}},
        "scheme": {"default": "http", "public": public.scheme, "service": "http"},
        "port": {
            "api": {
                "default": KEYSTONE_PORT,
                "internal": KEYSTONE_PORT,
                "service": KEYSTONE_PORT,
                "public": public.port or {"https": 443, "http": 80}[public.scheme],
            }
        },
        "path": {"default": public.path or "/v3"},
    }

"""Keystone: the API in Apache, its database, keys, and first catalog entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import GroundupError
from ..health.verification import Check, Layer, Verification
from . import RECORDS, federation, keystone_logins
from .parts import api_endpoint, api_values, merge, public_endpoint
from .record import PublicApi, ServiceRecord, Values
from .secrets import account, secret
from .sizes import Sizes

if TYPE_CHECKING:
    from ..health.context import VerifierContext
    from ..layers.scales import Scale
    from ..plan.types import Plan

ADMIN = {
    "username": "admin", "project_name": "admin", "user_domain_name": "default", "project_domain_name": "default",
}  # fmt: skip
SERVICE_ROLE = "service"  # for calls between services; it is nothing in Keystone
ADMIN_CREDENTIAL = "keystone/admin"  # name of the secret
_OBJECT = "Deployment/keystone-api"

_API = PublicApi(type="identity", host="identity", path="/v3", health="/v3/", port=5000, node_port=30500)


def endpoints(plan: Plan, _sizes: Sizes, client: str) -> Values:
    """Return Keystone's endpoint and the accounts of the administrator and of the client, or of the chart's test."""
    shared = {**ADMIN, "region_name": plan.openstack.region}
    admin = {**shared, "password": secret(ADMIN_CREDENTIAL), "default_domain_id": "default"}
    if client:
        place = {"project_name": "service", "user_domain_name": "service", "project_domain_name": "service"}
        user, roles = {**shared, **place}, RECORDS[client].roles
        auth = {"admin": admin}
        if "keystone" not in RECORDS[client].nobody_at:
            auth[client] = {**user, "role": roles.get(client, SERVICE_ROLE), **account(client, f"{client}/keystone")}
        for key in RECORDS[client].accounts:
            own = account(f"{client}_{key}", f"{client}/keystone-{key}")
            auth[key] = {**user, "role": roles.get(key, SERVICE_ROLE), **own}
        return merge(api_endpoint(plan, "keystone", _API), {"identity": {"auth": auth}})
    test = {**admin, **account("keystone-test", "keystone/test"), "role": "admin", "project_name": "test"}
    return merge(api_endpoint(plan, "keystone", _API), {"identity": {"auth": {"admin": admin, "test": test}}})


def _wsgi(processes: int, plan: Plan) -> str:
    """Return Apache's configuration: one daemon group, so that a slow request does not block Apache itself.

    One thread a process: Keystone's middleware keeps the token of a request as an attribute of its own
    (keystone/server/flask/request_processing/middleware/auth_context.py), where the next thread puts its token before
    the first has read it, and a user's request has an administrator's roles.
    A request that waited for a process longer than its client does is refused (504), else a busy Keystone works through
    a queue of requests that nobody waits for any more, and each new one waits behind them.
    """
    group = (
        f"WSGIDaemonProcess keystone-public processes={processes} threads=1 queue-timeout={_QUEUE} "
        "user=keystone group=keystone home=/tmp display-name=%{GROUP}\n"
    )
    modules = hosts = passes = ""
    request = "%r"
    if plan.identity.providers:
        # All virtual hosts use the group, and queries have codes of logins in them.
        modules, hosts = federation.apache_modules() + group, federation.apache_hosts(plan)
        passes, request = federation.apache_passes(plan), "%m %U %H"
    own = "" if plan.identity.providers else f"    {group}"
    return f"""\
{modules}Listen 0.0.0.0:{_API.port}
LogFormat "%{{X-Forwarded-For}}i %l %u %t \\"{request}\\" %>s %b %D \\"%{{User-Agent}}i\\"" proxied
CustomLog /dev/stdout proxied
ErrorLogFormat "%{{cu}}t %M"
ErrorLog /dev/stdout

<VirtualHost *:{_API.port}>
{own}{passes}    WSGIProcessGroup keystone-public
    WSGIScriptAlias / /var/www/cgi-bin/keystone/wsgi.py
    WSGIApplicationGroup %{{GLOBAL}}
    WSGIPassAuthorization On
    LimitRequestBody 114688
    <Directory /var/www/cgi-bin/keystone>
        Require all granted
    </Directory>
</VirtualHost>
{hosts}"""


_QUEUE = 30  # seconds
# Each answers one request at a time, and a login costs 0.3 s of CPU by design (bcrypt).
_PROCESSES: Mapping[Scale, int] = {"tiny": 3, "small": 6, "medium": 8, "large": 12}
# Apache only forwards requests to the daemon group: one process of its own with a few threads is enough.
_MPM = """\
<IfModule mpm_event_module>
  ServerLimit         4
  StartServers        1
  MinSpareThreads     25
  MaxSpareThreads     75
  ThreadsPerChild     25
  MaxRequestWorkers   100
</IfModule>
"""


# keystone-manage makes the administrator admin of the project and of the system. The rules for people's passwords lock
# nobody out whom a run logs in as.
_BOOTSTRAP = """\
openstack role add --user "${OS_USERNAME}" --domain "${OS_DEFAULT_DOMAIN}" admin
openstack user set --domain "${OS_USER_DOMAIN_NAME}" --ignore-lockout-failure-attempts --ignore-password-expiry \\
  --ignore-change-password-upon-first-use "${OS_USERNAME}"
"""


def values(plan: Plan, sizes: Sizes) -> Values:
    public = urlsplit(public_endpoint(plan, "keystone").url)
    own = {
        "bootstrap": {"script": _BOOTSTRAP},
        "conf": {
            "keystone": {
                "DEFAULT": {"public_endpoint": f"{public.scheme}://{public.netloc}"},
                # Each request remembers what it read, and nothing outlives it: all Keystones refuse a revoked token at
                # once, and no other pod can write what this one reads.
                "cache": {"enabled": True, "backend": "dogpile.cache.null"},
                # Properties of a domain are part of the API, as is that of `cloud.grants`; the schema of answers has
                # none, and each such answer would be an error in the log.
                "api": {"response_validation": "ignore"},
                "oslo_middleware": {"enable_proxy_headers_parsing": True},
                # Notifications have no consumer yet, and with a driver a broken queue would stall every login.
                "oslo_messaging_notifications": {"driver": "noop"},
            },
            "wsgi_keystone": _wsgi(sizes.workers["keystone"], plan),
            "mpm_event": _MPM,
        },
        # Without domains to manage that job is off: the bootstrap waits for the database only.
        "dependencies": {"static": {"bootstrap": {"jobs": ["keystone-db-sync"]}}},
        "manifests": {
            "job_credential_cleanup": False,
            "job_domain_manage": False,
            "job_rabbit_init": False,
            "pod_rally_test": False,
            "secret_rabbitmq": False,
        },
    }
    own = merge(api_values(plan, sizes, "keystone", memory="1Gi", limit="4Gi", cpu=500), own)
    own = merge(own, keystone_logins.values(plan.identity.logins))
    own = merge(own, federation.keystone_values(plan))
    return merge(own, _directories(plan)) if plan.identity.domains else own


def _directories(plan: Plan) -> Values:
    """Return values of domains whose users a directory has: a job makes them, and puts their settings into Keystone."""
    domains = {
        name: {
            "identity": {"driver": "ldap"},
            "ldap": {**one.options, **({"password": {"$secret": one.secret}} if one.secret else {})},
        }
        for name, one in plan.identity.domains.items()
    }
    # One file for all: the LDAP library has one list of trusted CAs for a whole process.
    trusted = "\n".join(dict.fromkeys(one.ca.strip() for one in plan.identity.domains.values() if one.ca))
    return {
        "conf": {"ks_domains": domains},
        "endpoints": {"ldap": {"auth": {"client": {"tls": {"ca": f"{trusted}\n"}}}}} if trusted else {},
        "manifests": {"job_domain_manage": True},
    }


def verify(context: VerifierContext) -> Verification:
    """Verify that the public URL issues a scoped token, and that its catalog contains that URL."""
    url = public_endpoint(context.plan, "keystone").url.rstrip("/")
    answer = token(context)
    if isinstance(answer, Check):
        return Verification(checks=(answer,))
    listed = [entry["url"].rstrip("/") for entry in answer.catalog if entry["type"] == _API.type]
    scope = f"scoped to {answer.project}, expires {answer.expires}"
    own = f"the catalog has {', '.join(listed) or 'no identity endpoint'}; it is {url}"
    logins = context.plan.identity.logins
    rules = context.request(
        "GET", f"{url}/domains/default/config/security_compliance", headers={"X-Auth-Token": answer.id}
    )
    return Verification(
        checks=(
            Check(name="token", ok=True, detail=scope, object=_OBJECT),
            Check(name="endpoint", ok=url in listed, detail=own, object=_OBJECT),
            keystone_logins.judge_life(answer.issued, answer.expires, logins.token_life),
            keystone_logins.judge_passwords(rules.body, logins),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token of the administrator."""

    id: str = field(repr=False)
    project: str
    expires: str
    issued: str = ""
    catalog: list[dict[str, str]]  # type, name, region and URL of every public endpoint


def token(context: VerifierContext) -> Token | Check:
    """Return a token from the public URL, or the failed check. ``context``: of Keystone's release."""
    base = public_endpoint(context.plan, "keystone").url.rstrip("/")
    try:
        answer = context.request(
            "POST", f"{base}/auth/tokens", body=scoped_request(context.value("endpoints.identity.auth.admin"))
        )
    except GroundupError as error:
        return _refused(f"{error.what} ({error.where})", layer="network")
    if answer.status == 401:
        return _refused(f"{base} refuses the administrator's password", layer="credentials")
    if answer.status != 201 or "x-subject-token" not in answer.headers or not isinstance(answer.body, dict):
        return _refused(f"{base}/auth/tokens answers {answer.status}", layer="service")
    issued = answer.body["token"]
    project = (issued.get("project") or {}).get("name")
    if not project:
        return _refused("it has no scope", layer="service")
    public = [
        {"type": str(service.get("type")), "name": str(service.get("name")), "region": str(endpoint.get("region")),
         "url": str(endpoint.get("url"))}
        for service in issued.get("catalog") or ()
        for endpoint in service.get("endpoints") or ()
        if endpoint.get("interface") == "public"
    ]  # fmt: skip
    return Token(
        id=answer.headers["x-subject-token"], project=project, expires=str(issued.get("expires_at")),
        issued=str(issued.get("issued_at")),
        catalog=sorted(public, key=lambda entry: entry["type"]),
    )  # fmt: skip


def _refused(detail: str, *, layer: Layer) -> Check:
    return Check(name="token", ok=False, detail=detail, layer=layer, object=_OBJECT)


def scoped_request(admin: Mapping[str, Any]) -> Values:
    """Return the request for the administrator's token. ``admin``: `ADMIN`, and the password."""
    user = {
        "name": admin["username"], "password": admin["password"], "domain": {"name": admin["user_domain_name"]},
    }  # fmt: skip
    project = {"name": admin["project_name"], "domain": {"name": admin["project_domain_name"]}}
    identity = {"methods": ["password"], "password": {"user": user}}
    return {"auth": {"identity": identity, "scope": {"project": project}}}


SERVICE = ServiceRecord(
    name="keystone",
    uses=("database", "cache"),
    optional=("queue",),  # notifications are off: a broken queue cannot stall logins
    api=_API,
    images={
        "keystone_api": "openstack",
        "keystone_db_sync": "openstack",
        "keystone_fernet_setup": "openstack",
        "keystone_fernet_rotate": "openstack",
        "keystone_credential_setup": "openstack",
        "keystone_credential_rotate": "openstack",
        "keystone_domain_manage": "openstack",
        "keystone_credential_cleanup": "openstack-client",
        "bootstrap": "openstack-client",
        "ks_user": "openstack-client",
        "test": "openstack-client",
    },
    secrets={ADMIN_CREDENTIAL: "the cloud's administrator", "keystone/test": "account of the charts' own tests"},
    client_images=dict.fromkeys(("ks_user", "ks_service", "ks_endpoints"), "openstack-client"),
    client_account=("keystone", "service user"),
    workers=_PROCESSES,
    endpoints=endpoints,
    values=values,
    verify=verify,
)

"""Keystone: the API under Apache, its database, its keys, and the catalog's first entry."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .parts import api_endpoint, api_values, merge, public_endpoint
from .record import PublicApi, ServiceRecord, Values
from .secrets import account
from .sizes import Sizes

if TYPE_CHECKING:
    from ..plan.types import Plan

_API = PublicApi(type="identity", host="identity", path="/v3", health="/v3/", port=5000, node_port=30500)
_PROCESSES = {"lab": 1, "edge": 2, "region": 4}  # each is a Python process of about 120 MiB


def endpoints(plan: Plan, _sizes: Sizes, client: str) -> Values:
    """Return Keystone with the administrator's account and that of the client: its service user, or the test's."""
    scope = {"region_name": plan.openstack.region, "user_domain_name": "default", "project_domain_name": "default"}
    everybody = {**scope, "default_domain_id": "default"}
    admin = {**everybody, **account("admin", "keystone/admin"), "project_name": "admin"}
    if client:
        user = {**scope, **account(client, f"{client}/keystone"), "role": "admin", "project_name": "service"}
        user |= {"user_domain_name": "service", "project_domain_name": "service"}
        return merge(api_endpoint(plan, "keystone", _API), {"identity": {"auth": {"admin": admin, client: user}}})
    test = {**everybody, **account("keystone-test", "keystone/test"), "role": "admin", "project_name": "test"}
    return merge(api_endpoint(plan, "keystone", _API), {"identity": {"auth": {"admin": admin, "test": test}}})


def _wsgi(processes: int) -> str:
    """Return Apache's part: one daemon group, so that a slow request does not hold up Apache itself."""
    return f"""\
Listen 0.0.0.0:{_API.port}
LogFormat "%{{X-Forwarded-For}}i %l %u %t \\"%r\\" %>s %b %D \\"%{{User-Agent}}i\\"" proxied
CustomLog /dev/stdout proxied
ErrorLogFormat "%{{cu}}t %M"
ErrorLog /dev/stdout

<VirtualHost *:{_API.port}>
    WSGIDaemonProcess keystone-public processes={processes} threads=4 \
user=keystone group=keystone home=/tmp display-name=%{{GROUP}}
    WSGIProcessGroup keystone-public
    WSGIScriptAlias / /var/www/cgi-bin/keystone/wsgi.py
    WSGIApplicationGroup %{{GLOBAL}}
    WSGIPassAuthorization On
    LimitRequestBody 114688
    <Directory /var/www/cgi-bin/keystone>
        Require all granted
    </Directory>
</VirtualHost>
"""


# Apache itself only passes requests on to the daemon group: a few threads in one process are plenty for each pod.
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


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values."""
    public = urlsplit(public_endpoint(plan, "keystone").url)
    own = {
        "conf": {
            "keystone": {
                "DEFAULT": {"public_endpoint": f"{public.scheme}://{public.netloc}"},
                "oslo_middleware": {"enable_proxy_headers_parsing": True},
                # Nobody listens to its notifications yet, and with a driver a sick queue would stall every login.
                "oslo_messaging_notifications": {"driver": "noop"},
            },
            "wsgi_keystone": _wsgi(_PROCESSES[plan.profile]),
            "mpm_event": _MPM,
        },
        # No job of its own for domains while there is none to manage: the bootstrap then waits for the database alone.
        "dependencies": {"static": {"bootstrap": {"jobs": ["keystone-db-sync"]}}},
        "manifests": {
            "job_credential_cleanup": False,
            "job_domain_manage": False,
            "job_rabbit_init": False,
            "pod_rally_test": False,
            "secret_rabbitmq": False,
        },
    }
    return merge(api_values(plan, sizes, "keystone", memory="512Mi", limit="2Gi", cpu="500m"), own)


SERVICE = ServiceRecord(
    name="keystone",
    title="Keystone",
    uses=("database", "cache"),
    optional=("queue",),  # its notifications are off: a sick queue cannot stall logins
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
        "db_init": "openstack-client",
        "db_drop": "openstack-client",
        "ks_user": "openstack-client",
        "test": "openstack-client",
        "rabbit_init": "rabbitmq",
    },
    secrets={"keystone/admin": "the cloud's administrator", "keystone/test": "account of the charts' own tests"},
    client_account=("keystone", "service user"),
    endpoints=endpoints,
    values=values,
)

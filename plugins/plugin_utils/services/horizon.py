"""Horizon: the dashboard. It uses the other services with its users' accounts, and has none of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..health.verification import Verification
from ..layers.storage import GATEWAY
from . import federation
from .browsing import LOGIN, Browser, judge
from .parts import WORKERS, anti_affinity, merge, node_labels, public_endpoint, resources
from .record import PodCertificate, PublicApi, ServiceRecord, Values
from .secrets import secret
from .sizes import Sizes
from .timeouts import TIMEOUTS

if TYPE_CHECKING:
    from ..health.context import VerifierContext
    from ..plan.types import Plan

_KEY = "horizon/secret-key"
_PORT = 80
_DOMAIN = "Default"  # of the administrator; a form without a choice of domains takes no notice of it
_TRUST, _TRUSTED = "horizon-tls", "/etc/horizon-tls"  # Secret and its mount point, if there is an object store
_CONSOLE = "compute-novnc-proxy"  # serves the console page that the dashboard shows in a frame


def _apache(processes: int, *, frames: str, forms: str) -> str:
    """Return Apache's configuration: who may be framed by the dashboard (``frames``), where its ``forms`` may lead."""
    policy = f"frame-ancestors 'self'; frame-src {frames}; object-src 'none'; base-uri 'self'; form-action {forms}"
    return f"""\
LogFormat "%{{X-Forwarded-For}}i %l %u %t \\"%r\\" %>s %b %D \\"%{{User-Agent}}i\\"" proxied
CustomLog /dev/stdout proxied
ErrorLogFormat "%{{cu}}t %M"
ErrorLog /dev/stdout

<IfModule !headers_module>
    LoadModule headers_module /usr/lib/apache2/modules/mod_headers.so
</IfModule>

<VirtualHost *:{_PORT}>
    <IfModule reqtimeout_module>
        RequestReadTimeout header=20-40,MinRate=500 body={TIMEOUTS.server_client},MinRate=500
    </IfModule>
    WSGIDaemonProcess horizon processes={processes} threads=4 \
user=horizon group=horizon home=/tmp display-name=%{{GROUP}}
    WSGIProcessGroup horizon
    WSGIApplicationGroup %{{GLOBAL}}
    WSGIScriptAlias / /var/www/cgi-bin/horizon/django.wsgi
    <Directory /var/www/cgi-bin/horizon>
        Require all granted
    </Directory>

    Alias /static /var/www/html/horizon
    <Directory /var/www/html/horizon>
        Options FollowSymLinks
        AllowOverride None
        Require all granted
        Header set Cache-Control "max-age=86400"
    </Directory>

    Header always set Content-Security-Policy "{policy}"
    Header always set X-Content-Type-Options nosniff
    Header always set Referrer-Policy same-origin
</VirtualHost>
"""


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values. Sessions are in the database: all pods share them, and a lost cache loses none."""
    endpoint, pods = public_endpoint(plan, "horizon"), sizes.pods["horizon"]
    console = [f"https://{other.name}" for other in plan.edge.endpoints if other.type == _CONSOLE]
    # TLS ends at the edge: cookies are marked secure though Apache serves http. Scripts must read the CSRF token.
    settings = {
        "horizon_secret_key": secret(_KEY),
        "allowed_hosts": [endpoint.name],
        "secure_proxy_ssl_header": True,
        "csrf_cookie_secure": "True",
        "session_cookie_secure": "True",
        "session_cookie_httponly": "True",
        "session_engine": "django.contrib.sessions.backends.db",
        "cache_backend": "django.core.cache.backends.locmem.LocMemCache",  # without Memcached no page would open
        "disallow_iframe_embed": "True",
        "ssl_no_verify": "False",
        "keystone_multidomain_support": "False",
        "log_level": "INFO",
    }
    own = {
        "labels": node_labels(("dashboard", "job")),
        "endpoints": {"dashboard": {"path": {"healthcheck": endpoint.health_path}}},
        "dependencies": {
            "static": {
                "dashboard": {
                    "services": [{"endpoint": "internal", "service": other} for other in ("oslo_db", "identity")]
                }
            }
        },
        "network": {"node_port": {"enabled": True, "port": endpoint.node_port}},
        "conf": {
            "software": {
                "apache2": {"site_dir": "/etc/apache2/sites-enabled", "conf_dir": "/etc/apache2/conf-enabled"}
            },
            "horizon": {
                "apache": _apache(
                    sizes.workers["horizon"],
                    frames=" ".join(["'self'", *console]),
                    forms=" ".join(["'self'", *federation.form_targets(plan)]),
                ),
                "local_settings": {"config": settings},
            },
        },
        "pod": {
            "replicas": {"server": pods},
            "affinity": anti_affinity(sizes, members=pods, quorum=False),
            "lifecycle": {
                "upgrades": {"deployments": {"rolling_update": {"max_unavailable": 0, "max_surge": 1}}},
                "disruption_budget": {"horizon": {"min_available": 1 if pods > 1 else 0}},
            },
            "resources": {
                "enabled": sizes.resources,
                "server": resources(memory="256Mi", limit="2Gi", cpu=sizes.cpu(250)),
            },
        },
        "manifests": {"pod_helm_test": False},
    }
    # A login ends with its token at the latest, and not before.
    raw = {"SESSION_TIMEOUT": plan.identity.logins.token_life}
    own = merge(own, {"conf": {"horizon": {"local_settings": {"config": {"raw": raw}}}}})
    own = merge(own, federation.dashboard_values(plan))
    own = merge(own, _objects()) if _certificates(plan) else own
    return merge(own, _domains(plan)) if plan.identity.domains else own


def _domains(plan: Plan) -> Values:
    """Return values of a login that offers the domains of the site file beside Keystone's own."""
    offered = {_DOMAIN: _DOMAIN, **{name: name for name in plan.identity.domains}}
    config = {
        "keystone_multidomain_support": "True", "keystone_multidomain_dropdown": "True",
        "keystone_domains": {"example_domain": None, **offered},  # OpenStack-Helm's chart has an example
    }  # fmt: skip
    return {"conf": {"horizon": {"local_settings": {"config": config}}}}


def _objects() -> Values:
    """Return values that trust the site's CA, for the object store: other APIs are called in clear in the cluster."""
    items = [{"key": "ca.crt", "path": "ca.crt"}]
    place = {"name": _TRUST, "secret": {"secretName": _TRUST, "defaultMode": 0o444, "items": items}}
    mount = {"name": _TRUST, "mountPath": _TRUSTED, "readOnly": True}
    return {
        "conf": {"horizon": {"local_settings": {"config": {"raw": {"OPENSTACK_SSL_CACERT": f"{_TRUSTED}/ca.crt"}}}}},
        "pod": {"mounts": {"horizon": {"horizon": {"volumes": [place], "volumeMounts": [mount]}}}},
    }


def _certificates(plan: Plan) -> tuple[PodCertificate, ...]:
    """Return the Secret with which the dashboard trusts the object store; it presents no certificate itself."""
    wanted = GATEWAY in plan.openstack.services
    return (PodCertificate(user="horizon", secret=_TRUST, usage="client"),) if wanted else ()


def verify(context: VerifierContext) -> Verification:
    """Verify that the administrator can log in as in a browser, sees the right project, and can log out."""
    url = public_endpoint(context.plan, "horizon").url.rstrip("/")
    browser = Browser(ask=context.request, url=url)
    admin = context.value("endpoints.identity.auth.admin")
    browser.open(LOGIN)
    answer = browser.submit(
        LOGIN, username=admin["username"], password=admin["password"], region="default", domain=_DOMAIN
    )
    page = browser.open("/project/api_access/")
    browser.submit("/auth/logout/")
    after = browser.open("/project/api_access/")
    return Verification(
        checks=judge(
            login=answer.status, page=page.data.decode(errors="replace"), after=after.headers.get("location", ""),
            user=admin["username"], project=admin["project_name"],
            api=public_endpoint(context.plan, "keystone").url.rstrip("/"),
        )
    )  # fmt: skip


SERVICE = ServiceRecord(
    name="horizon",
    needs=("keystone",),
    uses=("database",),
    nobody_at=("keystone",),
    unmet=("dashboard-first", "a dashboard without APIs shows errors only"),
    api=PublicApi(
        type="dashboard",
        host="dashboard",
        health=LOGIN,
        port=_PORT,
        node_port=31000,
        backend="horizon-int",
        port_name="web",
        in_catalog=False,
    ),
    images={"horizon": "openstack", "horizon_db_sync": "openstack"},
    certificates=_certificates,
    secrets={_KEY: "signs what the dashboard gives browsers to keep"},
    workers=WORKERS,
    values=values,
    verify=verify,
)

"""Values of the keystone chart: the API under Apache, its database, its keys, and the catalog's first entry."""

from __future__ import annotations

from urllib.parse import urlsplit

from ..plan.types import Plan
from .common import Values, anti_affinity, images, node_labels, probe, resources
from .endpoints import KEYSTONE_PORT, identity, oslo_cache, oslo_db, oslo_messaging, public_endpoint
from .sizes import Sizes

_SERVICE_JOBS = {
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
}


def _wsgi(sizes: Sizes) -> str:
    """Return Apache's part: one daemon group, so that a slow request does not hold up Apache itself."""
    weight = sizes.weight
    return f"""\
Listen 0.0.0.0:{KEYSTONE_PORT}
LogFormat "%{{X-Forwarded-For}}i %l %u %t \\"%r\\" %>s %b %D \\"%{{User-Agent}}i\\"" proxied
CustomLog /dev/stdout proxied
ErrorLogFormat "%{{cu}}t %M"
ErrorLog /dev/stdout

<VirtualHost *:{KEYSTONE_PORT}>
    WSGIDaemonProcess keystone-public processes={weight.wsgi_processes} threads={weight.wsgi_threads} \
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
    """Return the values of release ``keystone``."""
    endpoint = public_endpoint(plan, "keystone")
    public = urlsplit(endpoint.url)
    catalog = identity(plan)
    # Probes ask the API, not a file (H5): version discovery answers without the database, so that a sick database
    # does not restart Keystone too.
    catalog["path"]["healthcheck"] = endpoint.health_path.rstrip("/") or "/v3"
    return {
        "images": images(plan, _SERVICE_JOBS),
        "labels": node_labels(("api", "job", "test")),
        "endpoints": {
            "cluster_domain_suffix": plan.kubernetes.dns_domain,
            "identity": catalog,
            "oslo_db": oslo_db(service="keystone"),
            "oslo_messaging": oslo_messaging(sizes, service="keystone"),
            "oslo_cache": oslo_cache(),
        },
        "network": {"api": {"node_port": {"enabled": True, "port": endpoint.node_port}}},
        "conf": {
            "keystone": {
                "DEFAULT": {"public_endpoint": f"{public.scheme}://{public.netloc}"},
                "oslo_middleware": {"enable_proxy_headers_parsing": True},
                # Nobody listens to its notifications yet, and with a driver a sick queue would stall every login.
                "oslo_messaging_notifications": {"driver": "noop"},
            },
            "wsgi_keystone": _wsgi(sizes),
            "mpm_event": _MPM,
        },
        "pod": {
            "replicas": {"api": sizes.api},
            "affinity": anti_affinity(sizes, members=sizes.api, quorum=False),
            "lifecycle": {
                # The new pod answers before an old one goes, also with a single replica (U10).
                "upgrades": {"deployments": {"rolling_update": {"max_unavailable": 0, "max_surge": 1}}},
                "disruption_budget": {"api": {"min_available": 1 if sizes.api > 1 else 0}},
            },
            "probes": {
                "api": {
                    "api": {
                        "readiness": probe(delay=5, period=10, timeout=10),
                        "liveness": probe(delay=60, period=30, timeout=15),
                    }
                }
            },
            "resources": {"enabled": sizes.weight.resources, "api": resources(memory="512Mi", limit="2Gi", cpu="500m")},
        },
        # No job of its own for domains while there is none to manage: the bootstrap then waits for the database alone.
        "dependencies": {"static": {"bootstrap": {"jobs": ["keystone-db-sync"]}}},
        "manifests": {
            "job_credential_cleanup": False,
            "job_domain_manage": False,
            "job_image_repo_sync": False,
            "job_rabbit_init": False,
            "pod_rally_test": False,
            "secret_rabbitmq": False,
        },
    }

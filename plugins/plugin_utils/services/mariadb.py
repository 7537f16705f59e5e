"""Values of the mariadb chart: Galera with one member or three, reached as Service ``mariadb``."""

from __future__ import annotations

from ..plan.types import Plan
from .common import Values, anti_affinity, images, node_labels, probe, resources
from .endpoints import account, oslo_db
from .sizes import Sizes


def _override(sizes: Sizes) -> str:
    """Return the server options that follow from the site's size, over the chart's own."""
    weight = sizes.weight
    return (
        "[mysqld]\n"
        f"innodb_buffer_pool_size={weight.buffer_pool}M\n"
        f"max_connections={weight.connections}\n"
        # A member alone has nobody to copy from after a crash: then each commit is on disk before it is answered.
        f"innodb_flush_log_at_trx_commit={1 if sizes.mariadb == 1 else 2}\n"
        "innodb_doublewrite=1\n"
        f"wsrep_slave_threads={4 if sizes.mariadb > 1 else 1}\n"
    )


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the values of release ``mariadb``."""
    weight = sizes.weight
    database = oslo_db()
    database["auth"] |= {"sst": account("sst", "mariadb/sst"), "audit": account("audit", "mariadb/audit")}
    several = sizes.mariadb > 1
    return {
        "images": images(
            plan,
            {
                "mariadb": "mariadb",
                "mariadb_controller": "mariadb",
                "scripted_test": "mariadb",
                "ks_user": "openstack-client",
            },
        ),
        "labels": node_labels(("server", "controller", "job", "test")),
        "endpoints": {"cluster_domain_suffix": plan.kubernetes.dns_domain, "oslo_db": database},
        "pod": {
            "replicas": {"server": sizes.mariadb, "controller": 2 if several else 1},
            "affinity": anti_affinity(sizes, members=sizes.mariadb, quorum=True),
            "lifecycle": {"disruption_budget": {"mariadb": {"min_available": Sizes.quorum(sizes.mariadb)}}},
            "probes": {
                "server": {
                    "mariadb": {
                        "readiness": probe(delay=5, period=10, timeout=10),
                        "liveness": probe(delay=120, period=30, timeout=15),
                    }
                }
            },
            "resources": {
                "enabled": weight.resources,
                "server": resources(
                    memory=f"{weight.buffer_pool + 512}Mi", limit=f"{weight.buffer_pool * 2 + 1024}Mi", cpu="1"
                ),
            },
        },
        "volume": {"enabled": True, "class_name": plan.kubernetes.storage_class, "size": weight.database_volume},
        "conf": {"database": {"config_override": _override(sizes)}},
        "manifests": {
            # Directs Service `mariadb` at one writer; a single member needs no directing.
            "deployment_controller": several,
            "job_image_repo_sync": False,
            "configmap_services_tcp": False,
            "crds": False,
            "pod_test": False,
        },
    }

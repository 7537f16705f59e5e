"""MariaDB: a Galera cluster with one member or three, reached as Service ``mariadb``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .parts import anti_affinity, node_labels, probe, resources
from .record import ServiceRecord, Values
from .secrets import account
from .sizes import Sizes, majority

if TYPE_CHECKING:
    from ..plan.types import Plan


@dataclass(frozen=True, slots=True)
class _Weight:
    buffer_pool: int  # MiB of InnoDB's cache, the bulk of its memory
    connections: int  # the most clients at once
    volume: str


_WEIGHTS = {
    "lab": _Weight(128, 512, "2Gi"),
    "edge": _Weight(1024, 2048, "20Gi"),
    "region": _Weight(8192, 8192, "100Gi"),
}


def endpoints(_plan: Plan, _sizes: Sizes, client: str) -> Values:
    """Return the database: its administrator, and the account and schema of the client."""
    admin = account("root", "mariadb/root")
    if client:
        return {"oslo_db": {"auth": {"admin": admin, client: account(client, f"{client}/db")}, "path": f"/{client}"}}
    own = {"sst": account("sst", "mariadb/sst"), "audit": account("audit", "mariadb/audit")}
    return {"oslo_db": {"auth": {"admin": admin, **own}}}


def _server_options(weight: _Weight, members: int) -> str:
    return (
        "[mysqld]\n"
        f"innodb_buffer_pool_size={weight.buffer_pool}M\n"
        f"max_connections={weight.connections}\n"
        # A member alone has nobody to copy from after a crash: then each commit is on disk before it is answered.
        f"innodb_flush_log_at_trx_commit={1 if members == 1 else 2}\n"
        "innodb_doublewrite=1\n"
        f"wsrep_slave_threads={4 if members > 1 else 1}\n"
    )


def values(plan: Plan, sizes: Sizes) -> Values:
    """Return the chart's values."""
    members, weight = sizes.members["mariadb"], _WEIGHTS[plan.profile]
    several = members > 1
    return {
        "labels": node_labels(("server", "controller", "job", "test")),
        "pod": {
            "replicas": {"server": members, "controller": 2 if several else 1},
            "affinity": anti_affinity(sizes, members=members, quorum=True),
            "lifecycle": {"disruption_budget": {"mariadb": {"min_available": majority(members)}}},
            "probes": {
                "server": {
                    "mariadb": {
                        "readiness": probe(delay=5, period=10, timeout=10),
                        "liveness": probe(delay=120, period=30, timeout=15),
                    }
                }
            },
            "resources": {
                "enabled": sizes.resources,
                "server": resources(
                    memory=f"{weight.buffer_pool + 512}Mi", limit=f"{weight.buffer_pool * 2 + 1024}Mi", cpu="1"
                ),
            },
        },
        "volume": {"enabled": True, "class_name": plan.kubernetes.storage_class, "size": weight.volume},
        "conf": {"database": {"config_override": _server_options(weight, members)}},
        "manifests": {
            # Directs Service `mariadb` at one writer; a single member needs no directing.
            "deployment_controller": several,
            "configmap_services_tcp": False,
            "crds": False,
            "pod_test": False,
        },
    }


SERVICE = ServiceRecord(
    name="mariadb",
    title="MariaDB",
    kind="infrastructure",
    provides="database",
    images={
        "mariadb": "mariadb",
        "mariadb_controller": "mariadb",
        "scripted_test": "mariadb",
        "ks_user": "openstack-client",
    },
    secrets={
        "mariadb/root": "administrator of the database, who creates each service's schema and account",
        "mariadb/sst": "account that copies a whole member to a joining one",
        "mariadb/audit": "read-only account",
    },
    client_account=("db", "database account"),
    members="Galera members",
    quorum="Galera",
    inspect="kubectl --namespace NAMESPACE get pods --selector application=mariadb,component=server --output wide",
    endpoints=endpoints,
    values=values,
)

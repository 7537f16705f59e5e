"""MariaDB: a Galera cluster with one member or three, reached as Service ``mariadb``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import GroundupError
from ..health.verification import Check, Verification
from ..layers.scales import Scale
from . import RECORDS
from .certificates import given
from .parts import anti_affinity, node_labels, probes, resources
from .record import Advice, PodCertificate, Servers, ServiceRecord, Values
from .secrets import account
from .sizes import Sizes, majority

if TYPE_CHECKING:
    from ..health.context import VerifierContext
    from ..plan.types import Plan

_DEFAULTS = "/etc/mysql/admin_user.cnf"
_WANTED = ("wsrep_cluster_size", "wsrep_cluster_status", "wsrep_local_state_comment", "wsrep_ready")
_SQL = "SHOW GLOBAL STATUS WHERE Variable_name IN ('" + "','".join(_WANTED) + "')"
_CLIENT = (
    "mariadb", f"--defaults-file={_DEFAULTS}", "--host=localhost", "--batch", "--skip-column-names",
    "--connect-timeout=5",
)  # fmt: skip
_ARGV = (*_CLIENT, f"--execute={_SQL}")
_VERSION = (*_CLIENT, "--execute=SELECT VERSION()")
_GALERA = "mariadb-galera-tls"  # Secret
_WAITING = ("cat", "/tmp/waiting")  # noqa: S108 - in the member's own container


@dataclass(frozen=True, slots=True)
class Weight:
    buffer_pool: int  # MiB of InnoDB's cache, most of its memory
    connections: int  # maximum of concurrent clients


WEIGHTS: dict[Scale, Weight] = {
    "tiny": Weight(128, 512),
    "small": Weight(1024, 2048),
    "medium": Weight(4096, 4096),
    "large": Weight(8192, 8192),
}
# By profile: a claim of a StatefulSet stays as it was made, so its size must not follow hardware.
_VOLUME = {"lab": 2, "edge": 20, "rack": 50, "region": 100}  # GiB


def endpoints(_plan: Plan, _sizes: Sizes, client: str) -> Values:
    """Return the database's endpoints: its administrator, and the client's account for each of its schemas."""
    admin = account("root", "mariadb/root")
    if client:
        auth = {"admin": admin, client: account(client, f"{client}/db")}
        return {name: {"auth": auth, "path": f"/{schema}"} for name, schema in RECORDS[client].schemas.items()}
    own = {"sst": account("sst", "mariadb/sst"), "audit": account("audit", "mariadb/audit")}
    return {"oslo_db": {"auth": {"admin": admin, **own}}}


def _server_options(weight: Weight, members: int, *, logs: int, collation: str = "") -> str:
    # Sync each commit to disk: after a power loss of all members, no other copy exists.
    return (
        "[mysqld]\n"
        f"innodb_buffer_pool_size={weight.buffer_pool}M\n"
        f"max_connections={weight.connections}\n"
        "innodb_flush_log_at_trx_commit=1\n"
        "innodb_doublewrite=1\n"
        # On by default from MariaDB 11.6.2, where Nova's requests end in error 1020 (Launchpad, nova, bug 2116186).
        "loose_innodb_snapshot_isolation=OFF\n"  # loose: unknown to older servers
        f"wsrep_slave_threads={4 if members > 1 else 1}\n"
        f"{_logs(logs) if logs else ''}"
    ) + (f"collation_server={collation}\n" if collation else "")


def _logs(size: int) -> str:
    # Backups copy one member's logs (docs/backup.md). No replica reads them: they go by age, and by size in MiB.
    return (
        "log_bin=binlog\n"
        "sync_binlog=1\n"  # with a binary log, InnoDB recovers only what the log has: it is synced at each commit, too
        "log_slave_updates=ON\n"
        "max_binlog_size=64M\n"
        "binlog_expire_logs_seconds=172800\n"
        f"loose_max_binlog_total_size={size}M\n"  # loose: unknown to servers before 11.4
        "loose_slave_connections_needed_for_purge=0\n"
    )


def values(plan: Plan, sizes: Sizes) -> Values:
    members, weight = sizes.members["mariadb"], WEIGHTS[plan.openstack.scale]
    several, volume = members > 1, _VOLUME[plan.profile]
    logs = volume * 128 if plan.backups.logs_every else 0  # MiB: an eighth of the volume
    # Databases that OpenStack-Helm's charts make get what our image's server gives tables that name the character set.
    mixed = plan.openstack.charts != "builtin" and plan.supply.source == "build"
    collation = "utf8mb3_uca1400_ai_ci" if mixed else ""
    return {
        "labels": node_labels(("server", "controller", "job", "test")),
        "pod": {
            "replicas": {"server": members, "controller": 2 if several else 1},
            "affinity": anti_affinity(sizes, members=members, quorum=True),
            "lifecycle": {"disruption_budget": {"mariadb": {"min_available": majority(members)}}},
            "probes": probes("server", "mariadb", patience=120),
            "resources": {
                "enabled": sizes.resources,
                "server": resources(
                    memory=f"{weight.buffer_pool + 512}Mi",
                    limit=f"{weight.buffer_pool * 2 + 1024}Mi",
                    cpu=sizes.cpu(1000),
                ),
            },
        },
        "volume": {"enabled": True, "class_name": plan.kubernetes.storage_class, "size": f"{volume}Gi"},
        "conf": {"database": {"config_override": _server_options(weight, members, logs=logs, collation=collation)}},
        "manifests": {
            # Directs Service `mariadb` to one writer; a single member does not need it.
            "deployment_controller": several,
            "configmap_services_tcp": False,
            "crds": False,
            "pod_test": False,
        },
        **({"monitoring": {"prometheus": {"enabled": True}}} if plan.monitoring and _ours(plan) else {}),
    }


def _certificates(plan: Plan) -> tuple[PodCertificate, ...]:
    """Return the members' certificate. Whoever has one of its authority may join and copy every database.

    OpenStack-Helm's chart has no way to add files to its members' pods.
    """
    one = PodCertificate(
        user="galera", secret=_GALERA, usage="both", names=("mariadb-server",), authority="galera", believes="galera"
    )
    return (one,) if _ours(plan) else ()


def _ours(plan: Plan) -> bool:
    return plan.openstack.charts == "builtin"


def verify(context: VerifierContext) -> Verification:
    """Verify that all Galera members are in one primary component and synchronised.

    Runs in each member, as the administrator, whose password the pod has in a defaults file. Members that are not ready
    are asked, too: their status tells the reason.
    """
    owner, wanted = context.workload()
    pods = context.pods()
    names = [f"{owner.partition('/')[2]}-{ordinal}" for ordinal in range(wanted)]
    statuses: dict[str, dict[str, str]] = {}
    missing: dict[str, str] = {}
    for name in sorted({*names, *pods}):
        reason = _unreachable(context, pods.get(name))
        if not reason:
            try:
                statuses[name] = parse(context.execute(name, _ARGV, container="mariadb"))
            except GroundupError as error:
                reason = _waits(context, name) or error.what
        if reason:
            missing[name] = reason
    return Verification(
        checks=(
            judge_quorum(wanted, statuses, missing, owner=owner),
            Check(
                name="answers", ok=bool(statuses) and not missing, layer="database", object=owner,
                detail=_listed(missing) or f"{len(statuses)} of {wanted} members answer",
            ),
            judge_state(statuses, owner=owner),
            *(given(context, one.secret, owner=owner) for one in _certificates(context.plan)),
        )
    )  # fmt: skip


def servers(context: VerifierContext) -> Servers:
    """Ask every member for its version. Raises ApiError when the Kubernetes API does not answer."""
    versions, silent = dict[str, str](), list[str]()
    for name, pod in sorted(context.pods().items()):
        try:
            if context.is_ready(pod):
                versions[name] = context.execute(name, _VERSION, container="mariadb").strip()
            else:
                silent.append(f"{name} is not Ready")
        except GroundupError as error:
            silent.append(f"{name}: {error.what}")
    return Servers(versions=versions, silent=tuple(silent))


def _unreachable(context: VerifierContext, pod: dict[str, Any] | None) -> str:
    """Return why a member cannot be asked, ``""`` when it can. On a lost node, a call would take minutes."""
    if pod is None:
        return "it has no pod"
    if context.is_ready(pod):
        return ""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    node = str((pod.get("spec") or {}).get("nodeName") or "")
    if not any("running" in entry.get("state", {}) for entry in statuses):
        return "its container does not run" if node else "its pod has no node"
    return "" if context.node_is_ready(node) else f"its node {node} is not Ready"


def _waits(context: VerifierContext, name: str) -> str:
    """Return what the built-in chart's start program waits for; ``""`` when the server runs."""
    try:
        return context.execute(name, _WAITING, container="mariadb").strip()
    except GroundupError:
        return ""


def judge_quorum(wanted: int, statuses: dict[str, dict[str, str]], missing: dict[str, str], *, owner: str) -> Check:
    """Check that all ``wanted`` members form one primary component.

    ``statuses``: wsrep status of each answering member. ``missing``: the other members, and why they have none.
    """
    outside = sorted(name for name, status in statuses.items() if status.get("wsrep_cluster_status") != "Primary")
    sizes = sorted({int(status.get("wsrep_cluster_size", 0)) for status in statuses.values()})
    whole = wanted > 0 and not outside and not missing and sizes == [wanted] and len(statuses) == wanted
    if whole:
        return Check(
            name="quorum", ok=True, detail=f"{wanted} of {wanted} members, Primary", layer="database", object=owner
        )
    said = [f"{len(statuses)} of {wanted} Galera members answer"]
    if statuses:
        said[0] += f" and see a cluster of {' or '.join(map(str, sizes))}"
    if missing:
        said.append(f"missing: {_listed(missing)}")
    if outside:
        said.append(f"not in the primary component: {', '.join(outside)}")
    if not statuses or len(outside) == len(statuses):
        said.append("nobody is in a primary component: what reads and writes here fails, whatever pods still run")
    elif sizes[-1] <= wanted // 2:
        said.append(f"that is no majority of {wanted}")
    return Check(name="quorum", ok=False, detail="; ".join(said), layer="database", object=owner)


def _listed(missing: dict[str, str]) -> str:
    return ", ".join(f"{name} ({reason})" for name, reason in sorted(missing.items()))


def judge_state(statuses: dict[str, dict[str, str]], *, owner: str) -> Check:
    """Check that every member is synchronised and accepts queries."""
    behind = sorted(
        f"{name} is {status.get('wsrep_local_state_comment', 'unknown')}"
        for name, status in statuses.items()
        if status.get("wsrep_local_state_comment") != "Synced" or status.get("wsrep_ready") != "ON"
    )
    detail = "; ".join(behind) or ("Synced" if statuses else "no member could be asked")
    return Check(name="state", ok=bool(statuses) and not behind, detail=detail, layer="database", object=owner)


def parse(output: str) -> dict[str, str]:
    """Parse tab-separated status variables."""
    pairs = (line.split("\t", 1) for line in output.splitlines() if "\t" in line)
    return {name.strip(): value.strip() for name, value in pairs}


SERVICE = ServiceRecord(
    name="mariadb",
    title="MariaDB",
    kind="infrastructure",
    provides="database",
    client_ports=(3306,),
    images={
        "mariadb": "mariadb",
        "mariadb_controller": "mariadb",
        "scripted_test": "mariadb",
        "ks_user": "openstack-client",
    },
    secrets={
        "mariadb/root": "administrator of the database, who creates each service's schema and account",
        "mariadb/sst": "account that copies a whole member to a joining one",
        "mariadb/audit": "account that asks whether a member serves, and how",
    },
    certificates=_certificates,
    advice=(
        Advice(
            name="database-open-to-members",
            when=lambda plan, _: not _certificates(plan),
            where="openstack.charts",
            what="any pod can join the database's cluster",
            why="OpenStack-Helm's chart of MariaDB starts Galera without TLS: whoever reaches port 4567 gets a copy of "
            "every database, and may write to it",
            remedy="keep that port to MariaDB's pods by a NetworkPolicy that the pod network enforces, or write "
            "builtin",
        ),
    ),
    client_images={"db_init": "openstack-client", "db_drop": "openstack-client"},
    client_account=("db", "database account"),
    members="Galera members",
    quorum="Galera",
    inspect="kubectl --namespace NAMESPACE get pods --selector application=mariadb,component=server --output wide",
    endpoints=endpoints,
    values=values,
    verify=verify,
)

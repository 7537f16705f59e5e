"""The parts of a site's sets: which of them a site has, and why it lacks the others."""

from __future__ import annotations

from ...plan.types import Plan

KEYS, STATE, ETCD, MARIADB = "kubernetes-keys", "state", "etcd", "mariadb"
OVN, SEED, CEPH = "ovn", "seed", "ceph"  # what hosts hand over, as the keys of Kubernetes
RABBITMQ, SERVICE_KEYS = "rabbitmq", "openstack-keys"
FILES = {  # by part: its file when it is opened
    KEYS: "kubernetes-keys.tar", STATE: "state.tar", OVN: "ovn.db.gz", SEED: "seed.tar.gz", CEPH: "ceph.tar",
    RABBITMQ: "rabbitmq.json", SERVICE_KEYS: "openstack-keys.json", MARIADB: "mariadb.mbstream", ETCD: "etcd.db",
}  # fmt: skip


def lacking(plan: Plan) -> dict[str, str]:
    """Return the parts that the site's sets do not have -> why."""
    releases = {one.name for one in plan.openstack.releases}
    others = plan.ceph.backend if plan.ceph else ""
    reasons = {
        OVN: "" if "neutron" in plan.openstack.services else "no Neutron, no OVN",
        SEED: "" if plan.metal else "no seed that installs machines",
        CEPH: "no Ceph" if not others else "" if others == "native" else f"Ceph is {others}: its own operator saves it",
        RABBITMQ: "" if "rabbitmq" in releases else "no RabbitMQ",
        SERVICE_KEYS: "" if "keystone" in releases else "no Keystone",
        MARIADB: "" if "mariadb" in releases else "no MariaDB",
    }
    return {part: why for part, why in reasons.items() if why}


def parts(plan: Plan) -> tuple[str, ...]:
    """Return the parts of the site's sets, in the order they are taken: etcd last, as it changes most."""
    return tuple(part for part in FILES if part not in lacking(plan))


def of_host(plan: Plan, host: str) -> tuple[str, ...]:
    """Return the parts that a host may hand over: of several the first that answers is taken."""
    roles = plan.hosts[host].roles if host in plan.hosts else ()
    monitors = [one.name for one in plan.ceph.monitors] if plan.ceph else []
    has = {KEYS: "control" in roles, OVN: "control" in roles, SEED: "seed" in roles, CEPH: host in monitors}
    return tuple(part for part in parts(plan) if has.get(part))

"""RabbitMQ: one node or a cluster of three; clients use the names of its pods."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import GroundupError
from ..health.verification import Check, Verification
from ..layers.ports import PORTS
from .certificates import served
from .parts import anti_affinity, node_labels, probes, resources
from .record import Advice, PodCertificate, Servers, ServiceRecord, Values
from .secrets import account, secret
from .sizes import Sizes

if TYPE_CHECKING:
    from ..health.context import VerifierContext
    from ..plan.types import Plan

_ARGV = ("rabbitmqctl", "--quiet", "--formatter", "json", "cluster_status")

_ADMIN = "rabbitmq"
_NODE_PORT = PORTS["queue"].port  # of the first member, for hosts outside the cluster; the others' ports follow
_PLAIN, _TLS, _MANAGEMENT = 5672, 5671, 15672
_CERTIFICATE = "rabbitmq-tls-direct"  # Secret, by the charts' own name
_VOLUME = {"lab": "1Gi", "edge": "4Gi", "rack": "10Gi", "region": "20Gi"}


def endpoints(_plan: Plan, sizes: Sizes, client: str) -> Values:
    """Return the message queue's endpoint. A transport URL lists each pod: members must be RabbitMQ's own number."""
    if client:
        return {
            "oslo_messaging": {
                "auth": {"admin": account(_ADMIN, "rabbitmq/admin"), client: account(client, f"{client}/rabbitmq")},
                "statefulset": {"replicas": sizes.members["rabbitmq"], "name": "rabbitmq-rabbitmq"},
                "path": f"/{client}",
            }
        }
    return {
        "oslo_messaging": {
            "auth": {
                "erlang_cookie": secret("rabbitmq/erlang-cookie"),
                "user": account(_ADMIN, "rabbitmq/admin"),
                "guest": {"password": secret("rabbitmq/guest")},
            }
        }
    }


def values(plan: Plan, sizes: Sizes) -> Values:
    members = sizes.members["rabbitmq"]
    return {
        "labels": node_labels(("server", "jobs", "test")),
        "pod": {
            "replicas": {"server": members},
            "affinity": anti_affinity(sizes, members=members, quorum=True),
            "probes": probes("rabbitmq", "rabbitmq", patience=120),
            "resources": {
                "enabled": sizes.resources,
                "server": resources(memory="1Gi", limit="4Gi", cpu=sizes.cpu(500)),
            },
        },
        "volume": {"enabled": True, "class_name": plan.kubernetes.storage_class, "size": _VOLUME[plan.profile]},
        # With a quorum, the minority stops; one or two nodes have no minority.
        "conf": {"rabbitmq": {"cluster_partition_handling": "pause_minority" if members > 1 else "autoheal"}},
        # The rollout's own verification checks members, partitions and alarms.
        "manifests": {"job_cluster_wait": False, "pod_test": False},
        **({"secrets": {"tls": {"oslo_messaging": {"server": {"internal": _CERTIFICATE}}}}} if _tls(plan) else {}),
        **({"extraObjects": _from_hosts(members, tls=_tls(plan))} if _has_hosts(plan) else {}),
    }


def _has_hosts(plan: Plan) -> bool:
    """Return whether hosts outside the cluster are clients."""
    return "nova" in plan.openstack.services


def _tls(plan: Plan) -> bool:
    """Return whether it has a TLS listener for hosts.

    OpenStack-Helm's chart has a TLS listener only in place of the plain one, with certificates of cert-manager, and no
    other way to add files to its pods.
    """
    return _has_hosts(plan) and plan.openstack.charts == "builtin"


def _certificates(plan: Plan) -> tuple[PodCertificate, ...]:
    """Return the server certificate, for the control hosts' addresses, at which hypervisors reach the members."""
    names = tuple(plan.hosts[name].address for name in plan.edge.hosts)
    if not _tls(plan):
        return ()
    return (
        PodCertificate(
            user="rabbitmq", secret=_CERTIFICATE, usage="server", names=names, authority="queue", believes="queue"
        ),
    )


def _from_hosts(members: int, *, tls: bool) -> Values:
    """Return a Service per member: nova-compute, outside the cluster, must reach each of them."""
    port = {"name": "amqps", "port": _TLS} if tls else {"name": "amqp", "port": _PLAIN}
    pods = [f"rabbitmq-rabbitmq-{number}" for number in range(members)]
    return {
        pod.replace("-", "_"): {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"{pod}-hosts"},
            "spec": {
                "type": "NodePort",
                "selector": {"statefulset.kubernetes.io/pod-name": pod},
                "ports": [{**port, "nodePort": _NODE_PORT + number}],
            },
        }
        for number, pod in enumerate(pods)
    }


def verify(context: VerifierContext) -> Verification:
    """Verify one cluster without partitions and alarms, by a member that answers, and each member's certificate."""
    owner, wanted = context.workload()
    trouble = "no member runs"
    for pod in context.running():
        try:
            answer = context.execute(pod, _ARGV, container="rabbitmq", timeout=60.0)
            checks = judge(parse(answer), wanted=wanted, owner=owner)
            if shown := _certificates(context.plan):
                checks += (served(context, _TLS, shown[0], owner=owner),)
            return Verification(checks=checks)
        except GroundupError as error:
            trouble = f"{pod}: {error.what}"
        except ValueError as error:
            trouble = f"{pod}: cluster_status is not JSON: {error}"
    return Verification(checks=(Check(name="answers", ok=False, detail=trouble, layer="message queue", object=owner),))


def servers(context: VerifierContext) -> Servers:
    """Ask a member for the versions of all, and for the cluster's feature flags.

    Raises ApiError when the Kubernetes API does not answer.
    """
    pods, why = sorted(context.pods()), ""
    for pod in context.running():
        try:
            return members(parse(context.execute(pod, _ARGV, container="rabbitmq", timeout=60.0)), pods)
        except (GroundupError, ValueError) as error:
            why = f": {error.what if isinstance(error, GroundupError) else error}"
    return Servers(silent=tuple(f"{pod} does not answer{why}" for pod in pods))


def members(status: dict[str, Any], pods: Sequence[str]) -> Servers:
    """Return what a cluster_status answer says of ``pods``: nodes are named rabbit@<pod>.<domain>."""
    said = {node.partition("@")[2].partition(".")[0]: about for node, about in (status.get("versions") or {}).items()}
    flags = status.get("feature_flags") or ()
    return Servers(
        versions={pod: str(said[pod].get("rabbitmq_version", "")) for pod in pods if pod in said},
        silent=tuple(f"{pod} is not in the cluster" for pod in pods if pod not in said),
        disabled=tuple(sorted(
            str(one.get("name")) for one in flags if one.get("stability") == "stable" and one.get("state") != "enabled"
        )),
    )  # fmt: skip


def parse(output: str) -> dict[str, Any]:
    """Return the JSON object in ``output``, which a warning may precede. Raises ValueError without one."""
    start = output.find("{")
    if start < 0:
        raise ValueError("there is no object in it")
    return dict(json.loads(output[start:]))


def judge(status: dict[str, Any], *, wanted: int, owner: str) -> tuple[Check, ...]:
    """Return the checks on a cluster_status answer."""
    running_nodes = status.get("running_nodes") or []
    partitions = {node: parts for node, parts in (status.get("partitions") or {}).items() if parts}
    alarms = [
        f"{alarm.get('resource', alarm)} on {alarm.get('node', '?')}" if isinstance(alarm, dict) else str(alarm)
        for alarm in status.get("alarms") or ()
    ]

    def check(name: str, *, ok: bool, detail: str) -> Check:
        return Check(name=name, ok=ok, detail=detail, layer="message queue", object=owner)

    return (
        check("members", ok=len(running_nodes) == wanted, detail=f"{len(running_nodes)} of {wanted} nodes run"),
        check(
            "partitions", ok=not partitions,
            detail="; ".join(f"{node} cannot see {', '.join(parts)}" for node, parts in partitions.items()) or "none",
        ),
        check("alarms", ok=not alarms, detail="; ".join(alarms) or "none"),
    )  # fmt: skip


SERVICE = ServiceRecord(
    name="rabbitmq",
    title="RabbitMQ",
    kind="infrastructure",
    provides="queue",
    client_ports=(_PLAIN, _MANAGEMENT),
    images={
        "rabbitmq": "rabbitmq",
        "scripted_test": "rabbitmq",
        "rabbitmq_init": "openstack-client",
        "rabbitmq_test": "openstack-client",
    },
    secrets={
        "rabbitmq/admin": "administrator of the message queue, who creates each service's virtual host and account",
        "rabbitmq/guest": "the guest account, which every client has to change or lose",
        "rabbitmq/erlang-cookie": "what makes RabbitMQ nodes one cluster",
    },
    certificates=_certificates,
    advice=(
        Advice(
            name="queue-in-clear",
            when=lambda plan, _: _has_hosts(plan) and not _tls(plan),
            where="openstack.charts",
            what="hypervisors reach the message queue without TLS",
            why="OpenStack-Helm's chart of RabbitMQ has no listener with TLS beside the plain one: passwords and "
            "requests cross the management network in clear",
            remedy="keep others out of that network, or write builtin",
        ),
    ),
    client_images={"rabbit_init": "rabbitmq"},
    client_account=("rabbitmq", "message queue account"),
    members="RabbitMQ members",
    quorum="RabbitMQ",
    inspect="kubectl --namespace NAMESPACE exec rabbitmq-rabbitmq-0 -- rabbitmqctl cluster_status",
    endpoints=endpoints,
    values=values,
    verify=verify,
)

"""What is seen of a fault, and the diagnosis it gets: rule, layer and the object at fault."""

from __future__ import annotations

from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import ClusterFacts, EventLine, Symptom

REGISTRY = "registry.lab.test:5000"


def seen(**fields: Any) -> Symptom:
    values: dict[str, Any] = {
        "release": "keystone", "namespace": "openstack", "object": "Pod/keystone-api-0", "stage": "start",
        "owner": "Deployment/keystone-api",
    }  # fmt: skip
    return Symptom(**{**values, **fields})


def event(reason: str, message: str, count: int = 1) -> EventLine:
    return EventLine(reason=reason, object="Pod/x", message=message, count=count)


def pull(message: str) -> Symptom:
    return seen(reason="ImagePullBackOff", message=message, image=f"{REGISTRY}/keystone:1", node="worker-1")


def log(*lines: str, **fields: Any) -> Symptom:
    return seen(container="keystone-db-sync", exit_code=1, log=lines, reason="Error", **fields)


NO_NAMES = ClusterFacts(dns_down="kube-system/Deployment/coredns")
CASES: list[tuple[str, Symptom, str, str, str]] = [
    (
        "image missing from the registry",
        pull(f'failed to resolve reference "{REGISTRY}/keystone:1": {REGISTRY}/keystone:1: not found'),
        "image-missing", "image", f"image {REGISTRY}/keystone:1",
    ),
    (
        "registry down",
        pull(f'failed to do request: Head "http://{REGISTRY}/v2/": dial tcp 10.0.0.1:5000: connection refused'),
        "registry-down", "image", f"registry {REGISTRY}",
    ),
    (
        "web server of the seed up, the registry behind it down",
        pull(f'failed to resolve reference "{REGISTRY}/keystone:1": unexpected status from HEAD request to '
             f"http://{REGISTRY}/v2/keystone/manifests/1: 502 Bad Gateway"),
        "registry-down", "image", f"registry {REGISTRY}",
    ),
    (
        "web server of the seed up, the registry behind it hangs",
        pull(f"unexpected status from HEAD request to http://{REGISTRY}/v2/keystone/manifests/1: 504 Gateway Time-out"),
        "registry-down", "image", f"registry {REGISTRY}",
    ),
    (
        "volume claim without a provisioner",
        seen(object="PersistentVolumeClaim/mysql-data-mariadb-server-0", reason="ClaimUnbound",
             message="claim mysql-data-mariadb-server-0 is Pending, storage class general",
             events=(event("ProvisioningFailed", 'storageclass.storage.k8s.io "general" not found'),)),
        "volume-unbound", "volume", "PersistentVolumeClaim/mysql-data-mariadb-server-0",
    ),
    (
        "volume that does not mount",
        seen(claims=("data-0",), events=(event("FailedMount", "MountVolume.SetUp failed: timed out"),)),
        "volume-mount", "volume", "PersistentVolumeClaim/data-0",
    ),
    (
        "wrong database password",
        log("OperationalError: (pymysql.err.OperationalError) (1045, \"Access denied for user 'keystone'"),
        "db-password", "credentials", "Pod/keystone-api-0",
    ),
    (
        "wrong password of the message queue",
        log("amqp.exceptions.AccessRefused: (0, 0): (403) ACCESS_REFUSED - Login was refused"),
        "mq-password", "credentials", "Pod/keystone-api-0",
    ),
    (
        "Galera without a quorum",
        log("pymysql.err.InternalError: (1047, 'WSREP has not yet prepared node for application use')"),
        "quorum", "database", "Pod/keystone-api-0",
    ),
    (
        "database volume lost",
        seen(reason="NotReady", events=(event(
            "Unhealthy", "Readiness probe failed: refused: no member holds a database, and cluster 9fcd4f8d was formed "
            "here; here: volume claim mysql-data on node control-1, which holds nothing"),)),
        "database-lost", "database", "Pod/keystone-api-0",
    ),
    (
        "database down",
        log("(2003, \"Can't connect to MySQL server on 'mariadb.openstack.svc.cluster.local' ([Errno 111])\")"),
        "db-unreachable", "database", "Pod/keystone-api-0",
    ),
    (
        "message queue down",
        log("ERROR oslo.messaging._drivers.impl_rabbit AMQP server on rabbitmq-0:5672 is unreachable: ECONNREFUSED"),
        "mq-unreachable", "message queue", "Pod/keystone-api-0",
    ),
    (
        "job with a traceback",
        log("Traceback (most recent call last):", '  File "x.py", line 1, in <module>', "ValueError: no such flavour"),
        "traceback", "service", "Deployment/keystone-api",
    ),
    (
        "node not ready",
        seen(node="worker-1", reason="NodeNotReady", facts=ClusterFacts(not_ready_nodes=("worker-1",))),
        "node-not-ready", "node", "Node/worker-1",
    ),
    (
        "no node left",
        seen(events=(event("FailedScheduling", "0/1 nodes are available: untolerated taint(s)"),),
             facts=ClusterFacts(not_ready_nodes=("worker-1",))),
        "node-not-ready", "node", "Node/worker-1",
    ),
    (
        "node's disk full",
        seen(reason="Evicted", node="worker-1", message="The node was low on resource: ephemeral-storage."),
        "node-disk-full", "node", "Node/worker-1",
    ),
    (
        "every node full",
        seen(
            events=(event("FailedScheduling", "0/2 nodes are available: 2 node(s) had untolerated taint(s)."),),
            facts=ClusterFacts(full_nodes=("control-1", "worker-1")),
        ),
        "node-disk-full", "node", "Node/control-1",
    ),
    (
        "no room for an image",
        seen(reason="ErrImagePull", node="worker-1", message="failed to extract layer: no space left on device"),
        "node-disk-full", "node", "Node/worker-1",
    ),
    (
        "volume full",
        log("InnoDB: Error number 28 means 'No space left on device'", claims=("mysql-data-0",), node="worker-1"),
        "volume-full", "volume", "PersistentVolumeClaim/mysql-data-0",
    ),
    (
        "no space in a directory that is no volume",
        log("OSError: [Errno 28] No space left on device", node="worker-1"),
        "volume-full", "node", "Node/worker-1",
    ),
    (
        "name service down",
        log("socket.gaierror: [Errno -3] Temporary failure in name resolution",
            facts=NO_NAMES),
        "dns-down", "network", "Deployment/coredns (kube-system)",
    ),
    (
        "name service down, pods just wait",
        seen(container="init", init=True, reason="NotReady", facts=NO_NAMES),
        "dns-down", "network", "Deployment/coredns (kube-system)",
    ),
    (
        "one name does not resolve",
        log("getaddrinfo for mariadb failed: Name or service not known"),
        "names", "network", "Pod/keystone-api-0",
    ),
    (
        "chart does not render",
        seen(stage="render", object="chart keystone", message='execution error at (keystone/templates/x.yaml:3): nil'),
        "chart-render", "chart", "chart keystone",
    ),
    (
        "API server refuses an object",
        seen(stage="apply", object="release keystone", message="Service is invalid: spec.ports: Required value"),
        "refused", "chart", "release keystone",
    ),
    (
        "image of another release",
        log("ModuleNotFoundError: No module named 'keystone.wsgi'"),
        "image-mismatch", "image", "Pod/keystone-api-0",
    ),
    (
        "program missing from the image",
        seen(reason="RunContainerError", message='exec: "keystone-manage": executable file not found in $PATH'),
        "image-mismatch", "image", "Pod/keystone-api-0",
    ),
    (
        "program of another release: it knows no such argument",
        log("nova-manage: error: unrecognized arguments: --local_cell"),
        "image-mismatch", "image", "Pod/keystone-api-0",
    ),
    (
        "database migrated by a later release",
        log("alembic.util.exc.CommandError: Can't locate revision identified by 'b4f8c1'", owner="Job/nova-db-sync"),
        "image-mismatch", "image", "Pod/keystone-api-0",
    ),
    (
        "migration fails by itself",
        log("Traceback (most recent call last):", "sqlalchemy.exc.OperationalError: (1060, \"Duplicate column 'x'\")",
            object="Pod/nova-db-sync-x7k2p", owner="Job/nova-db-sync"),
        "migration-failed", "database", "Job/nova-db-sync",
    ),
    (
        "migration whose database does not answer",
        log("OperationalError: (2003, \"Can't connect to MySQL server\")", owner="Job/nova-db-sync"),
        "db-unreachable", "database", "Pod/keystone-api-0",
    ),
    (
        "clock behind: certificate",
        log("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate is not yet valid (_ssl.c:1000)"),
        "clock-skew", "node", "Pod/keystone-api-0",
    ),
    (
        "clock behind: token",
        log("keystone: token not yet valid", "The request you have made requires authentication. (HTTP 401)"),
        "clock-skew", "node", "Pod/keystone-api-0",
    ),
    (
        "secret missing",
        seen(reason="CreateContainerConfigError", message='secret "keystone-etc" not found'),
        "secret-missing", "credentials", "Pod/keystone-api-0",
    ),
    (
        "configmap missing",
        seen(events=(event("FailedMount", 'MountVolume.SetUp failed: configmap "keystone-bin" not found'),)),
        "chart-missing-object", "chart", "Pod/keystone-api-0",
    ),
    ("memory limit", seen(reason="OOMKilled", exit_code=137), "memory-limit", "chart", "Pod/keystone-api-0"),
    (
        "no room on any node",
        seen(events=(event("FailedScheduling", "0/3 nodes are available: 3 Insufficient memory."),)),
        "no-room", "node", "Pod/keystone-api-0",
    ),
    (
        "pod network",
        seen(events=(event("FailedCreatePodSandBox", "plugin type flannel failed"),)),
        "pod-network", "network", "Pod/keystone-api-0",
    ),
    (
        "wrong administrator password",
        log("The request you have made requires authentication. (HTTP 401)"),
        "api-password", "credentials", "Pod/keystone-api-0",
    ),
    ("something it calls", log("10.0.0.9: connection refused"), "unreachable", "network", "Pod/keystone-api-0"),
    ("nothing known", seen(), "unready", "service", "Pod/keystone-api-0"),
]  # fmt: skip

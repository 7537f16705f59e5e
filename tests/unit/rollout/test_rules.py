"""Every rule of the failure cards, on what the cluster and the programs really say (D5, R7, U2)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.diagnose import cards
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.diagnose.rules import RULES, diagnose, explains
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import ClusterFacts, EventLine, Symptom
from ansible_collections.groundup.cloud.plugins.plugin_utils.secrets import Redactor
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.verification import Check

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


@pytest.mark.parametrize(
    ("symptom", "rule", "layer", "culprit"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_layer_and_the_object_at_fault_are_named(symptom: Symptom, rule: str, layer: str, culprit: str) -> None:
    diagnosis = diagnose(symptom)
    assert (diagnosis.rule, diagnosis.layer, diagnosis.object) == (rule, layer, culprit)
    assert diagnosis.next


def test_running_while_tokens_fail_and_one_galera_pod_left_names_the_quorum() -> None:
    quorum = Check(
        name="quorum", ok=False, layer="database", object="StatefulSet/mariadb-server",
        detail="1 of 3 Galera members are up, the cluster has 1",
    )  # fmt: skip
    token = Check(name="token", ok=False, detail="auth/tokens answers 500")
    diagnosis = diagnose(seen(stage="verify", object="release keystone", checks=(quorum, token)))
    assert (diagnosis.rule, diagnosis.layer) == ("quorum", "database")
    assert diagnosis.object == "StatefulSet/mariadb-server"
    assert "suspect: the quorum" in diagnosis.what


def test_the_log_of_a_container_that_runs_on_is_its_present_one() -> None:
    symptom = seen(container="mariadb", log=("refused: no member holds a database",))
    assert diagnose(symptom).next.endswith("logs keystone-api-0 --container mariadb")
    assert diagnose(replace(symptom, exit_code=1)).next.endswith("--container mariadb --previous")


def test_a_node_that_is_gone_explains_what_its_pods_say() -> None:
    symptom = log("connection refused", node="worker-1", facts=ClusterFacts(not_ready_nodes=("worker-1",)))
    assert diagnose(symptom).rule == "node-not-ready"


def test_a_failed_migration_says_what_still_serves() -> None:
    symptom = log("ValueError: x", owner="Job/nova-db-sync", serving=("Deployment/nova-api-osapi",))
    card = cards.make(symptom, Redactor({}))
    assert card.rule == "migration-failed"
    assert "Deployment/nova-api-osapi: pods of the former version still serve" in card.what
    assert "still serve" not in cards.make(replace(symptom, serving=()), Redactor({})).what
    denied = log("(1045, denied)", owner="Job/nova-db-sync", serving=("Deployment/nova-api-osapi",))
    assert "still serve" in cards.make(denied, Redactor({})).what, "whatever its cause"


@pytest.mark.parametrize(
    ("lacked", "rule"),
    [('secret "rabbitmq-tls-direct"', "secret-missing"), ('configmap "keystone-bin"', "chart-missing-object")],
)
def test_what_came_since_has_the_time_of_kubelet_s_next_try(*, lacked: str, rule: str) -> None:
    found = diagnose(
        seen(events=(event("FailedMount", f'MountVolume.SetUp failed for volume "x" : {lacked} not found'),))
    )
    assert found.rule == rule
    assert found.patience is not None
    assert found.patience > 122


def test_a_certificate_that_has_ended_is_no_matter_of_clocks() -> None:
    said = "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-"
    assert diagnose(log(f"{said}11-22T10:00:00Z is after 2026-11-21T00:00:00Z")).rule != "clock-skew"
    assert diagnose(log(f"{said}11-22T10:00:00Z is before 2026-11-23T00:00:00Z")).rule == "clock-skew"


def test_an_image_of_another_release_is_named() -> None:
    assert "image registry.lab.test/openstack:2025.2" in diagnose(
        log("No module named 'x'", image="registry.lab.test/openstack:2025.2")
    ).what  # fmt: skip


def test_a_node_elsewhere_is_not_blamed() -> None:
    symptom = log("(1045, denied)", node="worker-2", facts=ClusterFacts(not_ready_nodes=("worker-1",)))
    assert diagnose(symptom).rule == "db-password"


GUIDE = Path(__file__).parents[3] / "docs" / "failure-cards.md"


def test_every_diagnosis_has_its_paragraph_in_the_guide() -> None:
    guide = GUIDE.read_text()
    assert [case[2] for case in CASES if f"`{case[2]}`" not in guide] == []


def test_no_two_rules_share_a_name() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_secrets_are_in_no_part_of_a_card() -> None:
    secret = "s3cr3t-passw0rd"
    symptom = log(
        f"(1045, 'using {secret}')",
        message=f"dial {secret}",
        events=(event("Failed", f"could not use {secret}"),),
    )
    card = cards.make(symptom, Redactor({"keystone/db": secret}), affected=["nova"])
    text = cards.text(card)
    assert secret not in text
    assert secret not in repr(card)
    assert "keystone/db" in text


def test_a_full_disk_leads_to_the_claim_or_to_the_node_that_is_full() -> None:
    full = "OSError: [Errno 28] No space left on device"
    assert diagnose(log(full, node="worker-1")).next == "kubectl describe node worker-1"
    claimed = diagnose(log(full, claims=("mysql-data-0",), node="worker-1")).next
    assert claimed == "kubectl --namespace openstack describe persistentvolumeclaim mysql-data-0"


def test_a_release_the_api_server_refuses_leads_to_helm() -> None:
    refused = seen(
        object="release keystone", stage="apply", message='Service "keystone-api" is invalid: nodePort taken'
    )
    assert diagnose(refused).rule == "refused"
    assert diagnose(refused).next == "helm --namespace openstack history keystone"


def test_a_pod_on_its_way_explains_nothing() -> None:
    assert not explains(seen(reason="ContainersNotReady"))
    assert explains(log("no match"))


def test_the_next_command_names_the_site_file_it_is_for() -> None:
    symptom = seen(stage="render", message="nil pointer")
    card = cards.make(symptom, Redactor({}), site_file="inventories/lab/site.yml")
    assert card.next == "ansible-playbook -i inventories/lab/site.yml groundup.cloud.openstack --check --diff"


def test_a_card_shows_release_layer_object_events_log_and_the_next_command() -> None:
    symptom = log("Traceback (most recent call last):", "ValueError: x", events=(event("BackOff", "again", 4),))
    text = cards.text(cards.make(symptom, Redactor({}), affected=["nova", "glance"]))
    assert "FAILED keystone: service: Deployment/keystone-api" in text
    assert "BackOff (x4): again" in text
    assert "log of keystone-db-sync:" in text
    assert "kubectl --namespace openstack logs keystone-api-0" in text
    assert "not started nova, glance" in text


def test_a_long_message_keeps_the_cause_at_its_end() -> None:
    volume = "failed to provision volume: failed to create volume pvc-1: pods helper is forbidden: " * 4
    claim = seen(
        object="PersistentVolumeClaim/data-0",
        reason="ClaimUnbound",
        message="claim data-0 is Pending",
        events=(event("ProvisioningFailed", volume + 'serviceaccount "provisioner" not found'),),
    )
    what = diagnose(claim).what
    assert what.endswith('serviceaccount "provisioner" not found')
    assert len(what) <= 240

"""Every rule of the failure cards, on what the cluster and the programs really say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.verification import Check
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.diagnose import cards
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.diagnose.rules import RULES, diagnose, explains
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import ClusterFacts, Symptom
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import Redactor

from .rule_cases import CASES, event, log, seen


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


def test_a_failed_contraction_says_what_it_waited_for_and_not_that_former_pods_serve() -> None:
    said = "the contraction failed, as after 600 s Pod/keystone-api-0 still had the former image"
    symptom = log(said, owner="Job/keystone-db-contract", serving=("Deployment/keystone-api",))
    card = cards.make(symptom, Redactor({}))
    assert (card.rule, card.what) == ("migration-failed", f"the database's migration failed: {said}")


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


def test_a_job_whose_program_fails_time_and_again_ends_the_wait() -> None:
    trace = ("Traceback (most recent call last):", "ValueError: x")
    migration = log(*trace, owner="Job/nova-db-sync-1a2b")
    assert [diagnose(replace(migration, crashes=runs)).patience for runs in (0, 3, 4, 9)] == [None, None, 0.0, 0.0]
    other = replace(migration, owner="Job/nova-identity-1a2b")
    assert [diagnose(replace(other, crashes=runs)).patience for runs in (0, 5, 6, 9)] == [None, None, 0.0, 0.0]
    assert diagnose(replace(other, crashes=9, log=("no reason",))).patience == 0.0
    assert diagnose(replace(other, crashes=9, owner="Deployment/nova-api")).patience is None
    assert diagnose(replace(other, crashes=9, init=True)).patience is None, "it waits for others"


@pytest.mark.parametrize("peer", ["[Errno 111] Connection refused", "HTTP 503 Service Unavailable", "timed out"])
def test_a_job_that_something_else_keeps_from_its_end_has_the_whole_time(peer: str) -> None:
    found = log("Traceback (most recent call last):", f"ClientError: {peer}", owner="Job/nova-db-sync-1", crashes=20)
    assert diagnose(found).patience is None


def test_a_job_that_kubernetes_calls_failed_ends_the_wait_whatever_its_cause() -> None:
    gone = seen(object="Job/x", owner="Job/x", reason="BackoffLimitExceeded", final=True)
    assert diagnose(gone).patience == diagnose(replace(gone, log=("(2003, no answer)",))).patience
    assert diagnose(gone).patience is not None

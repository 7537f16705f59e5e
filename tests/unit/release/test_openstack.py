"""Steps between OpenStack releases: which are allowed, what speaks against one, and the page that says so."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import facts, judge, page
from ansible_collections.groundup.cloud.plugins.plugin_utils.release.facts import ReleaseFacts, ReportedService
from ansible_collections.groundup.cloud.plugins.plugin_utils.release.order import left
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate import pairs
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.rows import StatusRow

from .cloud import plan_of

ALLOWED = {("2025.1", "2025.2"), ("2025.1", "2026.1"), ("2025.2", "2026.1"), ("2026.1", "2026.2")}


def service(binary: str = "nova-compute", version: int = 72, **more: Any) -> ReportedService:
    given: dict[str, Any] = {"service": "nova", "number": 1, "host": "h1", "silent": 5, **more}
    return ReportedService(binary=binary, version=version, **given)


def seen(*services: ReportedService, **more: Any) -> ReleaseFacts:
    given: dict[str, Any] = {
        "running": {"keystone": frozenset(("2026.1",))}, "hypervisors": frozenset(("h1", "h2")), "data": "72",
    }  # fmt: skip
    return ReleaseFacts(services=services, **{**given, **more})


def bad(found: ReleaseFacts, target: str = "2026.2") -> dict[str, StatusRow]:
    return {row.name: row for row in judge.rows(found, target) if row.state != "ok"}


def test_every_step_that_is_not_in_the_table_is_refused() -> None:
    for before, after in itertools.permutations(pairs.STEPS, 2):
        assert (pairs.refusal(before, after) is None) == ((before, after) in ALLOWED), (before, after)
    assert all(pairs.refusal(one, one) is None for one in pairs.STEPS)


@pytest.mark.parametrize(
    ("before", "after", "said", "remedy"),
    [
        ("2025.2", "2026.2", "2026.2 may not follow 2025.2", "2025.2 → 2026.1 → 2026.2"),
        ("2025.1", "2026.2", "2026.2 may not follow 2025.1", "2025.1 → 2026.1 → 2026.2"),
        ("2026.2", "2026.1", "older than 2026.2: databases are migrated forward only", "restore a backup set"),
        ("2026.2", "2027.1", "2027.1 is none of", "use one of 2025.1"),
        ("2024.2", "2025.2", "2024.2 is none of", "use one of 2025.1"),
    ],
)
def test_a_refusal_names_both_releases_and_the_way(before: str, after: str, said: str, remedy: str) -> None:
    refused = pairs.refusal(before, after)
    assert refused is not None
    assert said in refused[0]
    assert remedy in refused[1]


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("registry:5000/groundup/openstack:2026.1", {"2026.1"}),
        (f"registry:5000/groundup/openstack:2026.1@sha256:{'0' * 64}", {"2026.1"}),
        ("quay.io/airshipit/keystone:2025.2-ubuntu_noble", {"2025.2"}),
        ("registry:5000/groundup/mariadb:11.8", set()),
        ("registry:5000/groundup/tool:2026.10", set()),
        ("registry:2026/groundup/openstack", set()),
    ],
)
def test_a_release_is_told_by_the_tags_of_its_images(image: str, release: set[str]) -> None:
    pod = {"spec": {"template": {"spec": {"containers": [{"image": image}]}}}, "kind": "Deployment"}
    assert pairs.releases([pod]) == release


def test_a_cloud_that_is_whole_has_nothing_in_the_way() -> None:
    services = [service(), service(host="h2"), service("nova-conductor"), service("cinder-volume", 0, service="cinder")]
    assert bad(seen(*services)) == {}


def test_a_service_whose_images_tell_no_release_is_named_and_keeps_the_cloud_from_having_one() -> None:
    found = seen(service(), service(host="h2"), untold=frozenset(("horizon",)))
    assert bad(found)["horizon"].state == "broken"
    assert "horizon: the tags of its images do not tell their release" in left(plan_of(), found).versions.lines()


def test_a_hypervisor_that_the_next_nova_does_not_start_with_is_named_also_when_it_is_down() -> None:
    row = bad(seen(service(), service(host="h2", version=70, silent=600)))["Nova's services"]
    assert "nova-compute of h2 is 70" in row.what
    assert "version 72" in row.what
    assert "2026.1" in row.remedy
    assert "Nova's services" not in bad(seen(service(version=70), data="70"), "2026.1")


@pytest.mark.parametrize(("silent", "told"), [(5, False), (179, False), (180, True), (-1, True), (3600, True)])
def test_a_hypervisor_that_does_not_report_comes_first(silent: int, *, told: bool) -> None:
    """It would keep the former release, and Nova's data would wait for it."""
    rows = bad(seen(service(), service(host="h2", silent=silent)))
    assert [*rows] == (["hypervisors"] if told else [])
    if told:
        assert rows["hypervisors"].state == "broken"
        assert rows["hypervisors"].what.endswith("does not report: h2")
    assert "hypervisors" not in bad(seen(service(), service("nova-conductor", host="h2", silent=silent)))


def test_a_hypervisor_that_is_silent_for_longer_is_one_row_as_one_that_is_gone() -> None:
    assert [*bad(seen(service(), service(host="h2", silent=judge.GONE + 1)))] == ["nova-compute of h2"]


def test_the_record_of_a_pod_that_has_ended_is_no_old_service() -> None:
    assert bad(seen(service(), service("nova-conductor", 68, host="gone", silent=90000))) == {}
    assert "Nova's services" in bad(seen(service(), service("nova-conductor", 68)))


@pytest.mark.parametrize(
    ("record", "remedy"),
    [
        (service(host="h9"), "retire -e machine=h9"),  # no hypervisor of the site file
        (service(host="h2", silent=judge.GONE + 1), "retire -e machine=h2"),
        (service("cinder-volume", 0, service="cinder", silent=judge.GONE + 1), "service remove cinder-volume h1"),
    ],
)
def test_a_record_of_a_host_that_is_gone_is_named_with_its_removal(record: ReportedService, remedy: str) -> None:
    row = bad(seen(service(), record))[f"{record.binary} of {record.host}"]
    assert row.state == "broken"
    assert remedy in row.remedy


def test_records_of_former_pods_of_cinders_scheduler_are_one_row_with_one_command() -> None:
    """Each pod leaves one behind, as a scheduler's host is its pod's name."""

    def scheduler(host: str, silent: int) -> ReportedService:
        return service("cinder-scheduler", 0, service="cinder", host=host, silent=silent)

    records = [scheduler("pod-b", judge.GONE + 1), scheduler("pod-a", 90000), scheduler("pod-now", 5)]
    rows = bad(seen(service(), *records))
    assert [(row.name, row.state) for row in rows.values()] == [("cinder-scheduler", "warning")]
    assert rows["cinder-scheduler"].remedy == (
        "kubectl --namespace openstack exec deployment/cinder-scheduler -- sh -c "
        "'for host in pod-a pod-b; do cinder-manage service remove cinder-scheduler $host; done'"
    )


@pytest.mark.parametrize("data", ["", "not yet", "70"])
def test_data_that_were_not_migrated_to_what_runs_come_first(data: str) -> None:
    # By another name each time: a Job cannot be made twice.
    assert bad(seen(service(), data=data, namespace="cloud"))["Nova's data"].remedy.startswith(
        "kubectl --namespace cloud create job --from=cronjob/nova-data-migrations data-migrations-$(date +%s), and look"
    )
    assert bad(seen(service(), data=data, scheduled=False))["Nova's data"].state == "warning"


def test_a_half_upgraded_cloud_shows_both_steps() -> None:
    running = {"keystone": frozenset(("2026.2",)), "nova": frozenset(("2026.1",)), "heat": frozenset(("2025.2",))}
    rows = {row.name: row for row in judge.rows(seen(service(), running=running), "2026.2")}
    assert [rows[f"{one} to 2026.2"].state for one in ("2025.2", "2026.1", "2026.2")] == ["broken", "ok", "ok"]


def test_durable_queues_are_quorum_queues() -> None:
    def queue(name: str, kind: str, *, durable: bool = True, exclusive: bool = False) -> dict[str, object]:
        return {"name": name, "vhost": "nova", "type": kind, "durable": durable, "exclusive": exclusive}

    queues = [
        queue("a", "quorum"), queue("b", "classic"), queue("c", "stream"), queue("d", "classic", durable=False),
        queue("e", "classic", exclusive=True),
    ]  # fmt: skip
    assert list(facts.classic(queues)) == ["nova/b"]
    assert "nova/b" in bad(seen(classic=("nova/b",)))["queues"].what


def test_records_are_read_from_the_clients_answer() -> None:
    text = "nova\t3\th1\tnova-compute\t72\t4\ncinder\t1\tworker@rbd\tcinder-volume\t0\t-1\n"
    assert facts.parse(text) == [
        service(number=3, silent=4),
        service("cinder-volume", 0, service="cinder", host="worker@rbd", silent=-1),
    ]


def test_the_newest_job_of_data_counts_if_it_succeeded() -> None:
    def pod(at: str, message: str, code: int = 0) -> dict[str, Any]:
        state = {"terminated": {"finishedAt": at, "message": message, "exitCode": code}}
        return {"status": {"containerStatuses": [{"state": state}]}}

    running: dict[str, Any] = {"status": {"containerStatuses": [{"state": {"running": {}}}]}}
    pods = [pod("2026-11-02T03:40:00Z", "72"), pod("2026-11-01T03:40:00Z", "not yet"), running, {}]
    assert facts.said(pods) == "72"
    assert facts.said([*pods, pod("2026-11-03T03:40:00Z", "", 1)]) == "72"
    assert facts.said([]) == ""


@pytest.mark.parametrize(
    ("age", "state", "result"),
    [(600, "ok", "ok"), (7300, "ok", "broken"), (600, "broken", "broken"), (None, "warning", "broken")],
)
def test_the_newest_backup_is_whole_and_young(age: int | None, state: Any, result: str) -> None:
    sets = [StatusRow(name="mariadb", state=state, what="", facts={} if age is None else {"age": age})]
    assert judge.saved(sets, 2).state == result


def test_the_page_is_a_table_with_what_comes_first() -> None:
    rows = [
        StatusRow(name="queues", state="broken", what="nova|b", remedy="delete it"),
        StatusRow(name="data", state="ok", what="x"),
    ]
    text = page.page("lab", before=("2026.1",), target="2026.2", parts={"release": rows})
    assert text.startswith("# OpenStack 2026.1 to 2026.2: lab\n")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(line) for line in table}) == 1
    assert all(line.count("|") == 5 for line in table)
    assert "* queues: delete it" in text
    assert "`helm rollback` moves objects alone" in text

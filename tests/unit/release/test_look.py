"""What is asked before a step of OpenStack's release, and what is said when it cannot be."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import mariadb
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm import records
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError, Executed
from ansible_collections.groundup.cloud.plugins.plugin_utils.release import check, facts, judge
from ansible_collections.groundup.cloud.plugins.plugin_utils.status.rows import StatusRow, worst


class Member:
    """A member of the databases that answers with two records."""

    name = "pod mariadb-server-0"

    def __init__(self, code: int = 0) -> None:
        self.code, self.sql = code, ""

    def run(self, argv: tuple[str, ...]) -> Executed:
        self.sql = argv[-1].removeprefix("--execute=")
        text = "nova\t3\th1\tnova-compute\t72\t4\n"
        return Executed(code=self.code, stdout="" if self.code else text, stderr="ERROR 1146: no table")


def plan(*services: str) -> Any:
    openstack = SimpleNamespace(namespace="openstack", releases=(), services=services, charts="builtin")
    hosts = {"h1": SimpleNamespace(roles=("hypervisor",)), "c1": SimpleNamespace(roles=("control",))}
    return SimpleNamespace(site="lab", openstack=openstack, hosts=hosts)


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> Member:
    asked = Member()
    monkeypatch.setattr(mariadb, "choose", lambda _api, _namespace: asked)
    return asked


API: Any = SimpleNamespace(get=lambda _path, **_query: {"items": []})


def test_records_are_asked_of_the_services_that_a_site_has(member: Member) -> None:
    found = facts.look(plan("keystone", "nova"), API, "word")
    assert [(one.host, one.version) for one in found.services] == [("h1", 72)]
    assert found.hypervisors == {"h1"}
    assert member.sql.count("SELECT") == member.sql.count("FROM nova.services") == 1
    facts.look(plan("nova", "cinder"), API, "word")
    assert "FROM cinder.services" in member.sql
    assert "UPDATE" not in member.sql


def test_a_site_without_them_asks_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mariadb, "choose", lambda *_: pytest.fail("asked"))
    assert facts.look(plan("keystone"), API, "word").services == ()


def test_records_that_cannot_be_read_are_unknown_and_nothing_is_good_for_lack_of_them(member: Member) -> None:
    member.code = 1
    found = facts.look(plan("nova"), API, "word")
    assert (found.services, [*found.unknown]) == ((), ["mariadb"])
    rows = {row.name: row for row in judge.rows(found, "2026.2")}
    assert {name: row.state for name, row in rows.items()} == {"records of services": "unknown", "queues": "ok"}
    assert "ERROR 1146" in rows["records of services"].what


def test_a_nova_that_runs_without_any_record_is_unknown(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a database that was lost: what hypervisors have is in no record then, and none of them would be left."""
    live = SimpleNamespace(name="nova", namespace="openstack", objects=(), status="deployed")
    monkeypatch.setattr(records, "read", lambda *_: {("openstack", "nova"): live})
    site = plan("nova")
    site.openstack.releases = (SimpleNamespace(namespace="openstack", name="nova", is_extra=False),)
    assert facts.look(site, API, "word").unknown == {}
    monkeypatch.setattr(member, "run", lambda _argv: Executed(code=0, stdout="", stderr=""))
    row = facts.look(site, API, "word").unknown["mariadb"]
    site.openstack.services = ()
    assert facts.look(site, API, "word").unknown == {}, "nobody asked"
    assert "Nova runs, and has no record of any service" in row.what


@pytest.mark.usefixtures("member")
def test_services_that_left_the_site_file_and_those_that_came_to_it_are_told_by_what_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a release that is nobody's, nothing is: it is no service of ours."""
    pod = {"spec": {"containers": [{"image": "registry.test/heat:2026.1@sha256:0"}]}}
    objects = ({"kind": "Deployment", "metadata": {"name": "api"}, "spec": {"template": pod}},)
    live = {
        ("openstack", name): SimpleNamespace(name=name, namespace="openstack", objects=objects, status="deployed")
        for name in ("nova", "heat", "somebodys")
    }
    monkeypatch.setattr(records, "read", lambda *_: live)
    site = plan("nova")
    site.openstack.releases = tuple(
        SimpleNamespace(namespace="openstack", name=name, is_extra=False) for name in ("nova", "keystone")
    )
    found = facts.look(site, API, "word")
    assert found.running == {"nova": {"2026.1"}}
    assert found.retired == {"heat": {"2026.1"}}
    assert found.lacking == {"keystone"}
    rows = {row.name: row for row in judge.rows(found, "2026.2")}
    assert (rows["heat"].state, rows["keystone"].state) == ("broken", "broken")
    assert "heat" not in {row.name for row in judge.rows(found, "2026.1")}


def test_queues_that_cannot_be_listed_are_unknown(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    live = SimpleNamespace(name="rabbitmq", namespace="openstack", objects=(), status="deployed")
    monkeypatch.setattr(records, "read", lambda *_: {("openstack", "rabbitmq"): live})
    site = plan("nova")
    site.openstack.releases = (SimpleNamespace(namespace="openstack", name="rabbitmq", is_extra=False),)
    found = facts.look(site, API, "word")
    assert (found.classic, [*found.unknown], member.code) == ((), ["rabbitmq"], 0)
    row = next(row for row in judge.rows(found, "2026.2") if row.name == "queues")
    assert (row.state, "no member is Ready" in row.what) == ("unknown", True)


def test_an_api_that_does_not_answer_is_an_error(member: Member) -> None:
    def refuses(_path: str, **_query: str) -> None:
        raise ApiError("no answer", where="there", status=0)

    with pytest.raises(ApiError):
        facts.look(plan("nova"), SimpleNamespace(get=refuses), "word")  # type: ignore[arg-type]  # a stand-in
    assert member.sql == ""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("state")
def test_without_a_cluster_the_check_says_that_there_is_nothing() -> None:
    found = check.check(plan("nova"), target="2026.2", password="", hours=1)
    assert worst(found.parts) == "not made"
    assert found.before == ()


@pytest.mark.usefixtures("state")
def test_a_part_that_cannot_be_asked_is_unknown_and_the_others_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    file = kubeconfig_path("lab")
    file.parent.mkdir(parents=True)
    file.write_text("")
    broken = GroundupError("no answer", where="there", why="why", remedy="look")

    def refuses(*_: Any) -> None:
        raise broken

    older = StatusRow(name="nova", state="warning", what="older")
    monkeypatch.setattr(check, "Api", lambda _: API)
    monkeypatch.setattr(check, "look", refuses)
    monkeypatch.setattr(check, "release_rows", lambda *_: [older, StatusRow(name="heat", state="ok", what="")])
    monkeypatch.setattr(check, "set_rows", lambda *_, **__: [])
    found = check.check(plan("nova"), target="2026.2", password="", hours=1)
    states = {part: [row.state for row in rows] for part, rows in found.parts.items()}
    assert states == {"release": ["unknown"], "workloads": ["ok"], "backup": ["broken"]}
    assert "2 releases are whole" in found.parts["workloads"][0].what

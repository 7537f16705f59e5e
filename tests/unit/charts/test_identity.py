"""The job that makes a service's users, services and endpoints; against a real Keystone in tests/unit/images."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from .conftest import script

identity = script("groundup-lib/files/identity.py")
USER = {
    "name": "glance", "password": "word", "domain": "service", "project": "service", "project_domain": "Default",
    "roles": ["reader", "service"],
}  # fmt: skip
URLS = {"public": "https://image.lab.test", "internal": "http://glance-api:9292", "admin": "http://glance-api:9292"}
WANTED = {"region": "one", "users": [USER], "services": [{"type": "image", "name": "glance", "endpoints": URLS}]}


class RefusedError(Exception):
    """What the SDK raises for an answer with an error's status."""

    def __init__(self, http_status: int | None) -> None:
        super().__init__(f"HTTP {http_status}")
        self.http_status = http_status


RefusedError.__module__ = "keystoneauth1.exceptions.http"


class Keystone:
    """As much of the SDK's identity proxy as the script talks to; kinds of things by name."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Any]] = {}
        self.calls: list[str] = []
        self.watched = False  # whether logins are among the calls
        self.answers: list[bool | Exception] = []  # to logins; then the truth
        self.before_create: Callable[[str, dict[str, Any]], None] = lambda _kind, _attributes: None

    def __getattr__(self, call: str) -> Callable[..., Any]:
        verb, _, kind = call.partition("_")
        if verb == "find":
            return lambda name, **at: next(iter(self.of(kind, id=name) or self.of(kind, name=name, **at)), None)
        if verb == "create":
            return lambda **attributes: self.create(kind, attributes)
        if verb == "update":
            return lambda item, **changes: self.change(call, item, changes)
        if verb == "delete":
            return lambda item: self.change(call, item, {"gone": True})
        return lambda **at: self.of(call.removesuffix("s"), **at)

    def assign_project_role_to_user(self, project: Any, user: Any, role: Any) -> None:
        user.roles = {*getattr(user, "roles", ()), (project.id, role.name)}

    def role_assignments(self, *, user_id: str) -> list[Any]:
        (user,) = self.of("user", id=user_id)
        ids = {role.name: role.id for role in self.of("role")}
        own = [
            SimpleNamespace(role={"id": ids[role]}, scope={"project": {"id": project}})
            for project, role in sorted(getattr(user, "roles", ()))
        ]
        return [*own, *getattr(user, "elsewhere", ())]

    def unassign_project_role_from_user(self, project: str, user: str, role: str, *, inherited: bool = False) -> None:
        self.take("project", project, user, role, inherited)

    def unassign_domain_role_from_user(self, domain: str, user: str, role: str, *, inherited: bool = False) -> None:
        self.take("domain", domain, user, role, inherited)

    def unassign_system_role_from_user(self, user: str, role: str, system: str) -> None:
        self.take("system", system, user, role, False)

    def take(self, kind: str, place: str, user: str, role: str, inherited: bool) -> None:
        (held,), (named,) = self.of("user", id=user), self.of("role", id=role)
        self.calls.append(f"take {named.name} of {kind} {place}{' inherited' if inherited else ''}")
        held.roles = {one for one in held.roles if one != (place, named.name)}

    def of(self, kind: str, **at: Any) -> list[Any]:
        return [item for item in self.kept.get(kind, []) if {**at, "gone": False}.items() <= item.__dict__.items()]

    def change(self, call: str, item: Any, changes: dict[str, Any]) -> Any:
        self.calls.append(f"{call} options" if "options" in changes else call)
        item.__dict__.update(changes)
        return item

    def create(self, kind: str, attributes: dict[str, Any]) -> Any:
        self.calls.append(f"create_{kind}")
        self.before_create(kind, attributes)
        own = {"options": {}, "is_enabled": True} if kind == "user" else {}
        item = SimpleNamespace(**{"id": f"{kind}-{len(self.kept.get(kind, []))}", "gone": False, **own, **attributes})
        self.kept.setdefault(kind, []).append(item)
        return item


@pytest.fixture
def keystone(monkeypatch: pytest.MonkeyPatch) -> Keystone:
    found = Keystone()

    def accepted(_self: Any, name: str, password: str, domain: str) -> bool:
        found.calls.append("login") if found.watched else None
        if found.answers:
            if isinstance(answer := found.answers.pop(0), Exception):
                raise answer
            return answer
        return any(user.password == password for user in found.of("user", name=name, domain_id=domain))

    monkeypatch.setattr(identity.Identity, "accepted", accepted)
    monkeypatch.setattr(identity, "PAUSE", 0.0)
    return found


def converge(keystone: Keystone, wanted: dict[str, Any] = WANTED) -> list[str]:
    """Run the script's work and return the calls that changed something."""
    keystone.calls.clear()
    identity.converge(SimpleNamespace(identity=keystone), wanted)
    return list(keystone.calls)


def test_everything_is_made_once(keystone: Keystone, capsys: pytest.CaptureFixture[str]) -> None:
    converge(keystone)
    (user,), (service,) = keystone.of("user"), keystone.of("service")
    assert (user.name, user.domain_id, user.roles) == (
        "glance",
        keystone.of("domain")[0].id,
        {("project-0", "reader"), ("project-0", "service")},
    )
    assert keystone.of("project")[0].domain_id == "default"
    assert {end.interface: end.url for end in keystone.of("endpoint", service_id=service.id, region_id="one")} == URLS
    assert converge(keystone) == []
    assert "endpoint image public https://image.lab.test: made" in (said := capsys.readouterr().out)
    assert "word" not in said


def test_a_password_is_set_only_when_the_old_one_does_not_work(
    keystone: Keystone, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keystone ends every token of a user whose password is set, be it the same one."""
    converge(keystone)
    assert converge(keystone, {**WANTED, "users": [{**USER, "password": "another"}]}) == ["update_user"]
    assert keystone.of("user")[0].password == "another"
    assert "another" not in capsys.readouterr().out


@pytest.mark.parametrize("answers", [[False, True], [False, False, True]])
def test_a_keystone_that_errs_for_a_while_costs_no_password(
    keystone: Keystone, answers: list[bool | Exception]
) -> None:
    converge(keystone)
    keystone.answers = answers
    assert converge(keystone) == []


@pytest.mark.parametrize("code", [429, 503, None])
def test_a_login_that_is_not_answered_changes_nothing(keystone: Keystone, code: int | None) -> None:
    converge(keystone)
    keystone.answers = [RefusedError(code)]
    with pytest.raises(RefusedError):
        converge(keystone)
    assert keystone.calls == []


def test_five_wrong_passwords_of_anybody_lock_no_service(keystone: Keystone) -> None:
    """An account of before is mended first: a refusal is then one of the password, and of no lockout."""
    converge(keystone)
    (user,) = keystone.of("user")
    assert user.options["ignore_lockout_failure_attempts"] is True
    assert user.options["lock_password"] is True, "who holds its password cannot set it"
    user.options, keystone.watched = {"multi_factor_auth_enabled": False}, True
    assert converge(keystone) == ["update_user options", "login"]
    assert user.options["ignore_lockout_failure_attempts"] is True
    assert converge(keystone) == ["login"]


@pytest.mark.parametrize(("change", "words"), [({"is_enabled": False}, "is disabled"), ({"options": {}}, "read-only")])
def test_a_refusal_that_no_password_ends_sets_none(
    keystone: Keystone, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], words: str
) -> None:
    converge(keystone)
    (user,) = keystone.of("user")
    user.__dict__.update(change)
    monkeypatch.setattr(keystone, "update_user", lambda item, **_: item, raising=False)
    keystone.answers = [False] * 9
    with pytest.raises(SystemExit, match=words):
        converge(keystone)
    assert keystone.calls == []


def test_a_service_has_the_roles_it_is_given_and_no_other(keystone: Keystone) -> None:
    converge(keystone)
    (user,), home = keystone.of("user"), keystone.of("domain")[0].id
    admin = keystone.create("role", {"name": "admin"})
    user.roles.add(("project-0", "admin"))
    reader = keystone.of("role", name="reader")[0].id
    user.elsewhere = [
        SimpleNamespace(role={"id": reader}, scope={"project": {"id": "other"}}),
        SimpleNamespace(role={"id": admin.id}, scope={"domain": {"id": home}}),
        SimpleNamespace(role={"id": admin.id}, scope={"system": {"all": True}}),
        SimpleNamespace(
            role={"id": reader}, scope={"project": {"id": "project-0"}, "OS-INHERIT:inherited_to": "projects"}
        ),
    ]
    assert converge(keystone) == [
        "take admin of project project-0",
        "take reader of project other",
        f"take admin of domain {home}",
        "take admin of system all",
        "take reader of project project-0 inherited",
    ]


def test_an_endpoint_is_brought_up_to_date_and_others_of_its_interface_go(keystone: Keystone) -> None:
    converge(keystone)
    service = keystone.of("service")[0].id
    keystone.create("endpoint", {"service_id": service, "interface": "admin", "url": "http://old", "region_id": "one"})
    keystone.create("endpoint", {"service_id": service, "interface": "admin", "url": "http://it", "region_id": "two"})
    moved = {**URLS, "public": "https://elsewhere"}
    assert converge(keystone, {**WANTED, "services": [{"type": "image", "name": "glance", "endpoints": moved}]}) == [
        "update_endpoint",
        "delete_endpoint",
    ]
    assert {end.interface: end.url for end in keystone.of("endpoint", region_id="one")} == moved
    assert len(keystone.of("endpoint", region_id="two")) == 1


def test_what_the_job_of_another_service_makes_at_the_same_moment_is_taken_as_it_is(keystone: Keystone) -> None:
    def another_was_first(kind: str, attributes: dict[str, Any]) -> None:
        if kind in ("domain", "project", "role"):
            keystone.kept.setdefault(kind, []).append(SimpleNamespace(id=f"theirs-{kind}", gone=False, **attributes))
            raise RefusedError(409)

    keystone.before_create = another_was_first
    converge(keystone)
    assert [item.id for kind in ("domain", "project") for item in keystone.of(kind)] == [
        "theirs-domain",
        "theirs-project",
    ]


def test_it_waits_for_a_keystone_that_is_away_and_not_for_one_that_refuses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    naps: list[float] = []
    monkeypatch.setattr(identity.time, "sleep", naps.append)
    answers: list[int | None] = [None, 503, 429, 401]

    def work() -> None:
        raise RefusedError(answers.pop(0))

    with pytest.raises(SystemExit, match="HTTP 401"):
        identity.patiently(work)
    assert len(naps) == 3
    assert "Keystone does not answer yet" in capsys.readouterr().out


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "WAIT", -1.0)

    def work() -> None:
        raise RefusedError(None)

    with pytest.raises(SystemExit, match="RefusedError"):
        identity.patiently(work)


def test_it_reads_what_the_chart_writes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keystone: Keystone) -> None:
    path = tmp_path / "identity.json"
    path.write_text(json.dumps(WANTED))
    monkeypatch.setattr(identity.sys, "argv", ["identity.py", str(path)])
    monkeypatch.setattr("openstack.connect", lambda **_: SimpleNamespace(identity=keystone))
    identity.main()
    assert [user.name for user in keystone.of("user")] == ["glance"]

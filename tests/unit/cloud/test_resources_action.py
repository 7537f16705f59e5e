"""Action of module resources: what tenants did is a warning of `apply` and an error of `verify`; one run at a time."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import resources
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import vault
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import alone, holds
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

from .resources_api import USER, Apis, Killed
from .test_resources import plan, run


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sites whose lease was taken."""
    taken = list[str]()

    @contextmanager
    def lease(one: Plan, **_: Any) -> Iterator[Any]:
        taken.append(one.site)
        yield lambda: None

    monkeypatch.setattr(alone, "alone", lease)
    monkeypatch.setattr(holds, "_scoped", Apis.within)
    monkeypatch.setattr(vault, "open_store", lambda *_, **__: SimpleNamespace(resolve=lambda value: value))
    return taken


def act(
    apis: Apis,
    planned: Plan,
    step: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    check: bool = False,
    force: tuple[str, ...] = (),
) -> Any:
    action: Any = object.__new__(resources.ActionModule)
    action.changes, action._display = Changes(check=check), SimpleNamespace(display=print)
    monkeypatch.setattr(Apis, "authorize", lambda _: None, raising=False)
    monkeypatch.setattr(connection, "of_site", lambda _: apis)
    monkeypatch.setattr(alone, "kept", lambda _: apis.ledger)
    monkeypatch.setattr(resources, "site_plan", lambda _: planned)
    return action.work({"step": step, "site_file": "site.yml", "force": [*force]})


def test_what_a_member_made_is_told_and_no_error_of_apply(held: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    apis, planned = Apis(), plan()
    run(apis, planned)
    apis.named("network", "front")["description"] = "mine"
    apis.named("flavor", "m1")["description"] = "Small [groundup.cloud: cloud]"
    done = act(apis, planned, "apply", monkeypatch)
    assert done["changes"] == ["change flavor m1: description"]
    (why,) = done["left"]
    assert why.startswith("network front of project web is there, and not from this site file; left with that: subnet")
    assert why in done["warnings"][-1]
    assert held == ["cloud"]
    with pytest.raises(GroundupError, match="not as the site file says: network front of project web"):
        act(apis, planned, "verify", monkeypatch)
    done = act(apis, planned, "apply", monkeypatch, check=True)
    assert (done["changes"], len(done["left"]), held) == ([], 1, ["cloud"])
    del apis.named("network", "front")["description"]
    apis.named("network", "front")["description"] = "[groundup.cloud: cloud]"
    apis.named("router", "out")["status"] = "ERROR"
    done = act(apis, planned, "apply", monkeypatch)
    assert (done["changes"], done["left"], len(held)) == ([], done["warnings"], 2)
    with pytest.raises(GroundupError, match="router out of project web is ERROR in the cloud"):
        act(apis, planned, "verify", monkeypatch)


@pytest.mark.usefixtures("held")
def test_a_signal_takes_the_administrators_role_back(monkeypatch: pytest.MonkeyPatch) -> None:
    apis, planned = Apis(), plan()
    act(apis, planned, "apply", monkeypatch)
    answer = Apis.answer

    def ended(self: Apis, service: str, method: str, url: str, body: Any) -> tuple[int, Any]:
        if url.startswith("/os-server-groups"):
            assert self.members
            os.kill(os.getpid(), signal.SIGTERM)
        return answer(self, service, method, url, body)

    monkeypatch.setattr(Apis, "answer", ended)
    with pytest.raises(GroundupError, match="ended by SIGTERM"):
        act(apis, replace(planned, resources=()), "apply", monkeypatch, force=("delete",))
    assert (apis.members, apis.ledger.lent) == ([], set())


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("resources", [True, False])
def test_a_role_that_a_killed_run_left_is_taken_back_by_the_next_one(
    monkeypatch: pytest.MonkeyPatch, *, resources: bool
) -> None:
    apis, planned = Apis(), plan()
    act(apis, planned, "apply", monkeypatch)
    web = apis.named("project", "web")["id"]
    apis.dies_after = len(apis.asked) + 1  # the role is given, and what follows is the end
    with pytest.raises(Killed):
        act(apis, replace(planned, resources=()), "apply", monkeypatch, force=("delete",))
    apis.dies_after = -1
    assert (apis.members, apis.ledger.lent) == ([web], {f"/projects/{web}/users/{USER}/roles/member-role"})
    following = planned if resources else replace(planned, resources=())
    done = act(apis, following, "apply", monkeypatch, check=True)
    assert f"a run without --check takes back the administrator's role on project {web}" in done["warnings"][0]
    done = act(apis, following, "apply", monkeypatch)
    assert f"took back the administrator's role on project {web}" in done["warnings"][0]
    assert (apis.members, apis.ledger.lent) == ([], set())
    assert "warnings" not in act(apis, planned, "apply", monkeypatch)

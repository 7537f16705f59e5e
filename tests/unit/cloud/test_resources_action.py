"""Action of module resources: what tenants did is a warning of `apply` and an error of `verify`; one run at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import resources
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import vault
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import alone, holds
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.ledger import Ledger
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan

from .resources_api import Apis
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
    monkeypatch.setattr(alone, "kept", lambda _: Ledger())
    monkeypatch.setattr(holds, "_scoped", Apis.within)
    monkeypatch.setattr(vault, "open_store", lambda *_, **__: SimpleNamespace(resolve=lambda value: value))
    return taken


def act(apis: Apis, planned: Plan, step: str, monkeypatch: pytest.MonkeyPatch, *, check: bool = False) -> Any:
    action: Any = object.__new__(resources.ActionModule)
    action.changes, action._display = Changes(check=check), SimpleNamespace(display=print)
    monkeypatch.setattr(Apis, "authorize", lambda _: None, raising=False)
    monkeypatch.setattr(connection, "of_site", lambda _: apis)
    monkeypatch.setattr(resources, "site_plan", lambda _: planned)
    return action.work({"step": step, "site_file": "site.yml", "force": []})


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

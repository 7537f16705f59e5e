"""What the rollout's action says of a change, without a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action import rollout
from ansible_collections.groundup.cloud.plugins.action.rollout import ActionModule, _access
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import journal as restores
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.session import Session
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import (
    GateReason,
    GateRefusedError,
    ReleaseReport,
    RolloutResult,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store

SHRINKS = GateReason(
    code="volume-shrink", release="mariadb", what="from 20Gi to 10Gi", why="it cannot", remedy="keep at least 20Gi"
)

NO_CLOUD = SimpleNamespace(edge=SimpleNamespace(endpoints=()))  # a plan without Keystone
LAB = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"


def act(verb: str, opened: Any, *force: str, place: str | None = None) -> dict[str, Any]:
    action: Any = ActionModule.__new__(ActionModule)
    action._task = SimpleNamespace(diff=False)
    action._display = SimpleNamespace(display=lambda _line: None)
    found: dict[str, Any] = action._carry_out(verb, opened, force, place=place)
    return found


def check(*force: str) -> dict[str, Any]:
    report = ReleaseReport(name="mariadb", state="waiting", changed=True, seconds=0.0)
    predicted = RolloutResult(releases=(report,), diffs=(), reasons=(SHRINKS,), cards=(), facts={})

    def not_asked_for() -> RolloutResult:
        pytest.fail("a check only predicts")

    rollout = SimpleNamespace(check=lambda: predicted, apply=not_asked_for, verify=not_asked_for)
    opened: Any = SimpleNamespace(
        claim=lambda **_: (), certify=lambda _: None, rollout=rollout, plan=NO_CLOUD, store=None
    )
    return act("check", opened, *force)


def test_a_check_fails_where_the_gate_would_refuse_the_change() -> None:
    refused = check()
    assert refused["failed"]
    assert "volume-shrink" in refused["msg"]
    assert "rollout_force=volume-shrink:mariadb" in refused["msg"]
    assert [reason["code"] for reason in refused["reasons"]] == ["volume-shrink"]
    assert refused["releases"][0]["name"] == "mariadb"


def test_a_check_takes_what_was_accepted_as_the_rollout_does() -> None:
    accepted = check("volume-shrink:mariadb")
    assert not accepted["failed"]
    assert accepted["changed"]


def test_the_cluster_is_told_of_new_secrets_when_the_gate_is_passed_and_before_anything_else() -> None:
    """A refusal says that nothing was changed."""
    seen: list[str] = []

    def claim(*, write: bool) -> tuple[str, ...]:
        seen.append("told" if write else "asked")
        return ("keystone/admin",)

    def certify(_changes: Changes) -> None:
        seen.append("certified")

    def apply(*, before: Callable[[], object]) -> RolloutResult:
        if refuse:
            raise GateRefusedError("no", where="it", why="so", remedy="do not")
        before()
        seen.append("changed")
        return RolloutResult(releases=(), diffs=(), reasons=(), cards=(), facts={})

    opened: Any = SimpleNamespace(
        claim=claim,
        certify=certify,
        rollout=SimpleNamespace(check=None, apply=apply, verify=None),
        remember=lambda _result: None,
        plan=NO_CLOUD,
        store=None,
    )
    opened.prepare = partial(Session.prepare, opened)
    refuse = True
    with pytest.raises(GateRefusedError):
        act("apply", opened)
    assert seen == ["asked"]
    refuse = False
    assert act("apply", opened)["claimed"] == ["keystone/admin"]
    assert seen[1:] == ["asked", "told", "certified", "changed"]


def test_the_operators_login_is_foreseen_made_and_missed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    plan = make_plan(load_site(LAB))
    store = open_store(plan.site)
    store.ensure(["keystone/admin"])
    clouds = tmp_path / "state/lab/clouds.yaml"
    nothing = RolloutResult(releases=(), diffs=(), reasons=(), cards=(), facts={})
    rollout = SimpleNamespace(check=lambda: nothing, apply=lambda **_: nothing, verify=lambda: nothing)
    opened: Any = SimpleNamespace(
        claim=lambda **_: (),
        certify=lambda _: None,
        prepare=lambda _: None,
        rollout=rollout,
        plan=plan,
        store=store,
        remember=lambda _result: None,
    )
    missed = act("verify", opened)
    assert missed["failed"]
    assert "groundup.cloud.openstack" in missed["msg"]
    assert act("check", opened)["changed"]
    assert not clouds.exists()
    assert act("apply", opened)["changed"]
    assert clouds.exists()
    for verb in ("check", "apply", "verify"):
        again = act(verb, opened)
        assert (again["changed"], again["failed"]) == (False, False)


def test_the_way_to_the_cloud_is_told_when_keystone_has_issued_a_token(tmp_path: Path) -> None:
    plan = with_values(make_plan(load_site(LAB.parents[1] / "cloud/site.yml")))
    opened: Any = SimpleNamespace(plan=plan, directory=tmp_path)
    outcome = RolloutResult(releases=(), diffs=(), reasons=(), cards=(), facts={"token_expires_at": "2026"})
    told = _access(opened, outcome)
    assert told["dashboard"] == "https://dashboard.cloud.test"
    assert told[""].split()[0] == plan.edge.address
    assert {"dashboard.cloud.test", "console.cloud.test", "identity.cloud.test"} < set(told[""].split())
    assert "metadata.cloud.test" not in told[""], "no user asks it"
    assert _access(opened, replace(outcome, facts={})) == {}


def test_nothing_is_rolled_out_while_a_restore_has_not_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    restores.begin("lab", None, source="set-1", sha256="0", parts=["mariadb"], until="")
    opened = SimpleNamespace(plan=make_plan(load_site(LAB)))
    monkeypatch.setattr(rollout, "session", lambda *_, **__: nullcontext(opened))
    monkeypatch.setattr(rollout, "missing", lambda _: ())
    action: Any = ActionModule.__new__(ActionModule)
    action._task, action._display = SimpleNamespace(check_mode=False, diff=False), SimpleNamespace(display=print)
    given = {name: option.get("default") for name, option in documented("rollout").items()}
    done = action.work({**given, "verb": "apply", "site_file": str(LAB)})
    assert done["failed"]
    assert "a restore of mariadb from set-1 has begun and not ended" in done["msg"]

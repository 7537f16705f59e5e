"""What is kept of a release's time, and which releases go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.context import VerifierContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.preview import ChangePreview
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan, ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout import engine
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply import lease, namespaces
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.deploy import DeployResult
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import GateReason, RolloutOptions, against


def test_waiting_for_a_turn_is_nothing_that_a_release_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    nothing: Any = SimpleNamespace(items=dict)
    rollout = engine.Rollout(
        plan=site_plan(COLLECTION / "inventories/cloud/site.yml"), api=None, helm=nothing, processes=nothing,
        secrets=nothing, authority=Path(), say=print,
    )  # fmt: skip

    @contextmanager
    def hold(*_: str) -> Iterator[None]:
        clock[0] += 60
        yield

    def deploy(*_: object) -> DeployResult:
        clock[0] += 5
        return DeployResult(changed=True)

    monkeypatch.setattr(engine, "deploy", deploy)
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(rollout._limits, "hold", hold)
    assert rollout._one(rollout._releases["glance"], (), nothing, nothing)[1] == 5


@pytest.mark.parametrize(
    ("only", "rolled"),
    [
        (("mariadb",), ["mariadb"]),
        (("rabbitmq", "mariadb"), ["mariadb", "rabbitmq"]),
        (("keystone",), ["mariadb", "memcached", "keystone"]),
    ],
)
@pytest.mark.parametrize("chain", [False, True])
def test_a_part_of_the_releases_is_rolled_out_with_what_it_needs_and_the_site_is_not_asked(
    only: tuple[str, ...], rolled: list[str], monkeypatch: pytest.MonkeyPatch, *, chain: bool
) -> None:
    done = list[str]()
    nothing: Any = SimpleNamespace(items=dict, stop=lambda: None)
    rollout = engine.Rollout(
        plan=site_plan(COLLECTION / "inventories/cloud/site.yml"), api=nothing, helm=nothing, processes=nothing,
        secrets=nothing, authority=Path(), say=lambda _: None, options=RolloutOptions(only=only, one_by_one=chain),
    )  # fmt: skip

    @contextmanager
    def entered(*_: object, **__: object) -> Iterator[Any]:
        yield nothing

    def deploy(release: ReleasePlan, *_: object) -> DeployResult:
        done.append(release.name)
        return DeployResult(changed=True)

    found: Any = SimpleNamespace(broken={}, retired={}, diffs={})
    monkeypatch.setattr(engine, "deploy", deploy)
    monkeypatch.setattr(engine, "stop_on_signals", entered)
    monkeypatch.setattr(lease, "held", entered)
    monkeypatch.setattr(engine, "ClusterView", lambda _: SimpleNamespace(running=entered))
    monkeypatch.setattr(namespaces, "named", lambda _: [])
    monkeypatch.setattr(engine, "retain", lambda *_: [])
    monkeypatch.setattr(rollout, "_preview", lambda: (found, ()))
    monkeypatch.setattr(rollout, "_with_site", lambda *_, **__: pytest.fail("asked"))
    result = rollout.apply()
    assert [one.name for one in result.releases] == rolled, "in the plan's order"
    assert sorted(done) == sorted(rolled)


def test_servers_of_another_series_are_judged_before_anything_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: Any = SimpleNamespace(items=dict, resolve=dict)
    rollout = engine.Rollout(
        plan=site_plan(COLLECTION / "inventories/cloud/site.yml"), api=nothing, helm=nothing, processes=nothing,
        secrets=nothing, authority=Path(), say=lambda _: None,
        options=RolloutOptions(unsaved=lambda _: ("none", "save")),
    )  # fmt: skip
    found = ChangePreview(rendered={}, live={}, diffs={}, broken={})
    reason = against("mariadb", "server-step")(what="w", why="w", remedy="r")

    def other_series(
        plan: Plan,
        _: object,
        *,
        context: Callable[[ReleasePlan], VerifierContext],
        unsaved: Callable[[Plan], tuple[str, str]],
    ) -> list[GateReason]:
        assert context(plan.openstack.releases[0]).release.name == plan.openstack.releases[0].name
        assert unsaved(plan) == ("none", "save")
        return [reason]

    monkeypatch.setattr(engine, "preview", lambda *_, **__: found)
    monkeypatch.setattr(engine, "other_series", other_series)
    monkeypatch.setattr(engine, "holders_of_node_ports", lambda _: {})
    monkeypatch.setattr(engine, "reasons_against_extra", lambda *_, **__: ())
    monkeypatch.setattr(namespaces, "named", lambda _: [])
    assert rollout._preview() == (found, (reason,))

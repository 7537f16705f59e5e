"""A site's catalog is judged once all its releases have verified, and has a card of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.context import VerifierContext
from ansible_collections.groundup.cloud.plugins.plugin_utils.health.verification import Verification
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import UnansweredError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import EndpointPlan, ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Processes
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.engine import Rollout
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.verify import ask
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS

from .fake_keystone import NAME, PASSWORD, Keystone, Services, endpoint, image_at, service
from .test_keystone import LOGINS


class Store:
    """A secrets store without references."""

    def resolve(self, values: Any) -> Any:
        """Return ``values``."""
        return values

    def items(self) -> dict[str, str]:
        """Return no secret."""
        return {}


def rollout_of(keystone: Keystone, tmp_path: Path, *routes: EndpointPlan) -> Rollout:
    """Return the rollout of a site with Keystone and the services of ``routes``."""
    admin = {"username": "admin", "password": PASSWORD, "project_name": "admin", "user_domain_name": "default"}
    values = {"endpoints": {"identity": {"auth": {"admin": {**admin, "project_domain_name": "default"}}}}}
    releases = [
        ReleasePlan(
            name=name, chart=name, version="2026.1.0", namespace="openstack", needs=(), values=values,
            verify="keystone" if name == "keystone" else "workloads",
        )
        for name in ("keystone", *(route.service for route in routes))
    ]  # fmt: skip
    endpoints = (endpoint("keystone", NAME, keystone.base, 30500), *routes)
    ports = [service(one.service, one.node_port) for one in endpoints]
    plan: Any = SimpleNamespace(
        site="test", domain="test", edge=SimpleNamespace(endpoints=endpoints, address="127.0.0.1"),
        identity=SimpleNamespace(logins=LOGINS),
        host=SimpleNamespace(names={}), openstack=SimpleNamespace(releases=releases, namespace="openstack"),
    )  # fmt: skip
    nothing: Any = None
    return Rollout(
        plan=plan, api=cast(Any, Services(ports)), helm=nothing, processes=Processes(), secrets=Store(),
        authority=tmp_path / "ca.crt", say=lambda _line: None,
    )  # fmt: skip


def test_the_site_is_judged_once_after_all_releases_and_its_catalog_is_read_then(
    keystone: Keystone, tmp_path: Path
) -> None:
    image = image_at(keystone)
    keystone.later = [image.url]  # glance writes its endpoint after Keystone verified
    result = rollout_of(keystone, tmp_path, image).verify()
    assert not result.failed
    assert [check.name for check in result.site] == [
        "endpoints are routes", "routes are services", "official types", "public urls",
    ]  # fmt: skip
    assert [entry["url"] for entry in result.facts["catalog"]] == [keystone.base, image.url]


def test_a_site_whose_catalog_lacks_a_service_has_a_card_of_its_own(keystone: Keystone, tmp_path: Path) -> None:
    result = rollout_of(keystone, tmp_path, image_at(keystone)).verify()
    assert result.failed
    assert {report.state for report in result.releases} == {"ready"}
    card = result.cards[0]
    assert (card.release, card.layer, card.object) == ("site test", "network", "the catalog")
    assert "route without an endpoint: image.test" in card.what


def test_after_a_rollout_the_site_is_asked_until_it_agrees_or_time_is_up(
    keystone: Keystone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "_PAUSE", 0.0)
    image = image_at(keystone)
    verifiers = rollout_of(keystone, tmp_path, image)._verifiers
    gone = verifiers.ask_site(patience=0.0, go_on=lambda: pytest.fail("there was no time for a second question"))
    assert gone is not None
    assert not gone.ok
    told: list[str] = []
    found = verifiers.ask_site(
        patience=30.0, go_on=lambda: keystone.urls.extend([image.url][not told :]), say=told.append
    )  # fmt: skip
    assert found is not None
    assert found.ok
    assert told == ["not yet: route without an endpoint: image.test"]


def test_a_site_without_a_keystone_of_its_own_has_no_catalog_to_judge(keystone: Keystone, tmp_path: Path) -> None:
    rollout = rollout_of(keystone, tmp_path)
    rollout._plan.openstack.releases[0] = replace(rollout._plan.openstack.releases[0], verify="workloads")  # type: ignore[index]  # a list in this test
    assert rollout._verifiers.ask_site(patience=0.0, go_on=lambda: None) is None


def test_a_question_without_an_answer_is_a_failed_check_of_that_release_alone(
    keystone: Keystone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that left the verifier would end the questions to all others, too."""

    def silent(_context: VerifierContext) -> Verification:
        raise UnansweredError("no route to host", where="https://image.test")

    monkeypatch.setitem(RECORDS, "keystone", replace(RECORDS["keystone"], verify=silent))
    rollout = rollout_of(keystone, tmp_path, image_at(keystone))
    states = {report.name: report.state for report in rollout.verify().releases}
    assert states == {"keystone": "failed", "glance": "ready"}

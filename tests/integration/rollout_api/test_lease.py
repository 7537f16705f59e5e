"""Two controllers do not roll out at once: the lease in the cluster, against a real API server."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Object
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import InterruptedRunError
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply import lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutError

from .conftest import Site
from .puppet import is_left_alone
from .test_interruption import helms, in_hook, kill_first_install, until

# Seconds: it is lost after 0.6 of them without a renewal, and a request may take a twelfth: on a slow machine, too.
LASTS = 30.0


def path(site: Site, name: str = f"/{lease.NAME}") -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{site.namespace}/leases{name}"


def take(site: Site, holder: str, *, seconds: int) -> None:
    """Write the lease as another controller would."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "acquireTime": "2026-11-22T05:00:00.000000Z"}
    body: Object = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": lease.NAME}}
    if site.api.find(path(site)) is None:
        site.api.request("POST", path(site, ""), body={**body, "spec": spec})
    else:  # whatever its holder writes at the same moment
        patch = {"spec": {**spec, "renewTime": None}}
        site.api.request("PATCH", path(site), body=patch, content_type="application/merge-patch+json")


def hold(site: Site, *, lost: Callable[[], object] = lambda: None) -> Any:
    return lease.held(site.api, namespace=site.namespace, seconds=LASTS, say=site.lines.append, lost=lost)


def test_only_one_of_two_runs_goes_on_and_the_other_is_told_who_has_it(site: Site) -> None:
    """Also long after the lease would have ended: it is renewed."""
    with hold(site):
        for _ in range(2):
            refused = pytest.raises(RolloutError, match=rf"under way: process {os.getpid()} on .*, since 20")
            with refused, hold(site):
                pytest.fail("two hold it")
    assert site.api.find(path(site)) is None
    with hold(site):
        pass


def test_of_many_that_ask_at_once_one_holds_it_at_a_time(site: Site) -> None:
    inside: list[int] = []
    most: list[int] = []

    def contend() -> None:
        try:
            with hold(site):
                inside.append(1)
                most.append(len(inside))
                threading.Event().wait(0.3)
                inside.pop()
        except RolloutError:
            return

    threads = [threading.Thread(target=contend) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most
    assert set(most) == {1}


def test_a_rollout_into_a_namespace_that_is_not_made_yet_names_the_layer_that_makes_it(site: Site) -> None:
    site.namespace = "nowhere"
    with pytest.raises(RolloutError, match=r"no namespace nowhere(?s:.*)groundup\.cloud\.kubernetes"), hold(site):
        pytest.fail("there is nowhere to hold it")


def test_a_lease_nobody_renews_is_taken_over_when_its_time_is_over(site: Site) -> None:
    take(site, "elsewhere/boot/1:77:1:abcd", seconds=3)
    with hold(site):
        spec = site.api.get(path(site))["spec"]
    assert spec["leaseTransitions"] == 1
    assert any("process 77 on elsewhere holds Lease" in line for line in site.lines)


def test_a_killed_run_leaves_a_lease_that_the_next_one_of_this_machine_takes_at_once(site: Site) -> None:
    kill_first_install(site)
    assert site.api.get(path(site))["spec"]["leaseDurationSeconds"] == 60
    site.puppet.rules.clear()
    assert not site.rollout(site.release("probe")).apply().failed
    assert not any("waiting up to" in line for line in site.lines)
    assert site.api.find(path(site)) is None


def test_a_run_whose_lease_somebody_took_stops_and_changes_nothing_more(site: Site) -> None:
    site.puppet.rules["sync"] = is_left_alone
    caught: list[BaseException] = []

    def roll_out() -> None:
        try:
            site.rollout(site.release("probe"), lease=LASTS).apply()
        except RolloutError as error:
            caught.append(error)

    thread = threading.Thread(target=roll_out)
    thread.start()
    until(lambda: in_hook(site))
    other = "elsewhere/boot/1:77:1:abcd"
    take(site, other, seconds=60)
    thread.join(timeout=180)
    assert helms(site) == []
    assert isinstance(caught[0], lease.LeaseLostError)
    assert site.api.get(path(site))["spec"]["holderIdentity"] == other


def test_a_lease_that_only_looks_changed_is_still_ours(site: Site) -> None:
    """As after a renewal that was stored and whose answer was lost."""
    lost: list[bool] = []
    with hold(site, lost=lambda: lost.append(True)):
        site.puppet.patch(path(site), {"metadata": {"labels": {"a": "b"}}})
        before = site.api.get(path(site))["spec"]["renewTime"]
        until(lambda: site.api.get(path(site))["spec"]["renewTime"] != before)
    assert lost == []


def test_a_run_that_cannot_renew_its_lease_stops_before_it_ends(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted = threading.Event()
    api = Api(site.control_plane.kubeconfig)

    def run() -> None:
        with lease.held(api, namespace=site.namespace, seconds=LASTS, say=site.lines.append, lost=interrupted.set):
            monkeypatch.setattr(api, "server", "https://127.0.0.1:1")
            assert interrupted.wait(LASTS - 1)
            raise InterruptedRunError

    with pytest.raises(lease.LeaseLostError):
        run()


def test_a_renewal_that_fails_in_an_unforeseen_way_stops_the_run(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nobody renewed it any more, and a second run would be let in."""
    lost = threading.Event()
    api = Api(site.control_plane.kubeconfig)

    def garbled(*_: Any, **__: Any) -> Object:
        raise ValueError("no JSON")

    def run() -> None:
        with lease.held(api, namespace=site.namespace, seconds=LASTS, say=site.lines.append, lost=lost.set):
            with monkeypatch.context() as patched:
                patched.setattr(api, "request", garbled)
                assert lost.wait(120)
            raise InterruptedRunError

    with pytest.raises(lease.LeaseLostError, match="ValueError: no JSON"):
        run()

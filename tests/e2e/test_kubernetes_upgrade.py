"""Kubernetes goes from 1.36.3 to 1.37.2 while somebody asks, killed in the middle; inventories/lab, inventories/lab-ha.

The site runs the former version. With three control hosts no request fails; with one, the API is away as consented.
The site file that names the next version is a copy; afterwards the cluster is not as the shipped one: end the lab.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal
from ansible_collections.groundup.cloud.tests.e2e.cluster import NODES, play, site_with
from ansible_collections.groundup.cloud.tests.e2e.drilling import killed
from ansible_collections.groundup.cloud.tests.e2e.test_rolling import WATCH_GAP, probed
from ansible_collections.groundup.cloud.tests.e2e.unavoidable import explained

pytestmark = [pytest.mark.lab, pytest.mark.long]
FORMER, NEXT = "1.36.3", "1.37.2"
MINUTES = 15.0
CLOUD = 2.0  # seconds between two requests of a lane: twice a second, four lanes take one of two processors
AWAY = 45.0  # seconds without an API, of one control host
# With three control hosts other workers take the pods, also those of a resumed run: that is not accepted away.
ALONE = ["api-down", "undrained", "bare-pods", "deprecated-api"]
MANY = ["bare-pods", "deprecated-api"]


@pytest.fixture(scope="module")
def written(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the site file, which names the next version."""
    if plan.kubernetes.version != FORMER:
        pytest.skip(f"the site runs {plan.kubernetes.version}, not {FORMER}")
    return site_with(tmp_path_factory.mktemp("next"), FORMER, NEXT)


@pytest.fixture(scope="module")
def force(plan: Plan) -> list[str]:
    """What is accepted."""
    return MANY if len(plan.edge.hosts) >= 3 else ALONE


@pytest.fixture(scope="module")
def api(state: Path) -> Api:
    return Api(state / "kubeconfig")


def kubelets(api: Api) -> dict[str, str]:
    """Return the kubelet of each node."""
    return {one["metadata"]["name"]: one["status"]["nodeInfo"]["kubeletVersion"] for one in api.get(NODES)["items"]}


def test_another_version_is_refused_by_the_layer_and_shown_by_the_check(
    written: Path, api: Api, force: list[str]
) -> None:
    said = play("kubernetes_upgrade", "--tags", "check", site=written, kubernetes_upgrade_force=force)
    assert f"{FORMER} -> {NEXT}" in said
    assert "groundup.cloud.kubernetes_upgrade" in play("kubernetes", site=written, code=2)
    assert set(kubelets(api).values()) == {f"v{FORMER}"}


def test_an_upgrade_that_is_killed_goes_on_and_nobody_notices(
    written: Path, api: Api, plan: Plan, state: Path, force: list[str]
) -> None:
    runs = []  # seconds of each run, without what is asked between them
    many = len(plan.edge.hosts) >= 3
    with probed(state, cloud=CLOUD) as figures:
        for at in ("[upgrade] begins: API server", "[upgrade] begins: kubelet of"):
            runs.append(killed("kubernetes_upgrade", at=at, site=written, kubernetes_upgrade_force=force))
            opened = journal.under_way(plan.site)
            assert opened, f"killed at {at}, and nothing says so"
            said = play("kubernetes_upgrade", "--tags", "check", site=written, kubernetes_upgrade_force=force)
            assert "a former run ended at" in said
            # Everything else goes on by the live version, and restarts nothing.
            assert f"an upgrade of Kubernetes from {FORMER} to {NEXT} is open" in play(
                "kubernetes_upgrade", "--tags", "verify", site=written, code=2
            )
            play("kubernetes", "--tags", "check", site=written)
        begun = time.monotonic()
        play("kubernetes_upgrade", site=written, kubernetes_upgrade_force=force)
        runs.append(time.monotonic() - begun)
    minutes = sum(runs) / 60
    took = {"minutes": round(minutes, 1), "of runs": [round(one / 60, 1) for one in runs]}
    print(json.dumps({"upgrade of Kubernetes": {**took, "control hosts": len(plan.edge.hosts)}}))
    assert set(kubelets(api).values()) == {f"v{NEXT}"}
    assert journal.under_way(plan.site) is None
    assert not [one for one in api.get(NODES)["items"] if (one.get("spec") or {}).get("unschedulable")]
    play("kubernetes_upgrade", "--tags", "verify", site=written)
    watch = figures.pop("watch")
    if not many:  # what was consented to
        assert max(lane["gap"] for name, lane in figures.items() if name.startswith("kubernetes read")) <= AWAY
    else:
        assert (watch["failed"], watch["gap"] <= WATCH_GAP) == ([], True), watch
        assert figures
        assert {name: one for name, one in figures.items() if one["failed"]} == {}
        servers = len(plan.edge.hosts)  # each ends once, and with it the connections that clients keep
        assert {n: one for n, one in figures.items() if not explained(n, one, servers=servers, told=False)} == {}
        assert minutes <= MINUTES


def test_the_layer_finds_nothing_to_change_afterwards(written: Path) -> None:
    assert "nothing changed" in play("kubernetes", "--tags", "check", site=written)

"""Two controllers do not work on the Kubernetes layer at once: the lease of a run, against a real API server."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import run_lease
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.lifetime import identity

from .conftest import Site

PATH = f"/apis/coordination.k8s.io/v1/namespaces/{run_lease.NAMESPACE}/leases/{run_lease.NAME}"


@pytest.fixture
def api(site: Site) -> Iterator[Api]:
    """The API, without a lease before and after."""
    site.api.delete(PATH)
    yield site.api
    site.api.delete(PATH)


def elsewhere(api: Api) -> None:
    """Hold it as a run on another controller does."""
    run_lease.hold(api, run=os.getpid())
    found = api.get(PATH)
    found["spec"]["holderIdentity"] = "elsewhere/boot/1:77:1"
    api.request("PUT", PATH, body=found)


def test_the_workers_of_one_run_share_its_lease_and_its_end_frees_it(api: Api) -> None:
    assert [run_lease.hold(api, run=os.getpid()) for _ in range(3)] == ["", "", ""]
    assert api.get(PATH)["spec"]["holderIdentity"] == identity(os.getpid())
    run_lease.release(api, run=os.getppid())
    assert api.find(PATH), "another run gives up nothing"
    run_lease.release(api, run=os.getpid())
    assert api.find(PATH) is None


def test_a_second_controller_is_refused_with_the_first_ones_name(api: Api) -> None:
    elsewhere(api)
    with pytest.raises(GroundupError, match=r"(?s)under way: process 77 on elsewhere, since 20.*free in 15 minutes"):
        run_lease.hold(api, run=os.getpid())
    assert api.get(PATH)["spec"]["holderIdentity"] == "elsewhere/boot/1:77:1"


def test_a_killed_run_of_this_machine_is_followed_at_once(api: Api) -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        run_lease.hold(api, run=process.pid)
        with pytest.raises(GroundupError, match=f"process {process.pid} on"):
            run_lease.hold(api, run=os.getpid())
        process.kill()
    assert run_lease.hold(api, run=os.getpid()) == ""


def test_a_run_that_made_no_step_for_long_has_lost_it_by_the_clock_of_the_api(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lease, "LASTS", timedelta(seconds=3))
    elsewhere(api)
    end = time.monotonic() + 120
    while True:
        try:
            assert run_lease.hold(api, run=os.getpid()) == ""
            break
        except GroundupError:
            assert time.monotonic() < end
            time.sleep(0.2)
    assert api.get(PATH)["spec"]["holderIdentity"] == identity(os.getpid())


def test_a_run_that_mends_a_silent_cluster_goes_on_with_a_warning(site: Site) -> None:
    api = Api(site.control_plane.kubeconfig)
    api.server = "https://127.0.0.1:1"
    assert "because the cluster does not answer" in run_lease.hold(api, run=os.getpid())
    run_lease.release(api, run=os.getpid())

"""A run can be stopped or killed at any moment; no process stays, and the next run goes on from there."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.records import read

from .conftest import Site
from .puppet import fails, is_left_alone

ROOT = Path(__file__).parents[3]


def start(site: Site, greeting: str, **values: Any) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.rollout_api.driver", str(site.control_plane.kubeconfig),
         str(site.control_plane.helm), site.namespace, json.dumps({"greeting": greeting, **values})],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def helms(site: Site) -> list[int]:
    """Return the helm processes that work on the test's namespace."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it ended meanwhile
            if b"upgrade" in words and site.namespace.encode() in words:
                found.append(int(entry.name))
    return found


def until(condition: Callable[[], object], *, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


def status(site: Site) -> str:
    release = read(site.api, [site.namespace]).get((site.namespace, "probe"))
    return release.status if release else ""


def in_hook(site: Site) -> bool:
    return site.api.find(f"/apis/batch/v1/namespaces/{site.namespace}/jobs/probe-sync") is not None


def kill_first_install(site: Site) -> None:
    """Kill a run in the hook of its first release, and wait until its children are gone."""
    site.puppet.rules["sync"] = is_left_alone
    process = start(site, "first")
    until(lambda: in_hook(site))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: helms(site) == [])


def converges(site: Site, **values: Any) -> None:
    site.puppet.rules.clear()
    release = site.release("probe", greeting="final", **values)
    result = site.rollout(release).apply()
    assert not result.failed, result.cards
    assert status(site) == "deployed"
    config = site.api.get(f"/api/v1/namespaces/{site.namespace}/configmaps/probe-etc")
    assert config["data"] == {"greeting": "final"}
    assert not site.rollout(release).apply().changed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_run_ends_its_children_and_the_next_one_goes_on(site: Site, number: signal.Signals) -> None:
    site.puppet.rules["sync"] = is_left_alone
    process = start(site, "first")
    until(lambda: in_hook(site))
    assert helms(site)
    process.send_signal(number)
    assert process.wait(timeout=180) == 3
    assert helms(site) == []
    converges(site)


def test_a_first_install_killed_outright_is_healed(site: Site) -> None:
    kill_first_install(site)
    assert status(site) in ("pending-install", "failed")
    converges(site)


KEYS = "/api/v1/namespaces/NS/secrets/probe-keys"
JOB = "/apis/batch/v1/namespaces/NS/jobs/probe-sync"


def kill_in_hook(site: Site, **values: Any) -> None:
    """Kill a first install, helm too, while its job is under way."""
    site.puppet.rules["sync"] = is_left_alone
    process = start(site, "first", **values)
    until(lambda: in_hook(site))
    for helm in helms(site):  # helm gets no chance to clear away its hooks
        os.kill(helm, signal.SIGKILL)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: helms(site) == [])
    assert status(site) == "pending-install"


def test_a_job_that_helm_does_not_clear_away_is_run_again_by_the_install_that_is_made_again(site: Site) -> None:
    """Charts may tell Helm to delete a hook only when it succeeded; the failed one would fail every later run too."""
    site.puppet.rules["sync"] = fails()
    policy = {"hook_policy": "hook-succeeded"}
    assert site.rollout(site.release("probe", greeting="first", **policy)).apply().failed
    assert in_hook(site)
    converges(site, **policy)


def test_keys_a_job_of_the_killed_install_wrote_are_kept(site: Site) -> None:
    kill_in_hook(site, keys=True)
    keys = KEYS.replace("NS", site.namespace)
    site.puppet.patch(keys, {"data": {"0": "a2V5"}})
    first = site.api.get(keys)["metadata"]["uid"]
    converges(site, keys=True)
    assert site.api.get(keys)["data"] == {"0": "a2V5"}
    assert site.api.get(keys)["metadata"]["uid"] == first


def test_an_upgrade_killed_outright_is_healed_without_a_rollback(site: Site) -> None:
    keys, job = (path.replace("NS", site.namespace) for path in (KEYS, JOB))
    site.rollout(site.release("probe", greeting="before", keys=True)).apply()
    made, ran = (site.api.get(path)["metadata"]["uid"] for path in (keys, job))
    site.puppet.rules["sync"] = is_left_alone
    process = start(site, "after", keys=True)
    until(lambda: status(site) == "pending-upgrade")
    for helm in helms(site):  # helm gets no chance to write anything down
        os.kill(helm, signal.SIGKILL)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: helms(site) == [])
    assert status(site) == "pending-upgrade"
    converges(site, keys=True)
    # Upgraded from the revision before: its hooks ran again, those of the install did not.
    assert read(site.api, [site.namespace])[site.namespace, "probe"].revision == 2
    assert (site.api.get(job)["metadata"]["uid"] != ran, site.api.get(job)["status"]["succeeded"]) == (True, 1)
    assert site.api.get(keys)["metadata"]["uid"] == made
    reports = [line for line in site.lines if "pending-upgrade" in line]
    assert reports == ["probe: revision 2 was pending-upgrade: its record was removed"]


@pytest.mark.parametrize("moment", range(3))
def test_killed_at_any_moment_the_next_run_converges(site: Site, moment: int) -> None:
    chance = random.Random(moment)  # noqa: S311  # the same moments at every run
    process = start(site, "first")
    time.sleep(chance.uniform(0.2, 4.0))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: helms(site) == [])
    converges(site)

"""A run can be stopped or killed at any moment; no process stays, and the next run goes on from there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout import live

from .conftest import Site
from .puppet import is_left_alone

ROOT = Path(__file__).parents[2]


def start(site: Site, greeting: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.rollout_api.driver", str(site.control_plane.kubeconfig),
         str(site.control_plane.helm), site.namespace, greeting],
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


def until(condition: object, *, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


def status(site: Site) -> str:
    release = live.read(site.api, [site.namespace]).get((site.namespace, "probe"))
    return release.status if release else ""


def in_hook(site: Site) -> bool:
    return site.api.find(f"/apis/batch/v1/namespaces/{site.namespace}/jobs/probe-sync") is not None


def converges(site: Site) -> None:
    site.puppet.rules.clear()
    result = site.rollout(site.release("probe", greeting="final")).apply()
    assert not result.failed, result.cards
    assert status(site) == "deployed"
    config = site.api.get(f"/api/v1/namespaces/{site.namespace}/configmaps/probe-etc")
    assert config["data"] == {"greeting": "final"}
    assert not site.rollout(site.release("probe", greeting="final")).apply().changed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_run_ends_its_children_and_the_next_one_goes_on(site: Site, number: signal.Signals) -> None:
    site.puppet.rules["sync"] = is_left_alone
    process = start(site, "first")
    until(lambda: in_hook(site))
    assert helms(site)
    process.send_signal(number)
    assert process.wait(timeout=40) == 3
    assert helms(site) == []
    converges(site)


def test_a_first_install_killed_outright_is_healed(site: Site) -> None:
    site.puppet.rules["sync"] = is_left_alone
    process = start(site, "first")
    until(lambda: in_hook(site))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: helms(site) == [])
    assert status(site) in ("pending-install", "failed")
    converges(site)


def test_an_upgrade_killed_outright_is_healed_without_a_rollback(site: Site) -> None:
    site.rollout(site.release("probe", greeting="before")).apply()
    site.puppet.rules["sync"] = is_left_alone
    process = start(site, "after")
    until(lambda: status(site) == "pending-upgrade")
    for helm in helms(site):  # helm gets no chance to write anything down
        os.kill(helm, signal.SIGKILL)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: helms(site) == [])
    assert status(site) == "pending-upgrade"
    converges(site)
    reports = [line for line in site.lines if "pending-upgrade" in line]
    assert reports == ["probe: revision 2 was pending-upgrade: marked failed"]


@pytest.mark.parametrize("moment", range(3))
def test_killed_at_any_moment_the_next_run_converges(site: Site, moment: int) -> None:
    chance = random.Random(moment)  # noqa: S311  # the same moments at every run
    process = start(site, "first")
    time.sleep(chance.uniform(0.2, 4.0))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: helms(site) == [])
    converges(site)

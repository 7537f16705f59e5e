"""Migrations beside pods that serve: the commands are real, what runs in the cluster is said."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from .conftest import script

migrate = script("groundup-lib/files/migrate.py")
Run = Callable[..., list[str]]


WAITS = {"state": {"waiting": {"reason": "PodInitializing"}}, "lastState": {}, "restartCount": 0}
RUNS = {"state": {"running": {}}, "lastState": {}, "restartCount": 0}
ENDED = {"terminated": {"exitCode": 1}}


def pod(
    name: str, image: str, phase: str = "Running", program: Any = RUNS, *, initialized: bool = False, ends: str = ""
) -> Any:
    """Return a pod as the API shows it; ``program``: the status of its container, if it has one."""
    conditions = [{"type": "Initialized", "status": str(initialized)}]
    return {
        "metadata": {"name": name, **({"deletionTimestamp": ends} if ends else {})},
        "spec": {"containers": [{"image": image}]},
        "status": {"phase": phase, "conditions": conditions, **({"containerStatuses": [program]} if program else {})},
    }


def replica_set(name: str, image: str, replicas: int) -> dict[str, Any]:
    template = {"spec": {"containers": [{"image": image}]}}
    return {"metadata": {"name": name}, "spec": {"replicas": replicas, "template": template}}


def writes(path: Path, word: str, code: int = 0) -> str:
    """Return a command that notes ``word`` and ends with ``code``."""
    program = f"open({str(path)!r}, 'a').write({word + chr(10)!r}); raise SystemExit({code})"
    return shlex.join([sys.executable, "-c", program])


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """A function that runs a verb among pods and sets, and returns the commands that ran.

    Commands are by their place in the migration; ``codes``: what they end with, else 0. ``rounds``: what each look at
    the pods finds, the last one for ever.
    """
    monkeypatch.setenv("IMAGES", "openstack:2,client:2")
    monkeypatch.setattr(migrate, "PAUSE", 0.0)
    monkeypatch.setattr(migrate, "LIMIT", 0.2)
    noted = tmp_path / "noted"

    def do(verb: str, *rounds: list[dict[str, Any]], sets: Any = (), beside: bool = True, **codes: int) -> list[str]:
        looks = iter(rounds)
        seen: list[list[dict[str, Any]]] = []

        def listed(path: str) -> list[dict[str, Any]]:
            if path == migrate.SETS:
                return list(sets)
            seen[:] = [next(looks, seen[0] if seen else [])]
            return seen[0]

        noted.write_text("")
        monkeypatch.setattr(migrate, "listed", listed)
        lists = {"checks": ["check"], "then": ["then"], **({"beside": ["expand", "data"]} if beside else {})}
        migration: dict[str, Any] = {
            key: [writes(noted, one, codes.get(one, 0)) for one in lists[key]] for key in lists
        }
        migration |= {one: writes(noted, one, codes.get(one, 0)) for one in ("whole", "contract")}
        monkeypatch.setattr(sys, "argv", ["migrate.py", verb, json.dumps(migration)])
        try:
            migrate.main()
        except SystemExit as error:
            return [*noted.read_text().split(), str(error.code).rpartition(": ")[2]]
        return noted.read_text().split()

    return do


def test_a_schema_that_nobody_uses_is_migrated_whole(run: Run) -> None:
    """As in a fresh cloud, and when a change of configuration alone makes the job anew."""
    assert run("sync", []) == ["whole", "then"]
    assert run("sync", [pod("api-new", "openstack:2")], sets=[replica_set("api-old", "openstack:1", 0)]) == [
        "whole", "then",
    ]  # fmt: skip


@pytest.mark.parametrize("phase", ["Running", "Unknown"])
def test_while_a_former_pod_may_serve_the_schema_is_only_expanded(run: Run, phase: str) -> None:
    assert run("sync", [pod("api", "openstack:1", phase)]) == ["check", "expand", "data", "then"]


@pytest.mark.parametrize(
    "former",
    [
        pod("crashes", "openstack:1", program=RUNS | {"state": {"waiting": {}}, "restartCount": 3}),
        pod("rebooted", "openstack:1", "Pending", WAITS | {"lastState": ENDED}),
        pod("pulls", "openstack:1", "Pending", WAITS, initialized=True),
    ],
    ids=lambda one: one["metadata"]["name"],
)
def test_a_former_pod_that_needs_no_migration_to_start_counts(run: Run, former: Any) -> None:
    assert run("sync", [former]) == ["check", "expand", "data", "then"]


def test_an_install_that_stopped_before_its_migration_goes_on_with_another_image(run: Run) -> None:
    """Pods of the first image wait in init for a migration that is no more: nobody uses the schema, if it is whole."""
    stuck = [pod("api", "openstack:1", "Pending", WAITS), pod("unscheduled", "openstack:1", "Pending", None)]
    assert run("sync", stuck, sets=[replica_set("api", "openstack:1", 1)]) == ["whole", "then"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_does_not_count(run: Run, phase: str) -> None:
    assert run("sync", [pod("fernet-rotate", "openstack:1", phase)]) == ["whole", "then"]


def test_a_service_with_linear_migrations_is_checked_then_migrated(run: Run) -> None:
    assert run("sync", [pod("api", "openstack:1")], beside=False) == ["check", "whole", "then"]


def test_a_status_check_may_warn_and_not_fail(run: Run) -> None:
    old = [pod("api", "openstack:1")]
    assert run("sync", old, check=1) == ["check", "expand", "data", "then"]
    assert run("sync", old, check=2) == ["check", "ended with code 2"]


def test_what_a_migration_refuses_ends_the_job(run: Run) -> None:
    """Also with code 1, which is how neutron-db-manage says that there is an offline migration."""
    assert run("sync", [pod("api", "openstack:1")], expand=1) == ["check", "expand", "ended with code 1"]
    assert run("sync", [], whole=1) == ["whole", "ended with code 1"]


def test_a_contraction_waits_for_the_last_former_pod(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    rounds = [[pod("a", "openstack:1"), pod("b", "openstack:1")], [pod("b", "openstack:1")], [pod("c", "openstack:2")]]
    assert run("contract", *rounds) == ["contract"]
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("waiting")] == [
        "waiting for the end of Pod/a, Pod/b", "waiting for the end of Pod/b",
    ]  # fmt: skip


def ago(seconds: float) -> str:
    """Return a time as the API writes it."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_contraction_does_not_wait_for_pods_of_a_dead_host_or_of_a_job(run: Run) -> None:
    """Nobody ends the first, and the second may run for an hour, or pull an image that is gone."""
    lost, purge = pod("lost", "openstack:1", ends=ago(90)), pod("purge", "openstack:1", "Pending", WAITS)
    purge["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "purge"}]
    assert run("contract", [lost, purge]) == ["contract"]
    assert run("sync", [purge]) == ["whole", "then"]


def test_a_dead_hosts_pod_may_come_back_and_the_schema_is_only_expanded(run: Run) -> None:
    assert run("sync", [pod("lost", "openstack:1", ends=ago(90))]) == ["check", "expand", "data", "then"]


def test_a_contraction_that_waited_too_long_fails_and_names_what_it_waited_for(run: Run) -> None:
    ends = pod("ends", "openstack:1", ends=ago(30))
    waits = pod("waits", "openstack:1", "Pending", WAITS)
    assert run("contract", [pod("api", "openstack:1"), ends, waits])[-1] == (
        "the contraction failed, as after 0 s Pod/api, Pod/ends, Pod/waits still had the former image"
    )


def test_a_contraction_waits_for_a_set_whose_pod_is_missing_for_a_moment(run: Run) -> None:
    sets = [replica_set("api", "openstack:1", 1), replica_set("gone", "openstack:1", 0)]
    assert "s ReplicaSet/api still" in run("contract", [], sets=sets)[-1]

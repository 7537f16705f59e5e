"""What works on a machine, or on the whole site, mutes alerts about it: after its check, before it changes anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import verbs
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import ROOT
from jinja2 import StrictUndefined
from jinja2.nativetypes import NativeEnvironment

ROLE = "ansible.builtin.import_role"
STAY = {"remove"}  # what left the machine is missed until it has left the site file


def tasks(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the tasks of a playbook in order."""
    for play in yaml.safe_load(path.read_text()):
        yield from play.get("tasks", ())


def silent(task: dict[str, Any]) -> str:
    """Return the step about silences that a task is, "" for none."""
    if (task.get(ROLE) or {}).get("tasks_from") != "silence":
        return ""
    return str((task.get("vars") or {}).get("silence_step", "silence"))


def checks(task: dict[str, Any]) -> bool:
    return "check" in task.get("tags", ()) and "apply" in task["tags"]


NAMES = ("evacuate", "kubernetes_upgrade", "openstack_upgrade", "patch_hosts", "remove", "retire", "storage_replace")


@pytest.mark.parametrize("name", [*NAMES, "undrain", "verb"])
def test_alerts_are_muted_and_heard_again(name: str) -> None:
    found = list(tasks(ROOT / f"playbooks/{name}.yml"))
    steps = [step for task in found if (step := silent(task))]
    assert steps == (["silence"] if name in STAY else ["silence", "hear"])
    assert all(task["tags"] == ["apply"] for task in found if silent(task))


@pytest.mark.parametrize("name", ["kubernetes_upgrade", "openstack_upgrade"])
def test_a_run_that_finds_nothing_left_hears_what_a_killed_one_has_muted(name: str) -> None:
    """Killed between the end of its record and the end of the silence, which lasts four hours."""
    mute, hear = (task for task in tasks(ROOT / f"playbooks/{name}.yml") if silent(task))
    assert ("when" in mute, "when" in hear) == (True, False)


@pytest.mark.parametrize("name", ["evacuate", "retire", "undrain", "verb"])
def test_a_verb_that_is_refused_mutes_nothing(name: str) -> None:
    found = list(tasks(ROOT / f"playbooks/{name}.yml"))
    at = next(number for number, task in enumerate(found) if silent(task))
    assert any("'check'" in str(task) for task in found[:at])
    assert all(checks(task) for task in found[:at])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"verb": "drain", "groundup_machine": "worker-1"},
            {"hosts": ["worker-1"], "osds": [], "layers": [], "run": "groundup.cloud.drain of worker-1", "minutes": 60},
        ),
        (
            {"silence_about": {"layers": ["kubernetes"]}, "silence_run": "upgrade", "silence_minutes": 240},
            {"hosts": [], "osds": [], "layers": ["kubernetes"], "run": "groundup.cloud.upgrade", "minutes": 240},
        ),
    ],
)
def test_a_verb_tells_its_machine_and_others_what_they_work_on(given: dict[str, Any], told: dict[str, Any]) -> None:
    (task,) = yaml.safe_load((ROOT / "roles/monitoring/tasks/silence.yml").read_text())
    args = task["groundup.cloud.monitoring"]
    templates = NativeEnvironment(undefined=StrictUndefined, autoescape=True)
    assert {name: templates.from_string(args[name]).render(given) for name in told} == told


def test_a_machine_that_does_not_serve_afterwards_stays_muted() -> None:
    assert {name for name in ("drain", "erase", "remove", "reprovision", "retire") if verbs.find(name).stays_off} == {
        "erase", "remove", "reprovision",
    }  # fmt: skip

"""A watched host that fails is set aside; the monitoring host stops the run."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.groundup.cloud.plugins.action import monitoring as action_module
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers import aside
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import digests
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import ROOT
from jinja2 import Environment

from .sites import planned

PROGRAMS = ("victoria-metrics", "vmalert")
FAILED = {"failed": True, "msg": "its disk is full\n  remedy: make room"}


def gone() -> dict[str, Any]:
    raise AnsibleConnectionFailure("no route to host")


def converged(
    monkeypatch: pytest.MonkeyPatch,
    said: Callable[[], dict[str, Any]],
    *,
    central: bool = False,
    check: bool = False,
    predicted: dict[str, str] | None = None,
    step: str = "converge",
    logs: dict[str, Any] | None = None,
    plan: Plan | None = None,
) -> dict[str, Any]:
    """Return the result of the action on a host that says ``said``."""
    plan = plan or planned("lab")
    monkeypatch.setattr(action_module, "load_site", lambda _: None)
    monkeypatch.setattr(action_module, "make_plan", lambda _: plan)
    action = object.__new__(action_module.ActionModule)
    monkeypatch.setattr(action, "_token", lambda _: {})
    action._execute_module = lambda module_args, **_: said() or {"given": module_args["given"]}
    action.changes, action.variables = Changes(check=check), {"inventory_hostname": "worker-1"}
    if predicted is not None:
        seed = {"seed_published": {"published": {"images": {}, "files": predicted}}}
        action.variables |= {"hostvars": {"seed-1": seed}, "groundup_dry_run": True}
    published = {f"{plan.monitoring.programs}/{name}": name * 2 for name in PROGRAMS} if plan.monitoring else {}
    digests.save("lab", digests.PublishedDigests(files={**published, "other/1/file": "other"}))
    given = {
        "step": step,
        "site": "lab",
        "logs": logs or {},
        "directory": "/sets",
        "run": "drain of worker-1",
        "name": "worker-1",
        "monitoring_host": "worker-1" if central else "seed-1",
    }
    paths = {"site_file": Path("site.yml"), "client_certificate": "", "client_key": "", "ca_certificate": ""}
    return action.work(given | paths)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))


@pytest.mark.parametrize("said", [lambda: dict(FAILED), gone])
def test_a_watched_host_that_fails_is_set_aside(
    monkeypatch: pytest.MonkeyPatch, said: Callable[[], dict[str, Any]]
) -> None:
    done = converged(monkeypatch, said)
    assert not done["failed"]
    assert done["add_group"] == "absent"
    assert done["ansible_facts"][aside.FACT]["layer"] == "monitoring"


@pytest.mark.parametrize("said", [lambda: dict(FAILED), gone])
@pytest.mark.parametrize("options", [{"central": True}, {"check": True}])
def test_the_monitoring_host_and_a_dry_run_fail(
    monkeypatch: pytest.MonkeyPatch, said: Callable[[], dict[str, Any]], options: dict[str, Any]
) -> None:
    done = converged(monkeypatch, said, **options)
    assert done["failed"]
    assert "add_group" not in done


@pytest.mark.parametrize(("seed", "trusted"), [("seed-1", "ca.crt"), (None, "PEM of the site")])
def test_programs_come_from_the_file_server_that_the_site_trusts(seed: str | None, trusted: str) -> None:
    wanted = yaml.safe_load((ROOT / "roles/monitoring/vars/main.yml").read_text())["monitoring_wanted"]
    site = {"supply": {"seed": seed, "ca": "PEM of the site"}}
    text = Environment(autoescape=True).from_string(wanted["files_ca"])
    assert text.render(groundup_site=site, lookup=lambda _, file: file) == trusted


@pytest.mark.parametrize(("step", "given"), [("tell", "files"), ("backups", "backups")])
def test_a_limited_run_and_a_backup_hand_over_what_the_plan_and_the_sets_say(
    monkeypatch: pytest.MonkeyPatch, step: str, given: str
) -> None:
    monkeypatch.setattr(action_module, "ages", lambda _, directory, **__: f"of {directory}")
    done = converged(monkeypatch, dict, central=True, step=step)
    assert done["given"][given] == (files(planned("lab")) if step == "tell" else "of /sets")


@pytest.mark.parametrize("said", [lambda: dict(FAILED), gone])
@pytest.mark.parametrize("step", ["tell", "backups", "drift", "capacity", "silence", "hear"])
def test_what_another_run_did_is_done_when_the_monitoring_host_cannot_be_told(
    monkeypatch: pytest.MonkeyPatch, said: Callable[[], dict[str, Any]], step: str
) -> None:
    """A backup that is whole, or a new host that serves, is no failure; the warning names the host and what to do."""
    monkeypatch.setattr(action_module, "ages", lambda *_, **__: {})
    done = converged(monkeypatch, said, central=True, step=step)
    assert "failed" not in done
    (warning,) = done["warnings"]
    assert warning.startswith("monitoring on worker-1 was not told: ")
    assert "Remedy: " in warning


def test_a_silence_says_whose_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    done = converged(monkeypatch, dict, central=True, step="silence")
    assert done["given"]["run"] == f"drain of worker-1, by process {os.getppid()} on {socket.gethostname()}"


@pytest.mark.parametrize("step", ["tell", "converge"])
def test_the_monitoring_host_gets_the_secrets_that_alerts_are_sent_by(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str
) -> None:
    monkeypatch.setenv("GROUNDUP_VAULT_PASSWORD_FILE", str(tmp_path / "password"))
    (tmp_path / "password").write_text("word of a test\n")
    open_store("lab").take({"monitoring/pagerduty": "their-key"})
    plan = planned("lab", monitoring__pagerduty={})
    assert "their-key" not in str(files(plan))
    done = converged(monkeypatch, dict, central=True, step=step, plan=plan)
    assert done["given"]["receivers"] == {"receivers/pagerduty": "their-key"}
    assert converged(monkeypatch, dict, central=True, step=step)["given"]["receivers"] == {}


@pytest.mark.parametrize("step", ["converge", "backups"])
def test_sets_that_cannot_be_read_are_a_warning(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(action_module, "ages", lambda *_, warnings: warnings.append("no disk"))
    done = converged(monkeypatch, dict, central=True, step=step)
    assert "failed" not in done
    assert done["warnings"] == ["no disk"]


def test_programs_are_what_was_published_or_will_be(monkeypatch: pytest.MonkeyPatch) -> None:
    done = converged(monkeypatch, dict, central=True)
    assert done["given"]["central"]["digests"] == {name: name * 2 for name in PROGRAMS}
    newer = {"victoria-metrics/1.151.0/vmalert": "newer"}
    done = converged(monkeypatch, dict, central=True, check=True, predicted=newer)
    assert done["given"]["central"]["digests"] == {"vmalert": "newer"}

"""What the play that patches hosts gives its modules is what they take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import verbs
from ansible_collections.groundup.cloud.plugins.plugin_utils.actions import documented
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs.base import Asked
from jinja2 import Environment

from .conftest import PLAN

PLAYS = yaml.safe_load((COLLECTION / "playbooks/patch_hosts.yml").read_text())
DOCUMENTED = ("groundup.cloud.edge", "groundup.cloud.patch", "groundup.cloud.verb")


def tasks(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for task in found:
        yield task
        for part in ("block", "rescue"):
            yield from tasks(task.get(part, []))


def given() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each task's module and its options, those of the play included."""
    for play in PLAYS:
        for task in tasks(play.get("tasks", [])):
            for name in DOCUMENTED:
                if name in task:
                    yield name, play.get("module_defaults", {}).get(name, {}) | task[name]


def test_every_task_gives_the_options_that_its_module_documents() -> None:
    found = list(given())
    assert len(found) > 10
    for name, options in found:
        spec = documented(name)
        assert set(options) <= set(spec), options
        assert {key for key, option in spec.items() if option.get("required")} <= set(options), options
        assert options["step"] in spec["step"].get("choices", [options["step"]])


def test_every_step_of_a_verb_is_one_that_the_verb_has() -> None:
    named = {(options["verb"], options["step"]) for name, options in given() if name == "groundup.cloud.verb"}
    assert named == {("drain", "drain"), ("undrain", "enable")}
    for verb, step in named:
        assert step in verbs.find(verb)(Asked(plan=PLAN, machine="hypervisor-1")).steps()


def test_every_step_on_the_controller_that_the_module_documents_is_taken_by_a_play() -> None:
    taken = {options["step"] for name, options in given() if name == "groundup.cloud.patch"}
    assert taken | {"look", "report", "boot", "spare", "stand_up"} == set(
        documented("groundup.cloud.patch")["step"]["choices"]
    )


def test_a_control_host_is_out_of_every_haproxy_before_it_hands_over_and_is_put_back_whatever_fails() -> None:
    (play,) = (one for one in PLAYS if one.get("name") == "Patch hosts")
    (block,) = (one for one in play["tasks"] if "block" in one)
    steps = [
        (one.get("groundup.cloud.edge") or one.get("groundup.cloud.patch") or {}).get("step") for one in block["block"]
    ]
    wanted = ["peer", "begin", "take_out", "stand_down", "upgrade", "halt", "serve", "put_back", "serve", "end"]
    assert [one for one in steps if one in wanted] == wanted
    assert block["rescue"][-1]["groundup.cloud.edge"]["step"] == "put_back"
    for task in (one for one in tasks(play["tasks"]) if "groundup.cloud.edge" in one):
        assert (task["loop"], task["delegate_to"]) == ("{{ patch_control }}", "{{ item }}")
        assert task["ignore_unreachable"], "the host itself would count as lost, and nothing be put back"


def test_nothing_is_asked_of_ceph_on_the_host_that_rests() -> None:
    for play in PLAYS:
        for task in tasks(play.get("tasks", [])):
            asks = task.get("groundup.cloud.patch", {}).get("step") in {"rest", "rise"}
            if asks or "groundup.cloud.verb" in task:
                assert task["delegate_to"] == "{{ patch_storage_host }}", task["name"]


def test_a_host_in_maintenance_that_this_run_did_not_begin_with_is_said_to_be_one() -> None:
    (play,) = (one for one in PLAYS if one.get("name") == "Patch hosts")
    (given_up,) = (one for one in tasks(play["tasks"]) if one.get("groundup.cloud.patch", {}).get("step") == "give_up")
    said = Environment(autoescape=True).compile_expression(given_up["groundup.cloud.patch"]["resting"].strip("{} "))
    for begun, resting in (({"fresh": False}, False), ({"failed": True}, True), (None, True)):
        known = {"inventory_hostname": "w", "patch_resting": ["w"]} | ({"patch_begun": begun} if begun else {})
        assert said(known) is resting
        assert said({**known, "patch_resting": []}) is False

"""The report says for each host what would change, and says so when it does not know."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.patch import report

from .conftest import NOTHING, PLAN, SAME, change

CONTROL, OTHER, SEED = (
    next(name for name, host in PLAN.hosts.items() if host.group == group) for group in ("control", "worker", "seed")
)


def found(**said: dict[str, Any]) -> dict[str, Any]:
    names = {"control": CONTROL, "worker": OTHER, "seed": SEED}
    return report.document(
        PLAN, {names[key]: one for key, one in said.items()}, snapshots={"13": "packages-13/x"}, time="now"
    )


def line(text: str, word: str) -> str:
    return next(each for each in text.splitlines() if each.lstrip().startswith(word))


def test_a_line_a_host_says_snapshot_number_restarts_and_reboot() -> None:
    table = report.table(found(control={
        **NOTHING, "changes": [change("libc6", security=True), change("nginx")], "reboot": ["libc6"],
        "restarts": {"nginx.service": ["libc6"]}, "waiting": ["ssh.service"],
    }))  # fmt: skip
    assert line(table, CONTROL).split("  ") == [
        CONTROL, "2026-10-01-aaaaaaaa -> 2026-11-28-bbbbbbbb", "2 (1 security)",
        "nginx.service, ssh.service (waits)", "libc6",
    ]  # fmt: skip
    assert line(table, "libc6").split()[1:] == ["1", "->", "2", CONTROL]


def test_packages_of_steps_of_their_own_are_apart_and_equal_changes_are_one_line() -> None:
    both = {**NOTHING, "changes": [change("containerd", "containers"), change("bash", before="")]}
    table = report.table(found(control=both, worker=both))
    ordinary, _, held = table.partition("packages upgraded in steps of their own")
    assert "containerd" not in ordinary
    assert line(held, "containers").split()[1:] == ["containerd", "1", "->", "2", f"{CONTROL},", OTHER]
    assert line(ordinary, "bash").split()[1:4] == ["new", "->", "2"]


def test_what_an_administrator_must_know_is_said() -> None:
    table = report.table(found(control={
        **NOTHING, "changes": [change("qemu-system-x86", "guests")], "removed": ["docker.io"], "kept": ["a", "b"],
        "held": ["b", "c"], "guests": 2,
    }))  # fmt: skip
    assert f"{CONTROL}: apt would remove docker.io" in table
    assert f"{CONTROL}: stay as they are: a, b (on hold: b)" in table
    assert f"{CONTROL}: 2 guests run; drain it before QEMU and libvirt are upgraded" in table


@pytest.mark.parametrize("key", ["removed", "kept"])
def test_what_a_host_names_never_controls_a_terminal(key: str) -> None:
    names = ["evil\x1b[2J\nworker-1: all is well"]
    table = report.table(found(control={**NOTHING, key: names, "held": names}))
    assert "evil\\x1b[2J\\nworker-1" in table
    assert all(each.isprintable() for each in table.split("\n"))


def test_a_host_that_was_not_asked_is_neither_up_to_date_nor_in_the_order() -> None:
    document = found(control={"fault": "unreachable: no route\x1b[2J"}, worker=SAME, seed={})
    table = report.table(document)
    assert document["order"] == []
    assert "unreachable: no route\\x1b[2J" in line(table, CONTROL)
    assert line(table, SEED).endswith("no answer")
    assert table.endswith("of 3 hosts 1 up to date, 2 could not be asked")


def test_a_host_that_only_waits_for_its_reboot_is_in_the_order() -> None:
    document = found(control={**NOTHING, "changes": [change("bash")]}, worker={**NOTHING, "reboot_waiting": ["why"]})
    assert document["order"] == [[OTHER], [CONTROL]]
    assert report.summary(document) == "s: of 2 hosts 1 would change, 1 would reboot"
    assert json.loads(json.dumps(document))["hosts"][OTHER]["reboot_waiting"] == ["why"]

"""docs/rack.md word by word: the pieces of its site files, and its commands up to where machines are needed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.pages import DOCS, Block, blocks, do, reader

PAGE = list(blocks("rack.md"))
METAL = next(number for number, block in enumerate(PAGE) if "provisioning:" in block.text)
PIECES = [(n, block) for n, block in enumerate(PAGE) if block.language == "yaml" and not block.file]
# Those that ask machines, or need a cloud: each is valid here; what they do with one is seen in tier `ha-cloud`.
ON_MACHINES = ("groundup.cloud.site", "groundup.cloud.tenant_smoke", "groundup.cloud.approve")


def lacking(piece: Any, whole: Any, key: str = "") -> list[str]:
    """Return the keys of ``piece`` that ``whole`` has otherwise."""
    if isinstance(piece, dict) and isinstance(whole, dict):
        return [one for name in piece for one in lacking(piece[name], whole.get(name), f"{key}.{name}")]
    return [] if piece == whole else [key]


@pytest.mark.parametrize(("number", "piece"), PIECES, ids=[str(number) for number, _ in PIECES])
def test_the_pieces_are_those_of_the_site_file(number: int, piece: Block) -> None:
    name = "rack" if number < METAL else "rack-metal"
    whole = yaml.safe_load((DOCS.parent / "inventories" / name / "site.yml").read_text())
    assert lacking(yaml.safe_load(piece.text), whole) == []


def test_the_page_has_its_pieces() -> None:
    assert len(PIECES) > 5
    assert PIECES[-1][0] == METAL


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each command of the page printed, where the collection is installed (here: a link to this one)."""
    ready, found = reader(tmp_path_factory.mktemp("home")), {}
    ready.environment["PATH"] = f"{Path(sys.executable).parent}:{ready.environment['PATH']}"
    (ready.place / ".ansible").mkdir()
    (ready.place / ".ansible/collections").symlink_to(DOCS.parent / ".run")
    for block in PAGE:
        if block.file:
            (ready.place / block.file).write_text(block.text)
        for command in block.commands:
            if any(word in command for word in ON_MACHINES):
                found[command] = do(ready, f"{command} --syntax-check")
            elif "precheck" in command:
                code, found[command] = ready.run(f"unshare --map-root-user --net bash -c {shlex.quote(command)}")
                assert code == 4, found[command]
            else:
                found[command] = do(ready, command)
    return found


def said(answers: dict[str, str], *words: str) -> list[str]:
    """Return what the commands with ``words`` printed."""
    return [text for command, text in answers.items() if all(word in command for word in words)]


def test_both_plans_end_as_the_page_says(answers: dict[str, str]) -> None:
    plans = said(answers, "groundup.cloud.plan")
    for text in (one for one in plans if "written:" in one):
        assert "0 errors, 2 warnings" in text
        assert "dns.zone" in text
    assert len([one for one in plans if "written:" in one]) == 2


def test_the_switches_ports_are_those_of_the_page(answers: dict[str, str]) -> None:
    (text,) = said(answers, "@switches.yml")
    rows = json.loads(text[text.index("[\n") : text.rindex("\n]") + 2])
    assert len(rows) == 27
    (row,) = (one for one in rows if one["machine"] == "hypervisor-20")
    assert row == {
        "machine": "hypervisor-20",
        "rack": "r2",
        "bonds": [{"ports": ["ens1f0np0", "ens1f1np1"], "mode": "802.3ad", "lacp": "fast", "mtu": 9000}],
        "untagged": ["management"],
        "tagged": [[201, "storage"], [202, "tunnel"], [203, "provider"]],
    }


def test_questions_have_answers_in_the_form_that_the_page_needs(answers: dict[str, str]) -> None:
    (names,) = said(answers, "host.names")
    assert "identity.rack.example.org" in names
    (machines,) = said(answers, "join(")
    assert {"control-1 10.20.0.16", "hypervisor-1 10.20.0.128"} < set(machines.splitlines())
    (controllers,) = said(answers, "bmc.address")
    assert "10.20.3.128" in controllers


def test_machines_that_cannot_be_reached_are_named(answers: dict[str, str]) -> None:
    existing, metal = said(answers, "groundup.cloud.precheck")
    assert "hypervisor-20" in existing
    assert "without: seed-1\n" in metal

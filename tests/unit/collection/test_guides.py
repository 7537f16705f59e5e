"""Guides say how a thing is used. How it was tested, and what was seen, is in docs/evidence.md and docs/status.md."""

from __future__ import annotations

import re

import pytest
from ansible_collections.groundup.cloud.ci.tier import ROOT

DEVELOPERS = "Extend, and how it is proven"
KEPT = {
    **dict.fromkeys(("backup", "monitoring", "patch", "upgrade", "zero-touch"), "evidence still beside its subject"),
    **dict.fromkeys(("charts", "failure-cards"), "names the files that a developer changes"),
}


def guides() -> list[str]:
    """Return the pages of the index, without those for developers."""
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    found = []
    for tree in re.findall(r"```\{toctree\}\n(.*?)```", index, re.S):
        if f":caption: {DEVELOPERS}" not in tree:
            found += [line for line in tree.splitlines() if line and not line.startswith(":")]
    return [name for name in found if (ROOT / f"docs/{name}.md").exists()]


def test_the_index_has_guides() -> None:
    assert {"quick-start", "storage", "edge", *KEPT} <= set(guides())


@pytest.mark.parametrize("name", sorted(set(guides()) - set(KEPT)))
def test_a_guide_names_no_test(name: str) -> None:
    text = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    assert (
        re.findall(r"\btests/(?:unit|contract|integration|e2e)/[a-z_/]*test_\w+|\btest_\w+\.py|\| tested \|", text)
        == []
    )


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_page_that_is_kept_needs_it(name: str) -> None:
    assert "tests/" in (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")


# What a page says is not there: page -> what. A verb that is new takes its line away here and there.
DENIED = {
    "coming-from": ["`reset.yml`"],
    "zero-touch": ["layers above `host` run by the seed"],
    "support": ["| dashboards |"],
}


def test_no_guide_denies_what_is_there() -> None:
    found = {}
    for name in guides():
        text = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
        if lines := re.findall(
            r"^.*(?:[Nn]ot in this version|\b[Nn]o verb (?:yet|for)\b|\bno verb:).*$", text, re.MULTILINE
        ):
            found[name] = lines
    assert sorted(found) == sorted(DENIED)
    for name, denied in DENIED.items():
        assert [what in line for what, line in zip(denied, found[name], strict=True)] == [True] * len(denied), name


def test_who_comes_from_another_installer_finds_the_verbs() -> None:
    text = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")
    verbs = {"backup", "restore", "openstack_upgrade", "kubernetes_upgrade", "patch", "precheck", "status"}
    assert {verb for verb in verbs if f"`groundup.cloud.{verb}`" not in text} == set()


def test_the_machine_that_runs_ansible_is_the_control_node() -> None:
    plugins = [
        path for room in ("modules", "lookup", "callback", "inventory") for path in ROOT.glob(f"plugins/{room}/*.py")
    ]
    pages = [*ROOT.glob("playbooks/*.yml"), *(ROOT / f"docs/{name}.md" for name in guides()), *plugins]
    said = re.compile(r"\b(?:on|by|of|from|lets) (?:the|this) controller\b(?!\S*'s (?:agent|first)| manager)")
    assert [path.name for path in pages if said.search(path.read_text(encoding="utf-8"))] == []

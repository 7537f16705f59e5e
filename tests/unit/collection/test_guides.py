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

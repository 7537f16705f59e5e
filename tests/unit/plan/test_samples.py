"""Site files that the documentation shows can be planned as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.tests.pages import DOCS, Block, blocks

SAMPLES = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in sorted(DOCS.glob("*.md"))
    for number, block in enumerate(blocks(page.name))
    if {"plugin:", "machines:"} <= {line.split(" ")[0] for line in block.text.splitlines()}
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_complete_sample_has_a_plan_without_errors(sample: Block, tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text(sample.text)
    plan = make_plan(load_site(tmp_path / "site.yml"))
    assert [finding.what for finding in plan.findings if finding.severity == "error"] == []


def test_the_pages_on_hosts_and_the_quick_start_have_samples() -> None:
    assert {str(sample.id).rpartition("-")[0] for sample in SAMPLES} >= {
        "bring-your-own-hosts",
        "quick-start",
        "site-file",
    }

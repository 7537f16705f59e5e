"""The playbooks groundup.cloud.capacity and usage print a document or nothing, and end with the exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.integration import abroad
from ansible_collections.groundup.cloud.tests.integration.commands import run


def play(home: Path, name: str, *arguments: str) -> Any:
    (home / "site.yml").write_text(abroad.SITE)
    return run("ansible-playbook", "-i", home / "site.yml", f"groundup.cloud.{name}", *arguments,
               GROUNDUP_STATE=home / "state")  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [("usage", ("-e", "usage_from=2026-11-02", "-e", "usage_to=2026-11-01"), "usage_from is not before usage_to"),
     ("usage", ("-e", "usage_from=soon"), "usage_from is no date: soon"),
     ("capacity", ("-e", "capacity_days=0"), "capacity_days is 0"),
     ("capacity", ("--limit", "node-1", "-e", "output=csv"), "the site has no ca.crt")],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_with_its_remedy(
    name: str, arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = play(tmp_path, name, *arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout + done.stderr
    assert said in done.stderr
    assert "remedy: " in done.stderr

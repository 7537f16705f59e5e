"""`make` has a verb for each thing that one does with a site; it only prints and runs a command."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def make(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("SITE", "MAKEFLAGS", "ARGS")}
    return subprocess.run(
        ["make", "--no-print-directory", *words], cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.parametrize(
    ("verb", "playbook"),
    [
        ("plan", "plan"),
        ("precheck", "precheck"),
        ("check", "site --check --diff"),
        ("apply", "site"),
        ("verify", "site --tags verify"),
        ("status", "status"),
    ],
)
def test_a_verb_prints_and_runs_its_playbook(verb: str, playbook: str) -> None:
    done = make("--dry-run", verb, "SITE=my site.yml", "ARGS=--limit a")
    line = f'ansible-playbook -i "my site.yml" groundup.cloud.{playbook} --limit a'
    assert done.stdout.splitlines()[-1] == f"echo '{line}' >&2; ci/run {line}"
    assert f"\n{verb} " in make("help").stdout


def test_apply_wants_the_site_named() -> None:
    done = make("apply")
    assert done.returncode == 2
    assert "name the site: make apply SITE=path/site.yml" in done.stdout

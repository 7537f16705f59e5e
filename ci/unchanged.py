"""Runs a playbook and fails when a task changed something, or would change it; says which task, on which host.

Usage: ci/run python ci/unchanged.py SITE_FILE PLAYBOOK [ARG...]        ARG as for ansible-playbook: --check --diff
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import ansible_runner
from ansible_collections.groundup.cloud.plugins.plugin_utils.drift.dry_runs import hidden


def changes(events: Sequence[dict[str, Any]]) -> list[str]:
    """Return host and task of every result among ``events`` that says it changed something.

    Of a result that `no_log` hides, the host alone.
    """
    told = [event["event_data"] for event in events if event["event"] == "runner_on_ok"]
    return [
        *(f"{one.get('host')}: {one.get('task')} ({one.get('play')})" for one in told if one["res"].get("changed")),
        *(f"{host}: {number} whose result is hidden" for host, number in hidden(events).items()),
    ]


def main(site: str, playbook: str, *arguments: str) -> int:
    """Run ``playbook`` on ``site``; print what changed; return 0 when the run went well and nothing did."""
    with tempfile.TemporaryDirectory(prefix="groundup-run-") as directory:
        run = ansible_runner.run(
            private_data_dir=directory,
            project_dir=os.getcwd(),  # noqa: PTH109  # the runner takes text
            inventory=os.path.realpath(site),
            playbook=playbook,
            cmdline=shlex.join(arguments) or None,
            envvars={} if sys.stdout.isatty() else {"ANSIBLE_FORCE_COLOR": "0"},
        )
        changed = changes([*run.events])
    for change in changed:
        print(f"changed something: {change}", file=sys.stderr)
    if run.rc is None:  # what a signal ends has no exit code
        print("the run was killed", file=sys.stderr)
        return 1
    return run.rc or (1 if changed else 0)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))

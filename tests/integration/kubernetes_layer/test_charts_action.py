"""Charts of the pod network in a prediction: what is not there is said, and not built."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.groundup.cloud.tests.integration.commands import run


def test_a_prediction_without_charts_builds_nothing_and_says_so(tmp_path: Path) -> None:
    options = {"step": "install", "site": "test", "version": "1.36.3", "charts": "cilium-charts", "releases": []}
    tasks = [
        {"groundup.cloud.cluster": options, "register": "done"},
        {"ansible.builtin.debug": {"msg": "{{ done.changed }}: {{ done.msg }}"}},
    ]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    environment = {"GROUNDUP_CACHE": tmp_path / "cache", "GROUNDUP_STATE": tmp_path / "state"}
    done = run("ansible-playbook", "-i", "localhost,", tmp_path / "play.yml", "--check", **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "True: no chart can be rendered yet, so that differences are not known: the cache lacks" in said
    assert "cilium-charts" in said
    assert "helm, which the playbook groundup.cloud.supply makes" in said
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []

"""Charts of the pod network in a prediction: what is not there is said, and not built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_a_prediction_without_charts_builds_nothing_and_says_so(tmp_path: Path) -> None:
    options = {"site": "test", "version": "1.36.3", "charts": "cilium-charts", "releases": []}
    tasks = [
        {"groundup.cloud.kubernetes_charts": options, "register": "done"},
        {"ansible.builtin.debug": {"msg": "{{ done.changed }}: {{ done.msg }}"}},
    ]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".run"),
        "GROUNDUP_CACHE": str(tmp_path / "cache"),
        "GROUNDUP_STATE": str(tmp_path / "state"),
    }
    program = Path(sys.executable).with_name("ansible-playbook")
    command = [str(program), "-i", "localhost,", str(tmp_path / "play.yml"), "--check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "True: no chart can be rendered yet, so that differences are not known: the cache lacks" in said
    assert "cilium-charts" in said
    assert "helm, which the playbook groundup.cloud.supply makes" in said
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []

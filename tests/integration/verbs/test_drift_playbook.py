"""The playbook groundup.cloud.drift compares each layer of a site that does not answer, and writes nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.tests.integration import abroad
from ansible_collections.groundup.cloud.tests.integration.commands import run


def drift(home: Path, *arguments: str, site: str = abroad.SITE) -> Any:
    """Return the finished playbook, of a site whose host is silent."""
    (home / "site.yml").write_text(site)
    keys = home / "state/abroad/ssh"
    if not keys.is_dir():
        keys.mkdir(parents=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / "id_ed25519"], check=True)
    timeline = {"GROUNDUP_TIMELINE": home / "timeline.json"}
    return run(
        "ansible-playbook", "-i", home / "site.yml", "groundup.cloud.drift", *arguments,
        GROUNDUP_STATE=home / "state", **timeline,
    )  # fmt: skip


def files(home: Path) -> dict[str, int]:
    """Return the files of the site's state with their times."""
    return {str(path): path.stat().st_mtime_ns for path in (home / "state").rglob("*") if path.is_file()}


def test_layers_differ_a_silent_host_is_unknown_and_nothing_is_written(tmp_path: Path) -> None:
    drift(tmp_path, "--limit", "node-1")
    before = files(tmp_path)
    done = drift(tmp_path, "-e", "output=json", "-e", f"drift_file={tmp_path}/drift.json")
    found = json.loads(done.stdout)
    assert done.returncode == 2, done.stdout + done.stderr
    assert found == json.loads((tmp_path / "drift.json").read_text())
    assert files(tmp_path) == before
    assert (found["site"], found["state"], found["plan"]) == ("abroad", "drift", "no run has written a plan yet")
    rows = found["rows"]
    assert {"plan", "metal", "seed"} <= {row["layer"] for row in rows if not row["unknown"]}, "each runs for itself"
    silent = [row for row in rows if row["host"] == "node-1"]
    assert [(row["layer"], row["unknown"]) for row in silent] == [("host", True)], "no layer asks it again"
    assert "unreachable: " in silent[0]["what"]
    assert done.stderr.strip().startswith(f"failed: [localhost] => {found['summary']}")
    plays = [play["name"] for play in json.loads((tmp_path / "timeline.json").read_text())["plays"]]
    assert plays == ["Hosts", "Drift"], "the figures of the run, not of a layer's dry run"


def test_a_part_of_the_site_is_not_taken_for_all_of_it(tmp_path: Path) -> None:
    done = drift(tmp_path, "--limit", "node-1")
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stderr.strip() == "unknown: drift is of the whole site: run it without --limit"

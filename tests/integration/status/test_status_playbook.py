"""The playbook groundup.cloud.status at a site that is not made or does not answer: its exit code says so."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.integration import abroad
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run
from ansible_collections.groundup.cloud.tests.unit import tls


def status(state: Path, *arguments: str, site: str | Path = ROOT / "inventories/cloud/site.yml") -> Any:
    """Return the finished playbook."""
    return run("ansible-playbook", "-i", site, "groundup.cloud.status", *arguments, GROUNDUP_STATE=state)


def test_before_the_first_run_all_is_not_made_yet_and_nothing_is_written(tmp_path: Path) -> None:
    done = status(tmp_path / "state")
    lines = done.stdout.splitlines()
    assert done.returncode == 2, done.stdout + done.stderr
    assert lines[0].split() == ["part", "name", "state", "what"], "the table, and nothing else"
    assert lines[-1].startswith("cloud: 1 warning, ")
    assert "failed: [localhost] => cloud is not well; not made: hosts, virtual_ip, nodes" in done.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("arguments", [(), ("--check", "--diff"), ("--tags", "verify"), ("--limit", "control-1")])
def test_the_document_is_all_of_standard_output_and_the_file(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "status.json"
    done = status(tmp_path / "state", "-e", "output=json", "-e", f"status_file={path}", *arguments)
    said = json.loads(done.stdout)
    assert said == json.loads(path.read_text())
    assert (done.returncode, said["site"], said["state"]) == (2, "cloud", "not made")
    names = {row["name"] for row in said["parts"]["hosts"]}
    assert names == ({"control-1"} if "--limit" in arguments else names | {"seed-1", "hypervisor-2"})


@pytest.mark.parametrize("value", ["xml", "", "JSON"])
def test_another_output_is_refused(tmp_path: Path, value: str) -> None:
    done = status(tmp_path / "state", "-e", f"output={value}")
    assert done.returncode == 2
    assert "value of output must be one of: table, json" in done.stderr
    assert not done.stdout


def test_what_does_not_answer_could_not_be_asked(tmp_path: Path) -> None:
    site, home = tmp_path / "site.yml", tmp_path / "state/abroad"
    site.write_text(abroad.SITE)
    (home / "ssh").mkdir(parents=True)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / "ssh/id_ed25519"], check=True)
    done = status(home.parent, "-e", "output=json", site=site)
    host, *_ = json.loads(done.stdout)["parts"]["hosts"]
    assert (host["state"], host["facts"]["reachable"]) == ("unknown", False), done.stdout
    assert "unreachable: " in host["what"]
    assert host["what"].endswith("a run would stop")
    assert done.returncode == 2, "the cluster is not made yet, and that is worse"
    ca = base64.b64encode(tls.pair(names=["127.0.0.1"]).certificate.encode()).decode()
    cluster = {"server": "https://127.0.0.1:9", "certificate-authority-data": ca}
    config = {"clusters": [{"cluster": cluster}], "users": [{"user": {"token": "t"}}]}
    (home / "kubeconfig").write_text(json.dumps(config))
    done = status(home.parent, site=site)
    assert "the Kubernetes API does not answer" in done.stdout
    assert done.returncode == 4, done.stdout
    assert (
        done.stderr.splitlines()[-1]
        == "unknown: abroad is not well; unknown: hosts, virtual_ip, nodes, releases; warning: backups"
    )


def test_the_state_of_another_site_is_refused(tmp_path: Path) -> None:
    site = tmp_path / "site.yml"
    site.write_text(abroad.SITE)
    made = run("ansible-playbook", "-i", site, "groundup.cloud.secrets", GROUNDUP_STATE=tmp_path / "state")
    assert made.returncode == 0, made.stdout
    site.write_text(abroad.SITE.replace("abroad.test", "other.test"))
    done = status(tmp_path / "state", site=site)
    assert done.returncode == 2
    assert "other-site" in done.stdout + done.stderr

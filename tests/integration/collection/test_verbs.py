"""The verbs of the layers on a site that is not there yet: predictions and questions change and build nothing."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers import layers
from ansible_collections.groundup.cloud.tests.integration.commands import ROOT, run

EDGE = (ROOT / "inventories/edge/site.yml").read_text()
LAYERS = [name for name in layers.LAYERS if name != "plan"]
RECAP = re.compile(r"^(\S+) +: (ok=\d+ +changed=\d+ +unreachable=\d+ +failed=\d+)", re.MULTILINE)

Play = Callable[..., subprocess.CompletedProcess[str]]


def files(directory: Path) -> list[Path]:
    """Return the files below ``directory``."""
    return [path for path in directory.rglob("*") if path.is_file()]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Return a function that runs a playbook on a site whose one machine refuses connections, from an empty cache."""
    moved = EDGE.replace("10.95.", "127.95.").replace("203.0.113.", "127.95.3.")
    text = moved.replace("access:\n", "access:\n  port: 9\n")

    def on_site(name: str, *arguments: str, site: str = text) -> subprocess.CompletedProcess[str]:
        (tmp_path / "site.yml").write_text(site)
        environment = {"GROUNDUP_STATE": tmp_path / "state", "GROUNDUP_CACHE": tmp_path / "cache"}
        return run("ansible-playbook", "-i", tmp_path / "site.yml", f"groundup.cloud.{name}", *arguments, **environment)

    return on_site


def test_the_tag_check_predicts_a_site_that_is_not_there_as_check_mode_does(play: Play, tmp_path: Path) -> None:
    by_tag, by_mode = play("site", "--tags", "check"), play("site", "--check", "--diff")
    assert (by_tag.returncode, by_mode.returncode) == (4, 4), by_tag.stdout + by_mode.stdout
    assert RECAP.findall(by_tag.stdout) == RECAP.findall(by_mode.stdout)
    assert "edge-1.edge.example.org" in by_tag.stdout  # differences are shown: here those of plan.json
    assert not (tmp_path / "state").exists()
    assert files(tmp_path / "cache") == []


def test_check_beside_another_verb_still_changes_nothing(play: Play, tmp_path: Path) -> None:
    assert play("metal", "--tags", "check,apply").returncode == 4
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ("supply", "would be made: root-go"),
        ("metal", "edge-1 does not let the control node in as ops@127.95.0.10, port 9"),
        ("host", "would be made: secret"),
        ("openstack", "nothing was asked: the cache lacks"),
    ],
)
def test_the_tag_verify_says_what_a_new_site_lacks(play: Play, tmp_path: Path, layer: str, said: str) -> None:
    done = play(layer, "--tags", "verify")
    assert done.returncode != 0
    assert said in " ".join((done.stdout + done.stderr).split())
    assert not (tmp_path / "state").exists()
    assert files(tmp_path / "cache") == []


ELSEWHERE = {
    "upstream": EDGE.replace("{source: build}", "{source: upstream}"),
    "registry": EDGE.replace("seed, ", "").replace(
        "{source: build}", "{source: registry, registry: 'r.example.org:443', files_url: 'https://f.example.org'}"
    ),
}


@pytest.mark.parametrize("source", ELSEWHERE)
def test_what_the_controller_itself_runs_is_made_wherever_the_rest_comes_from(
    play: Play, tmp_path: Path, source: str
) -> None:
    """Else nothing could be predicted or asked, and the layer that is named as the remedy would never make it."""
    done = play("supply", "--tags", "verify", site=ELSEWHERE[source])
    assert done.returncode != 0, done.stdout
    assert "would be made: helm" in " ".join((done.stdout + done.stderr).split())
    assert files(tmp_path / "cache") == []


def test_a_machine_that_does_not_let_the_controller_in_is_told_with_both_keys(play: Play, tmp_path: Path) -> None:
    done = play("metal")
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0
    assert "access.host_keys.edge-1" in said
    assert "run the playbook groundup.cloud.contact" in said
    assert "ssh/id_ed25519.pub" in said
    assert "[127.95.0.10]:9 ssh-ed25519 AAAA" in (tmp_path / "state/edge/ssh/host_keys").read_text()


@pytest.mark.parametrize("layer", LAYERS)
def test_no_layer_starts_on_a_plan_with_an_error(play: Play, tmp_path: Path, layer: str) -> None:
    site = EDGE.replace("names: [edge-1]", "names: [edge-1, edge-2]")
    done = play(layer, *(["--limit", "edge-2"] if layer == "kubernetes" else []), site=site)
    assert done.returncode != 0
    assert "2 machines have the role seed" in " ".join(done.stdout.split())
    assert [name for name, _ in RECAP.findall(done.stdout)] in (["edge-1"], ["edge-2"], ["edge-1", "edge-2"])
    assert not (tmp_path / "state").exists()
    assert files(tmp_path / "cache") == []

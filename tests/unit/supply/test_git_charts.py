"""OpenStack-Helm's charts by one command: cloned or from a directory, and only what the lock names."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import OptionError
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.builders.git_charts import content_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock

from .test_action import action

NAMES = ("keystone", "toolkit")


def git(repository: Path, *arguments: str) -> str:
    """Run git there; return what it says."""
    who = {f"GIT_{role}_{what}": "unit" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-C", str(repository), *arguments]
    done = subprocess.run(command, env={**os.environ, **who}, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a chart, the library that it needs, and a tag."""
    home = tmp_path / "repository"
    for name in NAMES:
        (home / name / "templates").mkdir(parents=True)
        (home / name / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 1.2.3\n")
        (home / name / "templates/all.yaml").write_text(f"of {name}\n")
    git(home.parent, "init", "--quiet", str(home))
    git(home, "add", "-A")
    git(home, "commit", "--quiet", "-m", "first")
    git(home, "tag", "-a", "1.2.3", "-m", "release")
    return home


@pytest.fixture
def lock(
    repository: Path, make_lock: Callable[..., Lock], monkeypatch: pytest.MonkeyPatch, cache: Path
) -> Callable[..., None]:
    """Have the lock name that repository, with changes of the inputs."""
    del cache
    inputs = {
        "url": str(repository), "tag": "1.2.3", "commit": git(repository, "rev-parse", "HEAD"), "charts": ["keystone"],
        "library": "toolkit", "content": content_of(repository / name for name in NAMES),
    }  # fmt: skip

    def name(**change: Any) -> None:
        entry = {"builder": "git_charts", "inputs": {**inputs, **change}}
        made = make_lock(**{"openstack-charts": entry})
        monkeypatch.setattr(supply, "load_lock", lambda _site=None: made)

    name()
    return name


def package(directory: Path, *, check: bool = False, checkout: Path | None = None) -> dict[str, Any]:
    """Run the step."""
    return action(check=check).work({"step": "charts", "directory": str(directory), "checkout": checkout})


def cloned(repository: Path) -> None:
    """Nothing is named: it is cloned."""
    del repository


def checked_out(repository: Path) -> Path:
    """Return a checkout that somebody works in."""
    (repository / "keystone/templates/all.yaml").write_text("changed\n")
    return repository


def bare(repository: Path) -> Path:
    """Return a bare clone, as mirrors are."""
    there = repository.parent / "bare.git"
    if not there.exists():
        git(repository, "clone", "--quiet", "--bare", str(repository), str(there))
    return there


def unpacked(repository: Path) -> Path:
    """Return a directory without git, in which Helm was at work."""
    there = repository.parent / "unpacked"
    there.mkdir()
    subprocess.run(["cp", "-r", *(str(repository / name) for name in NAMES), str(there)], check=True)
    (there / "keystone/charts").mkdir()
    (there / "keystone/charts/toolkit-1.2.3.tgz").write_text("packed by Helm")
    return there


@pytest.mark.usefixtures("lock")
@pytest.mark.parametrize("way", [cloned, checked_out, bare, unpacked])
def test_the_charts_of_the_lock_come_with_their_library_by_every_way(
    way: Callable[[Path], Path | None], repository: Path, tmp_path: Path
) -> None:
    target, checkout = tmp_path / "new/charts", way(repository)
    predicted = package(target, check=True, checkout=checkout)
    assert (predicted["changed"], target.exists()) == (True, False)
    done = package(target, checkout=checkout)
    assert (done["changed"], done["charts"]) == (True, ["keystone-1.2.3.tgz"])
    assert done["msg"].endswith("1 of them new")
    with tarfile.open(target / "keystone-1.2.3.tgz") as tar:
        assert tar.getnames() == [
            "keystone/Chart.yaml", "keystone/charts/toolkit/Chart.yaml",
            "keystone/charts/toolkit/templates/all.yaml", "keystone/templates/all.yaml",
        ]  # fmt: skip
        text = tar.extractfile("keystone/templates/all.yaml")
        assert text
        assert text.read() == b"of keystone\n"
    for check in (True, False):
        assert not package(target, check=check, checkout=checkout)["changed"]
    (target / "keystone-1.2.3.tgz").write_text("damaged")
    assert package(target, check=True)["changed"]
    assert package(target)["changed"]
    assert "GROUNDUP_CHARTS_CHECKOUT" not in os.environ


@pytest.mark.parametrize("way", [cloned, checked_out, bare, unpacked])
def test_other_content_is_refused_and_nothing_is_written(
    way: Callable[[Path], Path | None], lock: Callable[..., None], repository: Path, tmp_path: Path
) -> None:
    lock(content=f"sha256:{'0' * 64}")
    with pytest.raises(GroundupError, match="have content sha256:"):
        package(tmp_path / "charts", checkout=way(repository))
    assert not (tmp_path / "charts").exists()


@pytest.mark.usefixtures("lock")
def test_a_tag_that_moved_is_refused(repository: Path, tmp_path: Path) -> None:
    (repository / "keystone/templates/all.yaml").write_text("changed\n")
    git(repository, "commit", "--quiet", "-am", "second")
    git(repository, "tag", "-f", "-a", "1.2.3", "-m", "moved")
    with pytest.raises(GroundupError, match=r"tag 1\.2\.3 is another commit"):
        package(tmp_path / "charts")


@pytest.mark.parametrize(
    ("change", "said"),
    [({"url": "/nowhere"}, "(?s)git failed.*/nowhere"), ({"tag": "9"}, "(?s)git failed.*refs/tags/9")],
)
def test_what_git_says_is_repeated(
    change: dict[str, str], said: str, lock: Callable[..., None], tmp_path: Path
) -> None:
    lock(**change)
    with pytest.raises(GroundupError, match=said):
        package(tmp_path / "charts")


@pytest.mark.usefixtures("lock")
def test_a_directory_without_charts_or_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="no chart keystone, toolkit"):
        package(tmp_path / "charts", checkout=tmp_path)
    with pytest.raises(OptionError, match="there is no directory"):
        package(tmp_path / "charts", checkout=tmp_path / "nowhere")


def test_the_lock_names_every_chart_that_a_release_of_ours_needs() -> None:
    from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import load_lock

    assert set(load_lock().artifacts["openstack-charts"].inputs["charts"]) == set(RECORDS)

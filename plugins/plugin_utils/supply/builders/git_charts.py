"""Package Helm charts of a git repository with the library chart that they need: from a clone, or from a directory.

Inputs: ``url``, ``tag`` and ``commit`` of the repository, ``charts`` (directories in it), ``library`` (the chart that
is packed into each), ``content`` (digest of all their files). The archives are ``<chart>-<version>.tgz``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import yaml

from ...errors import GroundupError
from ..errors import not_locked
from ..lock.model import Entry
from ..make import machine
from ..make.builder import Builder
from ..make.context import BuildContext
from ..make.sbom import Component
from .module_chart import pack

CHECKOUT = "GROUNDUP_CHARTS_CHECKOUT"  # variable that names a directory to take them from, instead of a clone


class GitCharts(Builder):
    """Take the charts from git or from a directory; their content must be the locked one, whichever it is."""

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Fetch, compare, pack."""
        inputs, work = entry.inputs, context.scratch / "work"
        names = [*inputs["charts"], inputs["library"]]
        work.mkdir()
        if given := os.environ.get(CHECKOUT):
            context.say(f"reading {given}")
            _from_directory(Path(given).expanduser(), inputs["commit"], names, work, context)
        else:
            context.say(f"cloning {inputs['url']} {inputs['tag']}")
            _from_repository(entry, names, work, context)
        if (found := content_of(work / name for name in names)) != inputs["content"]:
            what = f"the charts of {given or inputs['url']} have content {found}"
            raise not_locked(entry, what, locked=inputs["content"], key="inputs.content")
        context.say("packing")
        for name in inputs["charts"]:
            shutil.copytree(work / inputs["library"], work / name / "charts" / inputs["library"])
            version = yaml.safe_load((work / name / "Chart.yaml").read_bytes())["version"]
            pack(work / name, context.output / f"{name}-{version}.tgz", epoch=context.lock.pins.epoch)
        context.components.append(Component.of("generic", entry.name, inputs["tag"]))


def content_of(directories: Iterable[Path]) -> str:
    """Return the digest of the names and contents of all files below ``directories``."""
    total = hashlib.sha256()
    for directory in sorted(directories):
        for path in sorted(one for one in directory.rglob("*") if one.is_file()):
            name = f"{directory.name}/{path.relative_to(directory).as_posix()}"
            total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return f"sha256:{total.hexdigest()}"


def _from_repository(entry: Entry, names: list[str], work: Path, context: BuildContext) -> None:
    inputs, clone = entry.inputs, context.scratch / "clone"
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_SSL_CAINFO": machine.bundle()}
    git = _git()
    context.run([git, "init", "--quiet", clone])
    fetch = ["fetch", "--quiet", "--depth=1", inputs["url"], f"refs/tags/{inputs['tag']}"]
    context.run([git, "-C", clone, *fetch], env=environment)
    try:
        _archive(clone, inputs["commit"], names, work, context)
    except GroundupError as error:
        raise not_locked(
            entry, f"tag {inputs['tag']} is another commit", locked=inputs["commit"], key="inputs.commit"
        ) from error


def _from_directory(directory: Path, commit: str, names: list[str], work: Path, context: BuildContext) -> None:
    if (directory / ".git").exists() or (directory / "objects").is_dir():  # a checkout, or a bare repository
        _archive(directory, commit, names, work, context)
        return
    if lacking := [name for name in names if not (directory / name / "Chart.yaml").is_file()]:
        raise GroundupError(
            f"it has no chart {', '.join(lacking[:3])}{', ...' if lacking[3:] else ''}",
            where=str(directory),
            why="the releases of a cloud are made from them",
            remedy="name the directory of a checkout of OpenStack-Helm, or of its unpacked archive",
        )
    for name in names:
        shutil.copytree(directory / name, work / name, ignore=shutil.ignore_patterns("charts", "Chart.lock"))


def _archive(repository: Path, commit: str, names: list[str], work: Path, context: BuildContext) -> None:
    """Write ``names`` of the commit into ``work``, whoever owns the repository, which is only read."""
    plain = context.scratch / "charts.tar"
    context.run([
        _git(), "-c", "safe.directory=*", "-C", repository, "archive", "--output", plain, commit, *names,
    ])  # fmt: skip
    context.run(["tar", "-x", "--no-same-owner", "-C", work, "-f", plain])


def _git() -> str:
    if found := shutil.which("git"):
        return found
    raise GroundupError(
        "git is not installed",
        where="this machine",
        why="charts are taken out of a git repository",
        remedy="install the OS package git, or name an unpacked directory: -e charts_checkout=DIR",
    )


BUILDER = GitCharts()

"""The plan of a former version: from a file, from a state directory, or made by that version's own playbook."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from . import state_format
from .errors import GroundupError
from .plan.types import Plan
from .process import Finished, Processes, stop_on_signals

PLAN = "plan.json"
_PLAYBOOK = "playbooks/plan.yml"
_IN_ROOT = "ansible_collections/groundup/cloud"
_BESIDE = ("dns.zone", "monitoring/**/*")  # files that the plan's run writes, pictures aside
_SECONDS = 900  # that a former version may take to plan
_SAID = 600  # characters of its words
_PARTS = {"site": str, "domain": str, "hosts": dict, "kubernetes": dict, "openstack": dict}
_WHY = "without the former plan nothing can be compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerPlan:
    """A plan that another version made."""

    content: dict[str, Any]  # of plan.json
    files: dict[str, str] | None  # beside it, by name; None: a file alone was given


def read(path: Path, plan: Plan, site_file: Path) -> FormerPlan:
    """Return the former plan of the site of ``plan`` that ``path`` stands for. Raises GroundupError, OSError.

    ``path``: a plan.json, a directory with one, or a clone or an installation of the collection, which then plans
    ``site_file``.
    """
    if not path.exists():
        raise GroundupError(
            "there is nothing to compare with", where=str(path), why=_WHY,
            remedy="name a plan.json, the state directory of the site, or a clone or installation of the former "
            "version: -e against=PATH",
        )  # fmt: skip
    if path.is_file():
        return _checked(FormerPlan(content=_parsed(path), files=None), plan, where=path)
    if (path / PLAN).is_file():
        state_format.refuse_newer(path)
        return _checked(_of_directory(path), plan, where=path)
    for root in (path, path / _IN_ROOT):
        if (root / _PLAYBOOK).is_file():
            return _checked(_made_by(root.resolve(), site_file), plan, where=path)
    raise GroundupError(
        f"the directory has no {PLAN}, and is no groundup.cloud", where=str(path), why=_WHY,
        remedy="name the state directory of the site after a run, or the root of a clone or an installation "
        f"(…/{_IN_ROOT})",
    )  # fmt: skip


def beside(texts: Mapping[Path, str], directory: Path) -> dict[str, str]:
    """Return the files of ``texts`` that are compared, by their names below ``directory``."""
    named = {path.relative_to(directory): text for path, text in texts.items()}
    return {str(path): text for path, text in named.items() if str(path) == _BESIDE[0] or path.parts[0] == "monitoring"}


def _of_directory(place: Path) -> FormerPlan:
    found = {path for pattern in _BESIDE for path in place.glob(pattern) if path.is_file()}
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in found}
    return FormerPlan(content=_parsed(place / PLAN), files=beside(texts, place))


def _parsed(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _no_plan(path, f": {error}") from error
    if not isinstance(content, dict) or not all(isinstance(content.get(name), kind) for name, kind in _PARTS.items()):
        raise _no_plan(path)
    return content


def _no_plan(path: Path, reason: str = "") -> GroundupError:
    return GroundupError(
        f"the file is no plan of a site{reason}", where=str(path), why=_WHY,
        remedy=f"name a {PLAN} as the playbook groundup.cloud.plan writes it",
    )  # fmt: skip


def _checked(found: FormerPlan, plan: Plan, *, where: Path) -> FormerPlan:
    theirs, ours = ((one["site"], one["domain"]) for one in (found.content, {"site": plan.site, "domain": plan.domain}))
    if theirs != ours:
        raise GroundupError(
            f"the plan is of site {theirs[0]} in {theirs[1]}, the site file of {ours[0]} in {ours[1]}",
            where=str(where), why="two sites have nothing to compare", remedy="name a plan of this site",
        )  # fmt: skip
    return found


def _made_by(collection: Path, site_file: Path) -> FormerPlan:
    """Have a former version plan ``site_file`` with an empty state: a plan needs none, and it writes into none."""
    with TemporaryDirectory(prefix="groundup-former-") as home:
        place = Path(home, _IN_ROOT)
        place.parent.mkdir(parents=True)
        place.symlink_to(collection)
        config = collection / "ansible.cfg"
        own = {name: text for name, text in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))}
        argv = [sys.executable, "-m", "ansible", "playbook", "-i", str(site_file), "groundup.cloud.plan"]
        processes = Processes()
        with stop_on_signals(processes):
            done = processes.run(
                [*argv, "-e", json.dumps({"plan_output": f"{home}/plan"})],
                env={**own, "ANSIBLE_COLLECTIONS_PATH": home, "ANSIBLE_CONFIG": str(config) if config.is_file() else "",
                     "ANSIBLE_NOCOLOR": "1", "PYTHONDONTWRITEBYTECODE": "1",
                     "GROUNDUP_STATE": f"{home}/state", "GROUNDUP_TIMELINE": os.devnull},
                timeout=_SECONDS,
            )  # fmt: skip
        if Path(home, "plan", PLAN).is_file():  # with findings that are errors, too
            return _of_directory(Path(home, "plan"))
    raise GroundupError(
        f"the former version makes no plan of this site file: {_said(done)}", where=str(collection), why=_WHY,
        remedy="make it where that version runs (groundup.cloud.plan -e plan_output=DIR), by the site file that it "
        f"knows, and compare with DIR/{PLAN}",
    )  # fmt: skip


def _said(done: Finished) -> str:
    """Return why Ansible ended, by its own words."""
    for text, mark in ((done.stdout, "fatal: "), (done.stdout, "failed: "), (done.stderr, "[ERROR]: ")):
        if said := " ".join(text.partition(mark)[2].split()):
            return said[:_SAID]
    return " ".join(f"{done.stdout} {done.stderr}".split())[-_SAID:] or f"it ended with {done.code}"

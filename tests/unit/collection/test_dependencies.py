"""What our code imports is asked for by us, with its reason, not only by something that needs it too."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.lab.check import TOOLS

ROOT = Path(__file__).resolve().parents[3]
# The engine's templates come with it; what lies beside a file is ours.
_KNOWN = {"ansible": "ansible-core", "jinja2": "ansible-core", "ansible_collections": ""}
_KNOWN |= dict.fromkeys(("rados", "rbd"), "")  # on storage hosts, by a package that their layer installs
# Of files that Tempest's environment or an image runs.
_KNOWN |= dict.fromkeys(("cursive", "oslo_config", "oslo_policy", "subunit", "tempest", "testtools"), "")
_KNOWN |= dict.fromkeys(("cinder", "glance", "keystone", "neutron", "neutron_lib", "nova", "placement"), "")
_ALL = ("requirements.in", "requirements-dev.in")
_TESTS = ("ci/rack-requirements.in", "ci/browser-requirements.in")  # in environments of their own


def distributions(folder: str) -> Iterator[tuple[str, str]]:
    """Yield distribution and file of every import below ``folder`` that is neither Python's own nor ours."""
    installed = packages_distributions()
    for path in sorted((ROOT / folder).rglob("*.py")):
        beside = {each.stem for each in path.parent.iterdir()}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [str(node.module)]
            else:
                continue
            for top in {name.split(".")[0] for name in names}:
                if top in sys.stdlib_module_names or top in beside:
                    continue
                found = _KNOWN.get(top, installed.get(top, [top])[0])
                if found:
                    yield _plain(found), path.relative_to(ROOT).as_posix()


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _asked_for(*files: str) -> set[str]:
    lines = "\n".join((ROOT / file).read_text(encoding="utf-8") for file in files).splitlines()
    return {_plain(re.split(r"[<>=\[ ]", line)[0]) for line in lines if line and not line.startswith(("-", "#"))}


@pytest.mark.parametrize(("folder", "files"), [("plugins", _ALL[:1]), ("tests", (*_ALL, *_TESTS)), ("ci", _ALL)])
def test_every_import_is_a_requirement_of_ours(folder: str, files: tuple[str, ...]) -> None:
    asked = _asked_for(*files)
    assert {found for found in distributions(folder) if found[0] not in asked} == set()


def test_every_requirement_has_its_reason() -> None:
    rows = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8").splitlines()
    told = "\n".join(_plain(row.split("|")[1]) for row in rows if row.startswith("| "))
    assert {name for name in _asked_for(*_ALL) if not re.search(rf"(?<![a-z]){name}(?![a-z])", told)} == set()


def test_what_a_lab_asks_of_the_machine_is_what_bootstrap_installs() -> None:
    lines = (ROOT / "meta/bindep.txt").read_text(encoding="utf-8").splitlines()
    installed = {line.split()[0] for line in lines if not line.startswith("#") and "platform:rpm" not in line}
    essential = {"coreutils", "mount"}  # of every Debian
    assert set(TOOLS.values()) - essential <= installed

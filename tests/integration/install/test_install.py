"""A newcomer's first hour: exactly what docs/install.md and the quick start say, from an empty directory."""

from __future__ import annotations

import shlex
import socket
import sys
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.pages import DOCS, Shell, blocks, do, install, reader

OWN = "Your own machines"  # of the quick start
COLLECTION = ".ansible/collections/ansible_collections/groundup/cloud"
SUPPLY = "ansible_collections.groundup.cloud.plugins.plugin_utils.supply"
KEYS = """\
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import load_lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.keys import keys
lock = load_lock()
print(sorted(keys(lock, lock.closure(tuple(lock.artifacts))).items()))
"""


def page_commands(word: str) -> list[str]:
    """Return the commands of the quick start's own machines that have ``word``."""
    return [command for block in blocks("quick-start.md", OWN) for command in block.commands if word in command]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell in a directory with the page's site file; the collection is installed, its Python packages are not."""
    shell = reader(tmp_path_factory.mktemp("home"))
    for command in install()[0]:
        do(shell, command)
    for block in blocks("quick-start.md", OWN):
        if block.file:
            (shell.place / block.file).write_text(block.text)
    return shell


@pytest.fixture(scope="module")
def ready(bare: Shell) -> Shell:
    """The same after the last step of the page."""
    for command in install()[1]:
        do(bare, command)
    return bare


@pytest.mark.parametrize("settings", ["no settings", "the page's settings"])
def test_without_its_packages_every_command_ends_in_one_line_with_the_remedy(bare: Shell, settings: str) -> None:
    target = bare.place / "ansible.cfg"
    if settings != "no settings":
        target.write_text((DOCS.parent / "ansible.cfg").read_text())
    requirements = Path(bare.environment["HOME"]) / COLLECTION / "requirements.txt"
    commands = [
        *page_commands("groundup.cloud.plan"),
        *page_commands("groundup.cloud.site"),
        "ansible-inventory -i site.yml --graph",
        "ansible localhost -i site.yml -m groundup.cloud.plan -a site_file=site.yml",
        "ansible localhost -m groundup.cloud.rollout -a site_file=site.yml",
        f"PYTHONPATH={requirements.parents[3]} python -m {SUPPLY} list",
    ]
    for command in commands:
        code, said = bare.run(command)
        assert code == 4, said
        (line,) = (line for line in said.splitlines() if not line.startswith("[WARNING]"))
        assert "pydantic, " in line
        assert f"this control node ({socket.gethostname()}) lacks" in line
        assert line.endswith(f" -m pip install -r {requirements}")
    target.unlink(missing_ok=True)


def test_without_its_packages_a_lookup_says_so_and_the_documentation_can_be_read(bare: Shell) -> None:
    looked_up = "msg={{ lookup('groundup.cloud.state_path', '', site='a') }}"
    code, said = bare.run(f"ansible localhost -m debug -a {shlex.quote(looked_up)}")
    assert code == 2
    assert "pydantic, " in said
    assert "Traceback" not in said
    for plugin in ("groundup.cloud.plan", "-t inventory groundup.cloud.site", "-t callback groundup.cloud.brief"):
        do(bare, f"ansible-doc {plugin}")


def test_every_chart_has_the_library_that_it_is_rendered_with(ready: Shell) -> None:
    charts = Path(ready.environment["HOME"]) / COLLECTION / "charts"
    using = {path.parent.name for path in charts.glob("*/Chart.yaml") if "name: groundup-lib" in path.read_text()}
    using.discard("groundup-lib")
    assert len(using) > 10
    assert {name for name in using if not (charts / name / "charts/groundup-lib/Chart.yaml").is_file()} == set()


def test_the_page_leads_to_a_plan(ready: Shell) -> None:
    for command in page_commands("groundup.cloud.plan"):
        assert "\n0 errors" in do(ready, command)


def test_every_playbook_of_the_installed_collection_is_valid(ready: Shell) -> None:
    names = (f"groundup.cloud.{path.stem}" for path in sorted((DOCS.parent / "playbooks").glob("*.yml")))
    do(ready, f"ansible-playbook -i site.yml --syntax-check {' '.join(names)}")


def test_machines_that_cannot_be_reached_are_named_by_the_examination(ready: Shell) -> None:
    for command in page_commands("groundup.cloud.precheck"):
        code, said = ready.run(f"unshare --map-root-user --net bash -c {shlex.quote(command)}")
        assert code == 4, said
        assert "cannot be reached by ssh" in said
        assert {name for name in ("control-1", "worker-1", "worker-2") if f"{name}: 10.95.0." not in said} == set()


def test_it_finds_the_artifacts_that_a_clone_has_built(ready: Shell) -> None:
    installed = do(ready, f"PYTHONPATH=~/.ansible/collections python -c {shlex.quote(KEYS)}")
    clone = do(ready, f"PYTHONPATH={DOCS.parent / '.run'} {sys.executable} -c {shlex.quote(KEYS)}")
    assert installed == clone
    assert len(clone) > 1000

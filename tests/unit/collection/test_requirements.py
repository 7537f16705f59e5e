"""What a control node lacks is said in one line, which ends with the command that mends it."""

from __future__ import annotations

import multiprocessing
import re
import socket
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from ansible import context
from ansible_collections.groundup.cloud.plugins.plugin_utils import requirements
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.package import PARTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.tests.pages import blocks

VERSIONS = {"ansible-core": "2.19.14", "pydantic": "1.10.24", "packaging": "26.0"}


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control node with a few packages, one of them too old."""

    def distribution(name: str) -> SimpleNamespace:
        if name not in VERSIONS:
            raise PackageNotFoundError(name)
        return SimpleNamespace(version=VERSIONS[name])

    monkeypatch.setattr(requirements, "distribution", distribution)


def test_this_environment_lacks_nothing() -> None:
    assert requirements.lacks((COLLECTION / "requirements.in").read_text()) == []


@pytest.mark.usefixtures("old")
def test_missing_packages_and_versions_that_do_not_fit_are_named() -> None:
    wanted = "ansible-core>=2.19.0,<2.21.0\npydantic>=2\ncyclonedx-python-lib[json-validation]\npackaging\n"
    assert requirements.lacks(wanted) == ["pydantic >=2 (it has 1.10.24)", "cyclonedx-python-lib"]


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("virtual", [True, False])
def test_the_command_ends_with_one_line_and_exit_code_4(
    virtual: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "CLIARGS", {"args": ["site.yml"]})
    monkeypatch.setattr(sys, "base_prefix", "/usr" if virtual else sys.prefix)
    with pytest.raises(SystemExit) as ended:
        requirements.check()
    assert ended.value.code == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"[ERROR]: groundup.cloud: this control node ({socket.gethostname()}) lacks ansible-runner,")
    assert line.endswith(f"pip install -r {COLLECTION / 'requirements.txt'}")
    assert ("virtual environment" in line) != virtual


@pytest.mark.usefixtures("old")
def test_in_a_worker_the_task_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: True)
    with pytest.raises(ImportError, match=r"lacks ansible-runner, .*requirements\.txt$"):
        requirements.check()


@pytest.mark.usefixtures("old")
def test_a_program_that_uses_ansible_as_a_library_is_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "CLIARGS", {})
    with pytest.raises(ImportError, match="lacks ansible-runner"):
        requirements.check()


@pytest.mark.usefixtures("old")
def test_the_seeds_copy_of_the_collection_asks_for_nothing_its_environment_came_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not {"requirements.in", "requirements.txt"} & set(PARTS)
    monkeypatch.setattr(requirements, "_FILES", tmp_path)
    requirements.check()


def test_the_version_of_ansible_is_the_one_that_the_collection_declares() -> None:
    declared = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())["requires_ansible"]
    assert f"ansible-core{declared}\n" in (COLLECTION / "requirements.in").read_text()


def test_the_page_installs_the_programs_that_a_control_node_needs() -> None:
    lines = (COLLECTION / "meta/bindep.txt").read_text().splitlines()
    others = re.compile("^#|rpm|browser|machine|^(runc|ethtool) ")  # of a lab, of tests
    needed = {line.split()[0] for line in lines if not others.search(line)}
    lines = [line for block in blocks("install.md") for line in block.text.splitlines()]
    (command,) = (line for line in lines if "apt-get install" in line)
    assert {word for word in command.split()[3:] if not word.startswith("-")} == needed


def test_the_documentation_of_plan_and_inventory_names_them() -> None:
    for name in ("doc_fragments/site", "inventory/site"):
        assert (
            "Python packages of the collection's C(requirements.txt)" in (COLLECTION / f"plugins/{name}.py").read_text()
        )

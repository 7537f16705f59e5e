"""A newcomer's shell with the collection, installed by the words of docs/install.md."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.tests.pages import Shell, blocks, do, install, reader

OWN_MACHINES = "Your own machines"  # of the quick start


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell in a directory with the page's site file; the collection is installed, its Python packages are not."""
    shell = reader(tmp_path_factory.mktemp("home"))
    for command in install()[0]:
        do(shell, command)
    for block in blocks("quick-start.md", OWN_MACHINES):
        if block.file:
            (shell.place / block.file).write_text(block.text)
    return shell


@pytest.fixture(scope="session")
def ready(bare: Shell) -> Shell:
    """The same after the last step of the page."""
    for command in install()[1]:
        do(bare, command)
    return bare

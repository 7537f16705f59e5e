"""A copy of the collection with the toy service in it, and what that copy makes of a site."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[4]
TOY = Path(__file__).parent
COPIED = ("plugins", "charts", "ci/reference", "docs", "inventories", "playbooks", "roles")


def grow(directory: Path) -> Path:
    """Copy the collection below ``directory``, with the toy's module and chart beside the others."""
    root = directory / "ansible_collections/groundup/cloud"
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name, symlinks=True)
    shutil.copy(TOY / "toy.py", root / "plugins/plugin_utils/services/toy.py")
    shutil.copytree(TOY.parent / "charts/toy", root / "charts/toy")
    (root / "charts/toy/charts").mkdir()
    (root / "charts/toy/charts/groundup-lib").symlink_to("../../groundup-lib")
    return root


def ask(tree: Path) -> Any:
    """Return what the copy ``tree`` makes of a site with the toy."""
    done = subprocess.run(
        [sys.executable, TOY / "ask.py", tree],
        check=False,
        capture_output=True,
        text=True,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree.parents[2])},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)

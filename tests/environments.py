"""Python environments beside the project's own, for programs that tests alone need."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base.locks import locked
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION, cache_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.virtualenv import index_settings


def environment(name: str) -> Path:
    """Return the environment of the hashed list `ci/<name>-requirements.txt`, made once."""
    requirements = COLLECTION / f"ci/{name}-requirements.txt"
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    place = cache_dir() / name / key
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place.with_name(f".{key}.lock")):
        if not (place / ".complete").exists():
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", place], check=True)
            install = [str(Path(sys.prefix) / "bin/uv"), "pip", "install", "-q", "--require-hashes", "--no-deps"]
            index = {**os.environ, **index_settings()}
            install += ["--python", str(place / "bin/python"), "-r", str(requirements)]
            subprocess.run(install, check=True, env=index)
            (place / ".complete").touch()
    return place

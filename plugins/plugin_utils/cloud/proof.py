"""Record a site's last passed smoke test, so that an unchanged run need not repeat it."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from ...module_utils._base.files import write_file
from ..paths import state_dir
from ..plan.types import Plan

FILE = "smoke.json"
_RECORDS = ("published.json", "cluster.json")


def digest(plan: Plan) -> str:
    """Return a digest of what an instance depends on: plan with values, published files, identity of the cluster."""
    found = hashlib.sha256(json.dumps(asdict(plan), sort_keys=True, default=str).encode())
    for name in _RECORDS:
        path = state_dir(plan.site) / name
        found.update(path.read_bytes() if path.is_file() else b"none")
    return found.hexdigest()


def proven(plan: Plan, wanted: str) -> str:
    """Return the line of the last proof if its digest is ``wanted``, else ``""``."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(_path(plan).read_text(encoding="utf-8"))
        if found["digest"] == wanted:
            return str(found["line"])
    return ""


def remember(plan: Plan, found: str, line: str) -> None:
    write_file(_path(plan), json.dumps({"digest": found, "line": line}, indent=1).encode() + b"\n", mode=0o644)


def forget(plan: Plan) -> None:
    """Remove the record before steps that may fail."""
    _path(plan).unlink(missing_ok=True)


def _path(plan: Plan) -> Path:
    return state_dir(plan.site) / FILE

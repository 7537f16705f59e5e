"""Fails when a run changed something.

Usage: ci/run python ci/changed.py FILE        FILE is what callback groundup.cloud.timeline wrote
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(file: str) -> int:
    """Print each play that changed hosts, and how often; return 1 when there is one."""
    plays = json.loads(Path(file).read_text(encoding="utf-8"))["plays"]
    changed = [play for play in plays if play["changed"]]
    for play in changed:
        print(f"changed something: play {play['name']}: {play['changed']}", file=sys.stderr)
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))

"""What one more hypervisor costs a cloud that stands, and that nothing runs on the others meanwhile.

Usage: [SITE=path/to/site.yml] ci/run python ci/bench/hypervisor.py

Adds a host to the lab of `ci/lab up`, which the site file does not have: destroy the lab afterwards. Only the layer
`hypervisor` is measured. Exit code: 0 within the bounds, 1 above one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.ci.bench.cloud import ROOT, SITE, Figure, cost, report
from ansible_collections.groundup.cloud.ci.bench.speed import allowance
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan


def enlarged(site_file: Path, target: Path) -> str:
    """Write the site file with one more hypervisor; return the new host's name."""
    content = yaml.safe_load(site_file.read_text(encoding="utf-8"))
    content["machines"]["hypervisor"]["count"] += 1
    target.write_text(yaml.safe_dump(content), encoding="utf-8")
    (new,) = site_plan(target).hosts.keys() - site_plan(site_file).hosts.keys()
    return new


def play(site: Path, *arguments: str) -> dict[str, Any]:
    """Run playbooks; return what the callback timeline wrote. Exits when they fail."""
    record = site.with_name("timeline.json")
    command = ["ansible-playbook", "-i", str(site), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"GROUNDUP_TIMELINE": str(record)}
    )
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}\n{(done.stdout + done.stderr)[-6000:]}")
    return dict(json.loads(record.read_text(encoding="utf-8")))


def figures(record: dict[str, Any], new: str, run: str, *, tasks: int, cpu: float) -> list[Figure]:
    """Return what a run of the layer for one host cost."""
    counted, used, _, _ = cost(record, "hypervisor")
    others = sum(
        count for one in record["plays"] for host, count in one["tasks"].items() if host not in (new, "localhost")
    )
    return [
        Figure(what=f"{run}: tasks on {new}", measured=counted[new], most=tasks),
        Figure(what=f"{run}: controller CPU-s", measured=used, most=cpu),
        Figure(what=f"{run}: tasks on all other hosts", measured=others, most=0),
    ]


def main() -> int:
    """Add a hypervisor, measure, print, judge."""
    with tempfile.TemporaryDirectory(prefix="groundup-bench-") as scratch:
        site = Path(scratch) / "site.yml"
        new = enlarged(ROOT / SITE, site)
        play(site, "groundup.cloud.metal", "groundup.cloud.host")
        layer = ("groundup.cloud.hypervisor", "--limit", f"localhost,{new}")
        first, again = play(site, *layer), play(site, *layer)
    slower = allowance()
    return report(
        [
            *figures(first, new, "one more hypervisor", tasks=12, cpu=1.0 * slower),
            *figures(again, new, "unchanged", tasks=6, cpu=0.4 * slower),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())

"""What a first run costs on plain machines, which install from the seed, beside one on lab images, which have it all.

Usage: ci/run python ci/bench/first_run.py        exit code 1 when it takes more than 1.5 times as long

Both sites are tests/e2e/existing/site.yml: a control host and seed, two workers, from running machines to a token. It
makes and destroys both, which needs root and the artifacts in the cache. The ratio of two runs of one machine, one
after the other, is judged; give it a machine that nothing else keeps busy.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.tests.e2e.operating import ROOT, Operator, begin
from ansible_collections.groundup.cloud.tests.e2e.plain import THREE

LIMIT = 1.5
SHIPPED = ROOT / "tests/e2e/existing/site.yml"
CONTAINERS = "bench-first-run"


def seconds(run: Callable[[], object]) -> float:
    """Return how long ``run`` takes."""
    started = time.monotonic()
    run()
    return time.monotonic() - started


def plain() -> float:
    """Return the seconds of a first run on plain machines."""
    THREE.install()
    try:
        site = yaml.safe_load(SHIPPED.read_text())
        names = [name for group in site["machines"].values() for name in group["machines"]]
        return seconds(Operator(THREE, site, dict(zip(names, THREE.machines, strict=True))).play)
    finally:
        THREE.destroy()


def containers() -> float:
    """Return the seconds of a first run on machines of the lab's image."""
    site: dict[str, Any] = yaml.safe_load(SHIPPED.read_text())
    site |= {"site": CONTAINERS, "networks": {"management": {"cidr": "10.97.14.0/24"}}, "hosts": {}}
    for group in site["machines"].values():
        del group["machines"], group["provisioner"]
    home = state_dir(CONTAINERS).parent / f"{CONTAINERS}-operator"
    path, environment = begin(home, site)

    def run(*command: str) -> None:
        subprocess.run([ROOT / command[0], *command[1:]], cwd=ROOT, env=environment, check=True)

    try:
        run("ci/run", "ansible-playbook", "-i", str(path), "groundup.cloud.metal")
        return seconds(lambda: run("ci/lab", "up"))
    finally:
        run("ci/lab", "destroy")
        shutil.rmtree(home)


def main() -> int:
    """Measure both, print the ratio, and return the exit code."""
    lab, existing = containers(), plain()
    ratio = existing / lab
    print(f"first run: {existing:.0f} s on plain machines, {lab:.0f} s on lab images: {ratio:.2f} (at most {LIMIT})")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())

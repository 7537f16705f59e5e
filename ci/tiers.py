"""Runs the test tiers in order and says at the end what passed, what failed and what was skipped with which reason.

Usage: ci/run python ci/tiers.py [--long] [TIER...]      those of `make test`, or `make test-long`, or the named ones;
exit code 1 when one failed
"""

from __future__ import annotations

import argparse
import shutil

from ansible_collections.groundup.cloud.ci.long_tiers import LONG_TIERS
from ansible_collections.groundup.cloud.ci.tier import ROOT, Tier, report, run_tiers
from ansible_collections.groundup.cloud.ci.tier_commands import (
    CI_MINUTES,
    CLOUD_SITE,
    LAB_TESTS,
    MACHINE_SITE,
    MINUTES,
    PYTEST,
    SCENARIOS,
    SCRATCH,
    TEMPEST,
    WAITING,
    e2e,
    lab_tier,
    needs_pace,
    needs_root,
    playbooks,
    scenarios,
    unchanged,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import cache_dir

LEAST_GIB, COLD_GIB = 16, 35  # free space; the molecule scenario `existing` makes hosts of 16 GiB
API_TESTS = "tests/integration/rollout_api"  # each worker starts etcd and an API server
# Ratios and CPU seconds. Those of Kubernetes and of 1,000 unchanged hosts are in the tier `long`.
BENCHMARKS = ("plan_inventory", "preflight", "supply")
FOR_TESTS = ("cilium-charts", "packages", "plain", "rootfs-storage-13", TEMPEST, "test-directory")

TIERS = (
    Tier(name="lint", commands=(("ci/lint",),), background=True),
    Tier(name="unit", commands=((*PYTEST, "-n", "3", "tests/unit"),)),
    Tier(name="docs", commands=(("ci/docs",),), background=True),
    Tier(
        name="supply",
        # What the lab runs, and for tests: charts of another pod network, plain hosts, packages of all releases,
        # storage hosts of the other release, OpenStack's tests, and a directory.
        commands=(("ci/lab", "supply"), ("ci/supply", "build", *FOR_TESTS)),
        needs=needs_root,
        cached=True,
    ),
    # After supply: they run helm, and the programs of the images it built.
    Tier(
        name="integration",
        commands=(
            (*PYTEST, *WAITING, "tests/contract", "tests/integration", "-m", "not long", f"--ignore={API_TESTS}"),
        ),
    ),
    Tier(
        name="bench",
        # The benchmark of Kubernetes makes a lab of its own: it is in the tier `long`.
        commands=tuple(("ci/run", "python", f"ci/bench/{name}.py", "--rounds", "1") for name in BENCHMARKS),
    ),
    Tier(
        name="molecule",
        commands=scenarios(SCENARIOS),
        at_once=3,  # each has networks and a state of its own, and waits for its hosts at times
        needs=needs_root,
    ),
    Tier(
        name="lab",
        commands=(
            ("ci/lab", "destroy"),  # of inventories/lab, what a killed run left: beside it the next would see less
            e2e("lab_clean", "lab_refused"),
        ),
        needs=needs_root,
    ),
    Tier(
        name="existing",
        commands=(
            # -s: the runs are seen as an operator sees them; -x: each test goes on where the one before it ended.
            e2e("existing", options=("-s", "-x")),
            (*PYTEST, "-n", "4", API_TESTS),  # more than there are cores: they mostly wait for their API servers
            e2e("host_network", options=("-x",)),
        ),
        at_once=2,  # each has networks and a state of its own, and leaves the processors idle for half of its time
        needs=needs_root,
        always=("ci/run", "python", "tests/e2e/plain.py", "destroy"),
    ),
    lab_tier(
        "machine",
        MACHINE_SITE,
        # Without machines; first: beside `existing` it costs least. 100 of them: tier `machines`.
        ("ci/run", "python", "ci/bench/machines.py", "--machines", "50", "--at-once", "25"),
        ("ci/lab", "metal"),
        unchanged(MACHINE_SITE, "groundup.cloud.seed"),
        unchanged(MACHINE_SITE, "groundup.cloud.ironic"),
        unchanged(MACHINE_SITE, "groundup.cloud.ironic", "--check", "--diff"),
        unchanged(MACHINE_SITE, "groundup.cloud.host", "--limit", "provisioner_ironic"),
        e2e("metal"),  # it prints what it measures
        first=(("ci/bootstrap", "machine"),),
        beside="existing",  # of its machine's processor, which is emulated on one core, it mostly waits
    ),
    lab_tier(
        "cloud",
        CLOUD_SITE,
        e2e("prediction"),
        e2e("interruption", options=("-m", "not long")),  # leaves it up, with an instance that answered, and unchanged
        ("ci/run", "python", "ci/bench/cloud.py"),  # reads what the last two runs recorded
        # -s: what the loss of an OSD costs is printed; -x: each test goes on where the one before it ended.
        e2e("cloud", "volumes", "dashboard", options=("-s", "-x", "-m", "not long")),
        (*playbooks(CLOUD_SITE, "tempest"), "-e", f"tempest_tests={ROOT}/tests/e2e/tempest/cloud.txt"),
        e2e(*LAB_TESTS, options=("-m", "lab and not long")),
        e2e("lab_gone"),  # destroys it
        first=(("ci/bootstrap", "browser"),),
        needs=needs_pace,
    ),
)


def main() -> int:
    """Run the named tiers, or all of a kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="the tiers of `make test-long`")
    parser.add_argument("tier", nargs="*", choices=[[], *(tier.name for tier in (*TIERS, *LONG_TIERS))])
    given = parser.parse_args()
    chosen = [tier for tier in (*TIERS, *LONG_TIERS) if tier.name in given.tier] or (
        LONG_TIERS if given.long else TIERS
    )
    free = shutil.disk_usage(ROOT).free / 2**30
    print(f"{free:.0f} GiB are free for this clone; with an empty cache all tests take {COLD_GIB}", flush=True)
    if free < LEAST_GIB and not given.tier:
        print(f"they need {LEAST_GIB} GiB at least: free some, or delete old clones and what is in {cache_dir()}")
        return 2
    outcomes = run_tiers(chosen, scratch=SCRATCH, minutes=MINUTES, limit=CI_MINUTES, waits="molecule")
    report(outcomes)
    counts = {verdict: sum(o.verdict == verdict for o in outcomes) for verdict in ("passed", "FAILED", "skipped")}
    print(f"{counts['passed']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Runs the test tiers in order and says at the end what passed, what failed and what was skipped with which reason.

Usage: ci/run python ci/tiers.py [TIER...]        all but `make test-long` by default; exit code 1 when one failed
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

from ansible_collections.groundup.cloud.ci.tier import ROOT, Tier, report, run_tiers
from ansible_collections.groundup.cloud.ci.tier_commands import (
    CHARTS,
    CI_MINUTES,
    CLOUD_SITE,
    CLUSTER,
    CONFORMANCE_SITE,
    LAB_TESTS,
    LARGE_CLOUD_SITE,
    LONG_SCENARIOS,
    MACHINE_SITE,
    MINUTES,
    OBJECTS_SITE,
    PYTEST,
    REAL_CHARTS_SITE,
    SCENARIOS,
    SCRATCH,
    STORAGE_SITE,
    THREE_CONTROL_HOSTS_SITE,
    WAITING,
    e2e,
    lab_tier,
    needs_charts,
    needs_root,
    playbooks,
    scenarios,
    unchanged,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import cache_dir

LEAST_GIB, COLD_GIB = 16, 35  # free space; the molecule scenario `existing` makes hosts of 16 GiB
METAL = tuple(
    f"tests/integration/metal/test_{name}.py"
    for name in ("bond", "discovery", "hostile_controllers", "ironic", "seed_backup", "storm", "way_out")
)
API_TESTS = "tests/integration/rollout_api"  # each worker starts etcd and an API server
# Ratios and CPU seconds. Those of Kubernetes and of 1,000 unchanged hosts are in the tier `long`.
BENCHMARKS = ("plan_inventory", "preflight", "supply")
FOR_TESTS = ("cilium-charts", "packages", "plain", "rootfs-storage-13", "test-directory")

TIERS = (
    Tier(name="lint", commands=(("ci/lint",),), background=True),
    Tier(name="unit", commands=((*PYTEST, "-n", "3", "tests/unit"),)),
    Tier(name="docs", commands=(("ci/docs",),), background=True),
    Tier(
        name="supply",
        # What the lab runs, and for tests: charts of another pod network, plain hosts, packages of all releases,
        # storage hosts of the other release, and a directory.
        commands=(("ci/lab", "supply"), ("ci/supply", "build", *FOR_TESTS)),
        needs=needs_root,
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
        by_default=True,
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
        e2e(*LAB_TESTS, options=("-m", "lab and not long")),
        e2e("lab_gone"),  # destroys it
        first=(("ci/bootstrap", "browser"),),
        by_default=True,
    ),
    Tier(
        name="long",
        commands=(
            ("ci/lab", "supply"),
            ("ci/supply", "build", "plain", "packages", "hypervisor", "openstack-more", "root-provider"),
            ("ci/lab", "destroy"),
            (*PYTEST, "-m", "long", "tests", *(f"--ignore={one}" for one in METAL)),  # they have a tier of their own
            ("ci/lab", "destroy"),
            ("ci/run", "python", "ci/bench/cluster.py"),
            ("ci/run", "python", "ci/bench/first_run.py"),
            ("ci/run", "python", "ci/bench/unchanged.py"),
        ),
        needs=needs_root,
        always=("ci/lab", "destroy"),
        by_default=False,
    ),
    Tier(
        name="scenarios",
        commands=(
            ("ci/lab", "supply"),
            ("ci/supply", "build", "packages", "hypervisor-13", "rootfs-storage-13"),
            *scenarios(LONG_SCENARIOS),
        ),
        needs=needs_root,
        by_default=False,
    ),
    Tier(
        name="kernel",
        commands=(
            ("ci/bootstrap", "machine"),
            ("ci/supply", "build", "plain", "machine"),
            e2e("kernel", options=("-s", "-x")),
        ),
        needs=needs_root,
        always=("ci/run", "python", "tests/e2e/emulated.py"),
        by_default=False,
    ),
    Tier(
        name="metal",
        commands=(
            ("ci/bootstrap", "machine"),
            ("ci/supply", "build", "lab", "metal"),
            (*PYTEST, "-s", "-x", *METAL),
            ("ci/run", "python", "ci/bench/image_write.py"),
        ),
        needs=needs_root,
        by_default=False,
    ),
    lab_tier(
        "machines",
        "tests/e2e/metal/life.yml",
        ("ci/run", "python", "ci/bench/machines.py"),
        ("ci/lab", "dark"),
        e2e("metal_life", options=("-s", "-x")),  # each test goes on where the one before it ended
        first=(("ci/bootstrap", "machine"),),
    ),
    lab_tier(
        "join",
        "inventories/lab-metal/site.yml",
        ("ci/lab", "metal"),
        ("ci/lab", "up"),
        ("ci/lab", "unchanged"),
        e2e("metal_join"),
        first=(("ci/bootstrap", "machine"),),
    ),
    lab_tier(
        "ha",  # what only three control hosts can show: quorum, a member lost, a total outage
        THREE_CONTROL_HOSTS_SITE,
        ("ci/lab", "up"),
        ("ci/lab", "unchanged"),
        e2e("galera", "failure_cards", options=("-m", "lab", "-k", "galera")),
        e2e("removal", options=("-m", "lab")),
        e2e("cluster_kept", options=("-m", "lab")),  # last: the volumes of one host are lost
    ),
    Tier(
        name="ha-cloud",  # three of everything on plain machines
        commands=(
            ("env", "SITE=inventories/ha/site.yml", "ci/lab", "supply"),
            ("ci/supply", "build", "plain", "packages"),
            e2e("ha_cloud", options=("-s", "-x")),
            e2e("ha_faults", options=("-s",)),
        ),
        needs=needs_root,
        always=("ci/run", "python", "tests/e2e/plain.py", "destroy", "ha-machines"),
        by_default=False,
    ),
    lab_tier(
        "life",
        CLOUD_SITE,
        ("ci/lab", "up"),
        e2e("cloud_life", options=("-s",)),
        e2e("cloud_faults", options=("-s",)),
        e2e("disks", "evacuate", options=("-s",)),
        e2e("stacks", options=("-s",)),
        e2e("dashboard", options=("-x",)),
        ("env", f"SITE={OBJECTS_SITE}", "ci/lab", "up"),  # on the same lab
        ("env", f"SITE={OBJECTS_SITE}", *e2e("dashboard", options=("-x",))),  # with its page of containers
        ("env", f"SITE={OBJECTS_SITE}", *e2e("disks", options=("-s", "-k", "backup"))),
        ("env", f"SITE={OBJECTS_SITE}", *e2e("balancer", options=("-s",))),
        ("ci/lab", "shell", "python", "ci/bench/volumes.py"),
        first=(("ci/bootstrap", "machine"), ("ci/bootstrap", "browser")),  # qemu-img, Chromium
    ),
    lab_tier(
        "kept",
        LARGE_CLOUD_SITE,
        ("ci/lab", "up"),
        e2e("network_kept", options=("-s",)),  # it prints what it measures
    ),
    lab_tier(
        "storage",
        STORAGE_SITE,
        playbooks(STORAGE_SITE, *CLUSTER, "storage"),
        unchanged(STORAGE_SITE, "groundup.cloud.storage"),
        e2e("storage", options=("-s",)),  # it prints what it measures
        e2e("storage_life", options=("-s", "-x")),  # each test goes on where the one before it ended
    ),
    lab_tier(
        "cost",
        CLOUD_SITE,
        playbooks(CLOUD_SITE, *CLUSTER, "network"),
        ("ci/run", "python", "ci/bench/rollout.py"),
        ("ci/lab", "up"),
        ("ci/run", "python", "ci/bench/hypervisor.py"),
    ),
    lab_tier(
        "real",
        REAL_CHARTS_SITE,
        ("ci/lab", "up"),  # ends with an instance that answered
        ("ci/lab", "unchanged"),
        e2e("real_cloud", "cloud", "volumes", options=("-s",)),
        e2e("stacks", options=("-s",)),
        e2e("balancer", options=("-s",)),
        e2e("disks", options=("-s", "-k", "backup")),
        e2e("dashboard", options=("-x",)),
        first=(
            ("ci/bootstrap", "machine"),  # qemu-img
            ("ci/bootstrap", "browser"),
            # The site file names this place, which is the same on every machine.
            ("ln", "-sfn", str(Path(os.environ.get(CHARTS, "")).absolute()), ".run/osh-charts"),
        ),
        needs=needs_charts,
    ),
    Tier(
        name="conformance",
        commands=(
            ("ci/supply", "build", "conformance"),
            ("env", f"SITE={CONFORMANCE_SITE}", "ci/lab", "destroy"),
            playbooks(CONFORMANCE_SITE, *CLUSTER),
            ("env", f"SITE={CONFORMANCE_SITE}", *e2e("conformance")),
        ),
        needs=needs_root,
        always=("env", f"SITE={CONFORMANCE_SITE}", "ci/lab", "destroy"),
        by_default=False,
    ),
)


def main() -> int:
    """Run the named tiers, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tier", nargs="*", choices=[[], *(tier.name for tier in TIERS)])
    wanted = parser.parse_args().tier
    free = shutil.disk_usage(ROOT).free / 2**30
    print(f"{free:.0f} GiB are free for this clone; with an empty cache all tests take {COLD_GIB}", flush=True)
    if free < LEAST_GIB and not wanted:
        print(f"they need {LEAST_GIB} GiB at least: free some, or delete old clones and what is in {cache_dir()}")
        return 2
    chosen = (tier for tier in TIERS if (tier.name in wanted if wanted else tier.by_default))
    outcomes = run_tiers(chosen, scratch=SCRATCH, minutes=MINUTES, limit=CI_MINUTES, waits="molecule")
    report(outcomes)
    counts = {verdict: sum(o.verdict == verdict for o in outcomes) for verdict in ("passed", "FAILED", "skipped")}
    print(f"{counts['passed']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

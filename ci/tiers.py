"""Runs the test tiers in order and says at the end what passed, what failed and what was skipped with which reason.

Usage: ci/run python ci/tiers.py [TIER...]        all but `make test-long` by default; exit code 1 when one failed
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from ansible_collections.groundup.cloud.ci.tier import ROOT, Tier, run_tier


def needs_root() -> str | None:
    """Say why hosts cannot be made on this machine, or None."""
    if os.geteuid() != 0:
        return "making hosts needs root"
    if not Path("/etc/debian_version").exists():
        return "the build roots need a Debian machine"
    return None


def needs_charts() -> str | None:
    """Say why there is no cloud of OpenStack-Helm's charts, or None."""
    where = Path(os.environ.get(CHARTS, ""))
    if not os.environ.get(CHARTS) or not list(where.glob("nova-*.tgz")):
        return f"{CHARTS} names no directory with OpenStack-Helm's charts (docs/charts.md)"
    return needs_root()


PYTEST = ("ci/run", "pytest", "-q", "--durations=5", "--durations-min=5")  # where the time goes
# These make and destroy hosts themselves: their tiers call them in their order.
EXISTING = "test_existing.py"
HOST_NETWORK = "test_host_network.py"
CONFORMANCE = "test_conformance.py"
CONFORMANCE_SITE = "tests/e2e/conformance/site.yml"
CLUSTER = ("supply", "metal", "host", "seed", "kubernetes")  # layers of a site up to its cluster
KERNEL = "test_kernel.py"
MACHINE = "test_metal.py"
MACHINE_JOIN = "test_metal_join.py"
MACHINE_LIFE = "test_metal_life.py"
METAL = tuple(
    f"tests/integration/metal/test_{name}.py"
    for name in ("discovery", "hostile_controllers", "ironic", "seed_backup", "storm", "way_out")
)
CLOUD = "test_cloud.py"
NETWORK_KEPT = "test_network_kept.py"
LIFE = "test_cloud_life.py"  # of a hypervisor
FAULTS = "test_cloud_faults.py"
REAL_CLOUD = "test_real_cloud.py"
DASHBOARD = "test_dashboard.py"
STORAGE = "test_storage.py"
STORAGE_LIFE = "test_storage_life.py"
VOLUMES = "test_volumes.py"
DISKS = "test_disks.py"  # in Ceph, and its backups
STACKS = "test_stacks.py"
CHARTS = "GROUNDUP_OSH_CHARTS"
MAKE_LABS = {
    "test_lab_clean.py", "test_lab_gone.py", "test_interruption.py", "test_prediction.py",
    EXISTING, HOST_NETWORK, CONFORMANCE, KERNEL, MACHINE, MACHINE_JOIN, MACHINE_LIFE, CLOUD, NETWORK_KEPT, LIFE, FAULTS,
    REAL_CLOUD, DASHBOARD, STORAGE, STORAGE_LIFE, VOLUMES, DISKS, STACKS,
}  # fmt: skip
LAB_TESTS = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "tests/e2e").glob("test_*.py") if path.name not in MAKE_LABS
)
API_TESTS = "tests/integration/rollout_api"  # each worker starts etcd and an API server
# Ratios and CPU seconds. Those of Kubernetes and of 1,000 unchanged hosts are in the tier `long`.
BENCHMARKS = ("plan_inventory", "preflight", "supply")
FIRST = ("kubernetes", "rollout")  # each makes a cluster, and takes longest
SCENARIOS = sorted(
    (path.parent.name for path in (ROOT / "molecule").glob("*/molecule.yml")),
    key=lambda name: (name not in FIRST, name),
)
CLOUD_SITE = "inventories/cloud/site.yml"
WHOLE_CLOUD = f"SITE={CLOUD_SITE}"
MACHINE_SITE = "tests/e2e/metal/site.yml"
STORAGE_SITE = "tests/e2e/storage/site.yml"
OBJECTS = ("env", "SITE=tests/e2e/objects/site.yml")  # the whole cloud, and an object store
LARGE_CLOUD = "SITE=tests/e2e/network/site.yml"  # three control hosts, three hypervisors
CLOUD_OF_REAL_CHARTS = "SITE=tests/e2e/real/site.yml"
# What only three control hosts can show: quorum, a member lost, a total outage.
THREE_CONTROL_HOSTS = "SITE=inventories/lab-ha/site.yml"
THREE_CONTROL_HOST_TESTS = (
    ("ci/lab", "up"),
    ("ci/lab", "unchanged"),
    (*PYTEST, "-m", "lab", "tests/e2e/test_galera.py", "tests/e2e/test_failure_cards.py", "-k", "galera"),
    (*PYTEST, "-m", "lab", "tests/e2e/test_removal.py"),
    (*PYTEST, "-m", "lab", "tests/e2e/test_cluster_kept.py"),  # last: the volumes of one host are lost
)


def unchanged(site: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs playbooks again, and fails when they change something."""
    return ("ci/run", "python", "ci/unchanged.py", site, *arguments)


def lab_tier(
    name: str,
    site: str,
    *commands: tuple[str, ...],
    first: tuple[tuple[str, ...], ...] = (),
    needs: Callable[[], str | None] = needs_root,
    by_default: bool = False,
) -> Tier:
    """Return the tier of a lab of its own: ``first``, then ``commands`` after what an earlier run left is gone."""
    steps = (*first, ("ci/lab", "supply"), ("ci/lab", "destroy"), *commands)
    return Tier(
        name=name,
        commands=tuple(("env", site, *step) for step in steps),
        needs=needs,
        always=("env", site, "ci/lab", "destroy"),
        by_default=by_default,
    )


TIERS = (
    Tier(name="lint", commands=(("ci/lint",),)),
    Tier(name="unit", commands=((*PYTEST, "-n", "2", "tests/unit"),)),
    Tier(name="docs", commands=(("ci/docs",),)),
    Tier(
        name="supply",
        # What the lab runs, and for tests: charts of another pod network, plain hosts, packages of all releases, and
        # what the molecule scenario `hypervisor` serves.
        commands=(("ci/lab", "supply"), ("ci/supply", "build", "cilium-charts", "packages", "plain", "hypervisor-13")),
        needs=needs_root,
    ),
    # After supply: they run helm, and the programs of the images it built.
    Tier(
        name="integration",
        commands=(
            (*PYTEST, "-n", "2", "tests/contract", "tests/integration", "-m", "not long", f"--ignore={API_TESTS}"),
        ),
    ),
    Tier(
        name="bench",
        # The benchmark of Kubernetes makes a lab of its own: it is in the tier `long`.
        commands=tuple(("ci/run", "python", f"ci/bench/{name}.py", "--rounds", "1") for name in BENCHMARKS),
    ),
    Tier(
        name="molecule",
        commands=tuple(("ci/run", "molecule", "test", "-s", scenario) for scenario in SCENARIOS),
        at_once=2,  # each has networks and a state of its own, and mostly waits for its hosts
        needs=needs_root,
    ),
    # More than there are cores: they mostly wait for their API servers.
    Tier(name="api", commands=((*PYTEST, "-n", "3", API_TESTS),), needs=needs_root),
    Tier(
        name="lab",
        commands=(
            ("ci/lab", "destroy"),  # what an earlier run left
            (*PYTEST, "tests/e2e/test_lab_clean.py"),
            (*PYTEST, "tests/e2e/test_prediction.py"),
            (*PYTEST, "-m", "not long", "tests/e2e/test_interruption.py"),  # leaves the lab up and unchanged
            (*PYTEST, "-m", "lab and not long", *LAB_TESTS),
            (*PYTEST, "tests/e2e/test_lab_gone.py"),  # destroys it
        ),
        needs=needs_root,
        always=("ci/lab", "destroy"),
    ),
    Tier(
        name="existing",
        commands=(
            ("ci/supply", "build", "plain"),
            # -s: the runs are seen as an operator sees them; -x: each test goes on where the one before it ended.
            (*PYTEST, "-s", "-x", f"tests/e2e/{EXISTING}"),
            (*PYTEST, "-x", f"tests/e2e/{HOST_NETWORK}"),
        ),
        needs=needs_root,
        always=("ci/run", "python", "tests/e2e/plain.py", "destroy"),
    ),
    lab_tier(
        "machine",
        f"SITE={MACHINE_SITE}",
        ("ci/lab", "metal"),
        unchanged(MACHINE_SITE, "groundup.cloud.seed"),
        unchanged(MACHINE_SITE, "groundup.cloud.ironic"),
        unchanged(MACHINE_SITE, "groundup.cloud.ironic", "--check", "--diff"),
        unchanged(MACHINE_SITE, "groundup.cloud.host", "--limit", "provisioner_ironic"),
        (*PYTEST, f"tests/e2e/{MACHINE}"),  # it prints what it measures
        first=(("ci/bootstrap", "machine"),),
        by_default=True,
    ),
    lab_tier(
        "cloud",
        WHOLE_CLOUD,
        ("ci/lab", "up"),  # ends with an instance that answered
        ("ci/lab", "unchanged"),
        ("ci/run", "python", "ci/bench/cloud.py"),  # reads what the two runs recorded
        # -s: what the loss of an OSD costs is printed; -x: each test goes on where the one before it ended.
        (*PYTEST, "-s", "-x", "-m", "not long", *(f"tests/e2e/{name}" for name in (CLOUD, VOLUMES, DASHBOARD))),
        first=(("ci/bootstrap", "browser"),),
        by_default=True,
    ),
    Tier(
        name="long",
        commands=(
            ("ci/lab", "supply"),
            ("ci/supply", "build", "plain", "packages", "hypervisor", "openstack-more"),
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
        name="kernel",
        commands=(
            ("ci/bootstrap", "machine"),
            ("ci/supply", "build", "plain", "machine"),
            (*PYTEST, "-s", "-x", f"tests/e2e/{KERNEL}"),
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
            ("ci/run", "python", "ci/bench/machines.py"),
        ),
        needs=needs_root,
        by_default=False,
    ),
    lab_tier(
        "machines",
        "SITE=tests/e2e/metal/life.yml",
        ("ci/lab", "dark"),
        (*PYTEST, "-s", "-x", f"tests/e2e/{MACHINE_LIFE}"),  # each test goes on where the one before it ended
        first=(("ci/bootstrap", "machine"),),
    ),
    lab_tier(
        "join",
        "SITE=inventories/lab-metal/site.yml",
        ("ci/lab", "metal"),
        ("ci/lab", "up"),
        ("ci/lab", "unchanged"),
        (*PYTEST, f"tests/e2e/{MACHINE_JOIN}"),
        first=(("ci/bootstrap", "machine"),),
    ),
    lab_tier("ha", THREE_CONTROL_HOSTS, *THREE_CONTROL_HOST_TESTS),
    lab_tier(
        "life",
        WHOLE_CLOUD,
        ("ci/lab", "up"),
        (*PYTEST, "-s", f"tests/e2e/{LIFE}"),
        (*PYTEST, "-s", f"tests/e2e/{FAULTS}"),
        (*PYTEST, "-s", f"tests/e2e/{DISKS}"),
        (*PYTEST, "-s", f"tests/e2e/{STACKS}"),
        (*PYTEST, "-x", f"tests/e2e/{DASHBOARD}"),
        ("ci/lab", "shell", "python", "ci/bench/volumes.py"),
        (*OBJECTS, "ci/lab", "up"),  # on the same lab
        (*OBJECTS, *PYTEST, "-x", f"tests/e2e/{DASHBOARD}"),  # with its page of containers
        (*OBJECTS, *PYTEST, "-s", "-k", "backup", f"tests/e2e/{DISKS}"),
        first=(("ci/bootstrap", "machine"), ("ci/bootstrap", "browser")),  # qemu-img, Chromium
    ),
    lab_tier(
        "kept",
        LARGE_CLOUD,
        ("ci/lab", "up"),
        (*PYTEST, "-s", f"tests/e2e/{NETWORK_KEPT}"),  # it prints what it measures
    ),
    lab_tier(
        "storage",
        f"SITE={STORAGE_SITE}",
        (
            "ci/run",
            "ansible-playbook",
            "-i",
            STORAGE_SITE,
            *(f"groundup.cloud.{name}" for name in (*CLUSTER, "storage")),
        ),
        unchanged(STORAGE_SITE, "groundup.cloud.storage"),
        (*PYTEST, "-s", f"tests/e2e/{STORAGE}"),  # it prints what it measures
        (*PYTEST, "-s", "-x", f"tests/e2e/{STORAGE_LIFE}"),  # each test goes on where the one before it ended
    ),
    lab_tier(
        "cost",
        WHOLE_CLOUD,
        ("ci/run", "ansible-playbook", "-i", CLOUD_SITE, *(f"groundup.cloud.{name}" for name in (*CLUSTER, "network"))),
        ("ci/run", "python", "ci/bench/rollout.py"),
        ("ci/lab", "up"),
        ("ci/run", "python", "ci/bench/hypervisor.py"),
    ),
    lab_tier(
        "real",
        CLOUD_OF_REAL_CHARTS,
        ("ci/lab", "up"),  # ends with an instance that answered
        ("ci/lab", "unchanged"),
        (*PYTEST, f"tests/e2e/{REAL_CLOUD}", f"tests/e2e/{CLOUD}"),
        # The site file names this place, which is the same on every machine.
        first=(("ln", "-sfn", str(Path(os.environ.get(CHARTS, "")).absolute()), ".run/osh-charts"),),
        needs=needs_charts,
    ),
    Tier(
        name="conformance",
        commands=(
            ("ci/supply", "build", "conformance"),
            ("env", f"SITE={CONFORMANCE_SITE}", "ci/lab", "destroy"),
            ("ci/run", "ansible-playbook", "-i", CONFORMANCE_SITE, *(f"groundup.cloud.{name}" for name in CLUSTER)),
            ("env", f"SITE={CONFORMANCE_SITE}", *PYTEST, f"tests/e2e/{CONFORMANCE}"),
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
    wanted = parser.parse_args().tier or [tier.name for tier in TIERS if tier.by_default]
    outcomes = [run_tier(tier) for tier in TIERS if tier.name in wanted]
    print("\n=== summary ===")
    for outcome in outcomes:
        print(f"{outcome.name:<10} {outcome.verdict:<8} {outcome.seconds:7.0f}s")
        for note in outcome.notes:
            print(f"           {note}")
    counts = {verdict: sum(o.verdict == verdict for o in outcomes) for verdict in ("passed", "FAILED", "skipped")}
    print(f"{counts['passed']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

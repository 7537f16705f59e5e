"""What the table of tiers is written with: the commands of a tier, the sites they work on, what they need."""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from ansible_collections.groundup.cloud.ci import pace
from ansible_collections.groundup.cloud.ci.tier import ROOT, Tier

CHARTS = "GROUNDUP_OSH_CHARTS"
# Of this clone's tests, one run at a time: emptied by each tier that begins, as a killed one leaves gigabytes.
SCRATCH = Path(tempfile.gettempdir()) / f"groundup-{hashlib.sha256(bytes(ROOT)).hexdigest()[:8]}"
# It tells where the time goes.
PYTEST = ("ci/run", "pytest", "-q", "--durations=5", "--durations-min=5")
# More workers than cores, for tests that wait for ssh and daemons. A file is one worker's, which makes its Ceph and
# renders its charts once; in the order of files: those with few tests are not the quick ones.
WAITING = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
CLUSTER = ("supply", "metal", "host", "seed", "kubernetes")  # layers of a site up to its cluster

# CI ends a run after 90 minutes, and what was seen by then is lost; tiers of the background may be last. Elsewhere
# nothing is skipped.
CI_MINUTES = 80.0 if os.environ.get("CI") == "true" else None
# Of the default tiers with an empty cache on two cores, in their order: 2026-11-27. Not counted: background tiers.
MINUTES = {
    "lint": 1.3, "unit": 1.9, "docs": 0.3, "supply": 14.3, "integration": 10.3, "bench": 1.7, "molecule": 4.6,
    "lab": 1.2, "existing": 9.7, "machine": 13.7, "cloud": 27.9,
}  # fmt: skip

# OpenStack's own tests, for the Python of this machine's Debian.
TEMPEST = f"tempest-{platform.freedesktop_os_release().get('VERSION_ID', '')}"

CLOUD_SITE = "inventories/cloud/site.yml"
CONFORMANCE_SITE = "tests/e2e/conformance/site.yml"
LARGE_CLOUD_SITE = "tests/e2e/network/site.yml"  # three control hosts, three hypervisors
MACHINE_SITE = "tests/e2e/metal/site.yml"
OBJECTS_SITE = "tests/e2e/objects/site.yml"  # the whole cloud, and an object store
REAL_CHARTS_SITE = "tests/e2e/real/site.yml"
STORAGE_SITE = "tests/e2e/storage/site.yml"
TENANT_SITE = "tests/e2e/tenant/site.yml"  # names, shares and clusters
EYES_SITE = "tests/e2e/eyes/site.yml"  # with metrics and logs
THREE_CONTROL_HOSTS_SITE = "inventories/lab-ha/site.yml"

# They make and destroy hosts themselves, or want another lab: their tiers call them in their order.
NOT_IN_THE_LAB = {
    "lab_clean", "lab_gone", "lab_refused", "interruption", "prediction", "existing", "host_network", "conformance",
    "kernel", "metal", "metal_join", "metal_life", "cloud", "network_kept", "cloud_life", "cloud_faults", "real_cloud",
    "ha_cloud", "ha_faults", "dashboard", "storage", "storage_life", "volumes", "disks", "evacuate", "stacks",
    "balancer", "fresh", "modern", "patch", "drift", "names", "openstack_upgrade", "usage",
}  # fmt: skip
LAB_TESTS = sorted(
    path.stem.removeprefix("test_")
    for path in (ROOT / "tests/e2e").glob("test_*.py")
    if path.stem.removeprefix("test_") not in NOT_IN_THE_LAB
)

# The tiers `cloud` and `machine` converge, repeat and predict the same, with whole sites. The longest first.
LONG_SCENARIOS = ("kubernetes", "storage", "ironic", "hypervisor")
SCENARIOS = sorted(
    (path.parent.name for path in (ROOT / "molecule").glob("*/molecule.yml") if path.parent.name not in LONG_SCENARIOS),
    key=lambda name: (name != "rollout", name),  # it takes longest, and is not to run alone at the end
)


def needs_root() -> str | None:
    """Say why hosts cannot be made on this machine, or None."""
    if os.geteuid() != 0:
        return "making hosts needs root"
    if not Path("/etc/debian_version").exists():
        return "the build roots need a Debian machine"
    return None


def needs_pace() -> str | None:
    """Say why a whole cloud would not come up on this machine at present, or None."""
    return needs_root() or pace.too_slow()


def needs_charts() -> str | None:
    """Say why there is no cloud of OpenStack-Helm's charts, or None."""
    where = Path(os.environ.get(CHARTS, ""))
    if not os.environ.get(CHARTS) or not list(where.glob("nova-*.tgz")):
        return f"{CHARTS} names no directory with OpenStack-Helm's charts (docs/charts.md)"
    return needs_root()


def e2e(*names: str, options: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the command that runs tests/e2e/test_<name>.py, in this order, with pytest's ``options``."""
    return (*PYTEST, *options, *(f"tests/e2e/test_{name}.py" for name in names))


def playbooks(site: str, *layers: str) -> tuple[str, ...]:
    """Return the command that runs the playbooks of ``layers``."""
    return ("ci/run", "ansible-playbook", "-i", site, *(f"groundup.cloud.{name}" for name in layers))


def unchanged(site: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs playbooks again, and fails when they change something."""
    return ("ci/run", "python", "ci/unchanged.py", site, *arguments)


def lab_tier(
    name: str,
    site: str,
    *commands: tuple[str, ...],
    first: tuple[tuple[str, ...], ...] = (),
    needs: Callable[[], str | None] = needs_root,
    beside: str = "",
) -> Tier:
    """Return the tier of a lab of its own: ``first``, then ``commands`` after what an earlier run left is gone."""
    steps = (*first, ("ci/lab", "supply"), ("ci/lab", "destroy"), *commands)
    on_site = ("env", f"SITE={site}")
    return Tier(
        name=name,
        commands=tuple((*on_site, *step) for step in steps),
        needs=needs,
        always=(*on_site, "ci/lab", "destroy"),
        beside=beside,
        ahead=(*on_site, "ci/lab", "supply"),
    )


def scenarios(names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the commands that test molecule's scenarios."""
    return tuple(("ci/run", "molecule", "test", "-s", name) for name in names)

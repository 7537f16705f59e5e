"""The tiers of `make test-long`, in their order: what takes too long for CI."""

from __future__ import annotations

import os
from pathlib import Path

from ansible_collections.groundup.cloud.ci.tier import Tier
from ansible_collections.groundup.cloud.ci.tier_commands import (
    CHARTS,
    CLOUD_SITE,
    CLUSTER,
    CONFORMANCE_SITE,
    EYES_SITE,
    LARGE_CLOUD_SITE,
    LONG_SCENARIOS,
    OBJECTS_SITE,
    PYTEST,
    REAL_CHARTS_SITE,
    STORAGE_SITE,
    TEMPEST,
    TENANT_SITE,
    THREE_CONTROL_HOSTS_SITE,
    e2e,
    lab_tier,
    needs_charts,
    needs_root,
    playbooks,
    scenarios,
    unchanged,
)

METAL = tuple(
    f"tests/integration/metal/test_{name}.py"
    for name in ("bond", "discovery", "hostile_controllers", "ironic", "seed_backup", "storm", "way_out")
)

LONG_TIERS = (
    Tier(
        name="long",
        commands=(
            ("ci/lab", "supply"),
            ("ci/supply", "build", "plain", "packages", "hypervisor", "openstack-more", "root-provider", "monitoring"),
            ("ci/supply", "build", "former", TEMPEST),
            ("ci/bootstrap", "browser"),
            ("ci/lab", "destroy"),
            (*PYTEST, "-m", "long", "tests", *(f"--ignore={one}" for one in METAL)),  # they have a tier of their own
            ("ci/lab", "destroy"),
            ("ci/run", "python", "ci/bench/cluster.py"),
            ("ci/run", "python", "ci/bench/first_run.py"),
            ("ci/run", "python", "ci/bench/unchanged.py"),
        ),
        needs=needs_root,
        always=("ci/lab", "destroy"),
    ),
    Tier(
        name="scenarios",
        commands=(
            ("ci/lab", "supply"),
            ("ci/supply", "build", "packages", "hypervisor-13", "rootfs-storage-13"),
            *scenarios(LONG_SCENARIOS),
        ),
        needs=needs_root,
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
    ),
    Tier(
        name="fresh",  # where the lab is a newcomer's: no tier above ran on such a machine
        commands=(
            ("ci/bootstrap", "machine"),
            ("ci/lab", "supply"),
            ("ci/supply", "build", "fresh"),
            e2e("fresh", options=("-s", "-x")),
        ),
        needs=needs_root,
        always=("ci/run", "python", "tests/e2e/fresh.py"),
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
        e2e("rolling", options=("-s",)),  # before anything is lost; it prints what a prober saw
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
    ),
    lab_tier(
        "life",
        CLOUD_SITE,
        ("ci/lab", "up"),
        e2e("cloud_life", options=("-s",)),
        e2e("cloud_faults", options=("-s",)),
        e2e("modern"),
        e2e("patch", options=("-x",)),
        e2e("drift", "usage", options=("-s",)),
        e2e("disks", "evacuate", options=("-s",)),
        e2e("stacks", options=("-s",)),
        e2e("dashboard", options=("-x",)),
        ("env", f"SITE={OBJECTS_SITE}", "ci/lab", "up"),  # on the same lab
        ("env", f"SITE={OBJECTS_SITE}", *e2e("dashboard", options=("-x",))),  # with its page of containers
        ("env", f"SITE={OBJECTS_SITE}", *e2e("disks", options=("-s", "-k", "backup"))),
        ("env", f"SITE={OBJECTS_SITE}", *e2e("modern", options=("-k", "tpm"))),
        ("env", f"SITE={OBJECTS_SITE}", *e2e("balancer", options=("-s",))),
        ("ci/lab", "shell", "python", "ci/bench/volumes.py"),
        first=(("ci/bootstrap", "machine"), ("ci/bootstrap", "browser")),  # qemu-img, Chromium
    ),
    lab_tier(
        "tempest",  # OpenStack's own tests
        OBJECTS_SITE,
        ("ci/lab", "up"),
        *(
            (*playbooks(OBJECTS_SITE, "tempest"), "-e", f"tempest_suite={suite}")
            for suite in ("smoke", "api", "rbac", "scenario", "trend")
        ),
    ),
    lab_tier(
        "tenant",
        TENANT_SITE,
        ("ci/supply", "build", "test-name-server"),
        ("ci/lab", "up"),
        ("ci/lab", "unchanged"),
        e2e("names", options=("-s",)),
        e2e("modern", options=("-k", "tpm")),
        (*playbooks(TENANT_SITE, "tempest"), "-e", "tempest_suite=api", "-e", "tempest_regex=designate"),
    ),
    lab_tier(
        "release",  # another release of OpenStack, under a prober
        CLOUD_SITE,
        ("ci/supply", "build", "release-2026.2"),
        ("ci/lab", "up"),
        e2e("openstack_upgrade", options=("-s", "-x")),
    ),
    lab_tier(
        "upgrade",  # control hosts patched, then another version of Kubernetes, under a prober
        THREE_CONTROL_HOSTS_SITE,
        ("ci/supply", "build", "kube-apiserver-1.37"),  # and with it, all of Kubernetes' programs: a quarter of an hour
        ("ci/lab", "up"),
        e2e("patch_control", options=("-s",)),
        e2e("kubernetes_upgrade", options=("-s", "-x")),
    ),
    lab_tier(
        "kept",
        LARGE_CLOUD_SITE,
        ("ci/lab", "up"),
        e2e("network_kept", options=("-s",)),  # it prints what it measures
    ),
    lab_tier(
        "drill",  # etcd and every database lost and restored: it prints how long that takes, and what is lost
        LARGE_CLOUD_SITE,
        ("ci/lab", "up"),
        e2e("drill", options=("-s",)),
    ),
    lab_tier(
        "eyes",  # what breaks is told: metrics, alerts, panels, logs
        EYES_SITE,
        ("ci/supply", "build", "monitoring"),
        ("ci/lab", "up"),
        e2e("eyes", options=("-s",)),
    ),
    lab_tier(
        "rotation",  # every kind of secret, under a prober
        THREE_CONTROL_HOSTS_SITE,
        ("ci/lab", "up"),
        e2e("rotation", options=("-s",)),
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
    ),
)

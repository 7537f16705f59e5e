"""No secret of the site is in any release listing, object or file that is not for secrets.

What runs print and put into process lists is looked at in test_interruption: everything is made there.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.leaks import Leaks

ROOT = Path(__file__).resolve().parents[2]
# Everything the cluster tells about the workloads, but for Secrets.
KINDS = "configmaps,pods,services,deployments,statefulsets,daemonsets,jobs,events,persistentvolumeclaims"

pytestmark = pytest.mark.lab


def test_the_state_directory_holds_secrets_only_in_the_store_and_the_operators_own_files(
    stored: Mapping[str, str], state: Path
) -> None:
    # The volumes of lab hosts are theirs: what their users can read there is looked at from inside.
    leaks = Leaks(stored)
    assert leaks.look_through(state, but=["lab"]) > 0
    given = [state / "clouds.yaml", state / "openrc"]  # to the operator, who logs in with them
    assert leaks.seen == {(str(path), "keystone/admin") for path in given}
    assert {path.stat().st_mode & 0o777 for path in given} == {0o600}


def test_no_user_of_a_host_can_read_a_secret(leaks: Leaks, plan: Plan, state: Path) -> None:
    for name, host in plan.hosts.items():
        ssh = [
            *("ssh", "-i", f"{state}/ssh/id_ed25519", "-p", str(plan.access.port)),
            *("-o", "IdentitiesOnly=yes", "-o", f"UserKnownHostsFile={state}/ssh/known_hosts"),
            f"{plan.access.user}@{host.address}",
        ]
        leaks.look_on_host(ssh, name)
    assert leaks.seen == set()


@pytest.mark.parametrize(
    "command",
    [("helm", "list", "--all-namespaces", "--output", "json"), ("kubectl", "get", KINDS, "-A", "-o", "json")],
    ids=["releases", "objects"],
)
def test_what_the_cluster_lists_shows_no_secret(leaks: Leaks, command: tuple[str, ...]) -> None:
    listed = subprocess.run(
        [ROOT / "ci/lab", "shell", *command], cwd=ROOT, capture_output=True, check=True, timeout=120
    )
    leaks.look(" ".join(command[:2]), listed.stdout)
    assert leaks.seen == set()

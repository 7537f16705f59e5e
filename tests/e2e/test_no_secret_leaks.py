"""No secret of the site is in any release listing, object or file that is not for secrets.

What runs print and put into process lists is looked at in test_interruption: everything is made there.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import LOGS_URL
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.e2e.leaks import Leaks

ROOT = Path(__file__).resolve().parents[2]
# Everything the cluster tells about the workloads, but for Secrets.
KINDS = "configmaps,pods,services,deployments,statefulsets,daemonsets,jobs,events,persistentvolumeclaims"
# Files of some size below the places of data that an account without rights reads; /srv/groundup is served to all.
_READABLE = (
    "sudo setpriv --reuid=65534 --regid=65534 --clear-groups "
    "find /srv /var/lib -xdev -type f -size +16k -readable -not -path '/var/lib/dpkg/*' -not -path '/var/lib/apt/*' "
    "-not -path '/var/lib/groundup/*' -not -path '/var/lib/systemd/*' -not -path '/var/lib/ucf/*' "
    "-not -path '/var/lib/smartmontools/*' -not -path '/srv/groundup/*' "
    "-not -path '/var/lib/nova/.cache/*' 2>/dev/null || true"
)

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
    for name in plan.hosts:
        leaks.look_on_host(reached(plan, state, name), name)
    assert leaks.seen == set()


def test_no_account_of_a_host_reads_what_services_keep(plan: Plan, state: Path) -> None:
    """Databases, messages, disks and cached images of instances, logs: their secrets are users' own, nobody's list."""
    found = {name: subprocess.check_output([*reached(plan, state, name), _READABLE], text=True) for name in plan.hosts}
    assert {name: said.splitlines()[:5] for name, said in found.items() if said} == {}


def test_no_journal_of_a_host_shows_a_secret(leaks: Leaks, plan: Plan, state: Path) -> None:
    """Root and the group adm read it, and it is copied: Ansible writes each call of a module there."""
    for name in plan.hosts:
        command = [*reached(plan, state, name), "sudo journalctl --quiet --no-pager --output=cat"]
        said = subprocess.run(command, capture_output=True, check=True, timeout=300).stdout
        assert b"Invoked with" in said, f"{name}: no call of a module is in it, and nothing was looked at"
        leaks.look(f"{name}: journal", said)
    assert leaks.seen == set()


def test_no_line_of_a_log_shows_a_secret(leaks: Leaks, plan: Plan, state: Path) -> None:
    if not (plan.monitoring and plan.monitoring.logs):
        pytest.skip("the site keeps no logs")
    asks = ["curl", "-sf", f"{LOGS_URL}/select/logsql/query", "-d", "'query=*'"]
    query = [*reached(plan, state, plan.monitoring.host), *asks]
    with subprocess.Popen(query, stdout=subprocess.PIPE) as asked:
        assert asked.stdout is not None
        count = 0
        while lines := asked.stdout.readlines(2**20):
            leaks.look("the store of logs", b"".join(lines))
            count += len(lines)
    assert asked.returncode == 0
    assert count > 0
    assert leaks.seen == set()


def reached(plan: Plan, state: Path, name: str) -> list[str]:
    """Return the command that reaches host ``name``."""
    return [
        *("ssh", "-i", f"{state}/ssh/id_ed25519", "-p", str(plan.access.port)),
        *("-o", "IdentitiesOnly=yes", "-o", f"UserKnownHostsFile={state}/ssh/known_hosts"),
        f"{plan.access.user}@{plan.hosts[name].address}",
    ]


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

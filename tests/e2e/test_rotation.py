"""A backup is taken, and every kind of secret rotated, each once killed, while somebody asks: no request fails.

Needs a site with three control hosts (inventories/lab-ha), or inventories/cloud, where OpenStack's services alone are
asked while etcd and the only API restart. The prober logs in as Keystone's admin, so that password is rotated apart.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.mariadb import DatabaseAccounts, members
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.drilling import killed
from ansible_collections.groundup.cloud.tests.e2e.test_rolling import probed
from ansible_collections.groundup.cloud.tests.e2e.unavoidable import explained

pytestmark = [pytest.mark.lab, pytest.mark.long]
WANTED = 3000  # requests asked meanwhile, at least
WHOLE, RESTORED = 60.0, 20.0  # seconds of a backup with its restore test, and of that alone
# Where a run is killed: the new is valid beside the old; the new is the site's, and no pod has it.
BOTH, USE = "PLAY [Rotation, phase use]", "TASK [Restart the pods of releases with the new value]"


@contextmanager
def unnoticed(name: str, state: Path, *, servers: int) -> Iterator[None]:
    """Ask while the block runs, and until enough was asked; fail when a request failed. ``servers``: control hosts.

    With fewer than three the Kubernetes API may be away, and questions come more rarely: it is a small machine's lab.
    """
    begun = time.monotonic()
    every, least = (0.5, 240.0) if servers >= 3 else (2.0, 300.0)
    with probed(state, every=every) as figures:
        yield
        seconds = time.monotonic() - begun
        time.sleep(max(0.0, least - seconds))  # a quick one is asked about for as long as the others
    figures.pop("watch")
    asked = sum(lane["sent"] for lane in figures.values())
    print(json.dumps({name: {"seconds": round(seconds), "requests": asked}}), flush=True)
    faults = {
        lane: one
        for lane, one in figures.items()
        if not explained(lane, one, servers=servers, told=False) and not (servers < 3 and lane.startswith("kubernetes"))
    }
    assert faults == {}
    assert asked >= WANTED


def test_nobody_notices_a_backup(plan: Plan, state: Path, tmp_path: Path) -> None:
    """It and its restore test last no longer than a lab's may (issue 33); its directory is elsewhere."""
    with unnoticed("backup", state, servers=len(plan.edge.hosts)):
        started = time.monotonic()
        play("backup", backup_directory=str(tmp_path))
        whole = round(time.monotonic() - started, 1)
    (record,) = tmp_path.rglob("tested.json")
    tested = json.loads(record.read_text())
    print(json.dumps({"backup": whole, "its restore test": tested["seconds"]}), flush=True)
    assert {one["state"] for one in tested["parts"].values()} == {"ok"}
    assert whole <= WHOLE
    assert tested["seconds"] <= RESTORED


@pytest.fixture
def former(plan: Plan) -> Mapping[str, str]:
    """The store's content of before."""
    return dict(open_store(plan.site, write=False).items())


@pytest.mark.parametrize(
    ("what", "kills"),
    [
        ("database", [BOTH, USE]),
        ("messaging", [USE]),
        ("service-users", [USE]),
        ("administrators", [USE]),
        ("keystone-keys", []),
        ("store-password", []),
        ("certificates", []),
        ("encryption-key", [BOTH]),
    ],
)
def test_nobody_notices_a_rotation(
    what: str, kills: list[str], plan: Plan, state: Path, former: Mapping[str, str]
) -> None:
    if what in {"service-users", "messaging"} and "nova" not in plan.openstack.services:
        pytest.skip("Keystone alone has no user of a service, and no account of the queue")
    asked: dict[str, Any] = {"rotate_what": what}
    if what == "administrators":
        asked["rotate_only"] = ["mariadb", "rabbitmq"]
    with unnoticed(f"rotation of {what}", state, servers=len(plan.edge.hosts)):
        for kill in kills:
            killed("rotate", at=kill, **asked)
            assert "rotation-open" in play("rotate", "--tags", "verify", code=2, **asked)
        play("rotate", **asked)
    play("rotate", "--tags", "verify", **asked)
    if what == "database":
        accounts = DatabaseAccounts(members(Api(state / "kubeconfig"), plan.openstack.namespace))
        assert accounts.refuses("keystone", former["keystone/db"])
        assert accounts.accepts("keystone", open_store(plan.site, write=False).get("keystone/db"))


@pytest.mark.parametrize("phase", ["both", "use", "drop"])
def test_nobody_notices_a_phase_of_the_ca(phase: str, plan: Plan, state: Path) -> None:
    """Whoever asks is given the new file between two phases, as people outside are. A lab may be rotated once more."""
    asked: dict[str, Any] = {"rotate_what": "ca", "rotate_force": ["again"]}
    with unnoticed(f"rotation of ca, {phase}", state, servers=len(plan.edge.hosts)):
        play("rotate", **asked)
    if phase == "drop":
        play("rotate", "--tags", "verify", rotate_what="ca")


def test_the_administrator_logs_in_with_the_new_password(plan: Plan, former: Mapping[str, str]) -> None:
    play("rotate", rotate_what="administrators", rotate_only=["keystone"])
    assert open_store(plan.site, write=False).get("keystone/admin") != former["keystone/admin"]
    play("openstack", "--tags", "verify")

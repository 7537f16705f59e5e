"""A cloud on machines that somebody else installed: guests on plain hypervisors of Debian 12 and 13."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.tests.e2e.operating import Operator
from ansible_collections.groundup.cloud.tests.e2e.plain import CLOUD

pytestmark = [pytest.mark.long, pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")]

SITE = Path(__file__).parent / "hypervisors/site.yml"
MACHINES = dict(zip(("control-1", "hypervisor-1", "hypervisor-2"), CLOUD.machines, strict=True))


@pytest.fixture(scope="module")
def operator() -> Iterator[Operator]:
    """Three machines, fresh from the installer."""
    CLOUD.install()
    yield Operator(CLOUD, yaml.safe_load(SITE.read_text()), MACHINES)
    CLOUD.destroy()


def test_one_run_leads_from_plain_machines_to_a_cloud_with_hypervisors_of_both_releases(operator: Operator) -> None:
    operator.play()  # it ends with an instance that answered, and before it each new hypervisor had one
    for name in ("hypervisor-1", "hypervisor-2"):
        current = operator.rack.run(MACHINES[name], "readlink", "/opt/groundup/openstack/current")
        assert current.startswith("2026.1-")


@pytest.mark.parametrize("host", ["hypervisor-1", "hypervisor-2"])
def test_an_instance_answers_on_each(operator: Operator, host: str) -> None:
    options = json.dumps({"site_file": str(operator.site), "host": host})
    operator.run("ci/run", "ansible", "localhost", "-m", "groundup.cloud.tenant_smoke", "-a", options)


def test_another_run_changes_nothing(operator: Operator) -> None:
    operator.run("ci/lab", "unchanged")

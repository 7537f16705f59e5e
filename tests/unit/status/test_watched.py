"""What status says of monitoring: as bad as verification, and of no host that has a row of its own."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.status import hosts
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

from .test_hosts import Said, answer


@pytest.mark.parametrize(
    ("silent", "unjudged", "state", "what"),
    [
        ([], "", "ok", "monitoring"),
        (["node of hypervisor-1"], "", "broken", "targets that do not answer: node of hypervisor-1"),
        ([], "no route", "broken", "alerts do not arrive: no route"),
        (["ceph of storage-1"], "no route", "broken", "targets that do not answer: ceph of storage-1"),
        (["node of control-2", "node of control-3"], "", "ok", "monitoring"),
    ],
)
def test_monitoring_is_as_bad_as_its_verification_says(silent: list[str], unjudged: str, state: str, what: str) -> None:
    plan = planned("ha")
    found = answer(monitoring={"state": "ok", "why": "", "silent": silent, "unjudged": unjudged})
    said: dict[str, Said] = {
        "seed-1": found,
        "hypervisor-1": answer(),
        "control-2": {"fault": "unreachable"},
        "control-3": {"not_there": "yet"},
    }
    row = hosts.host_rows(plan, said)[0]
    assert row.state == state
    assert what in row.what

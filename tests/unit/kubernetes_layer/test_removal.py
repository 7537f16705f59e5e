"""Which removals are refused, and which consent accepts one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.removal import Leaving, Volume, reasons, refuse

WORKER = Leaving(
    name="worker-1", found=True, ready=True, control=False, address="10.0.0.1", others=("worker-2",),
    control_left=("control-1",), pods=("openstack/web",), bare=(), volumes=(),
)  # fmt: skip
CONTROL = replace(WORKER, name="control-1", control=True, pods=())


def test_nothing_stands_against_a_worker_with_room_elsewhere() -> None:
    assert reasons(WORKER) == []


def test_the_last_control_host_is_never_removed() -> None:
    with pytest.raises(GroundupError, match="the only control host"):
        refuse(replace(CONTROL, control_left=()), ["control-count"])


@pytest.mark.parametrize(
    ("left", "codes"), [(1, ["control-count"]), (2, ["control-count"]), (3, []), (4, ["control-count"]), (5, [])]
)
def test_an_even_or_too_small_number_of_control_hosts_needs_consent(left: int, codes: list[str]) -> None:
    leaving = replace(CONTROL, control_left=tuple(f"control-{number}" for number in range(2, 2 + left)))
    assert [reason.code for reason in reasons(leaving)] == codes
    refuse(leaving, codes)
    if codes:
        with pytest.raises(GroundupError, match="control host"):
            refuse(leaving, [])


def test_what_is_lost_with_the_host_is_named() -> None:
    leaving = replace(
        WORKER, volumes=(Volume(name="pv", namespace="openstack", claim="mysql-data-0"),), others=(), bare=("a/b",)
    )
    assert [reason.code for reason in reasons(leaving)] == ["local-volumes", "bare-pods", "last-node"]
    with pytest.raises(GroundupError, match="openstack/mysql-data-0") as caught:
        refuse(leaving, ["bare-pods", "last-node"])
    assert '{"remove_force": [local-volumes]}' in caught.value.remedy

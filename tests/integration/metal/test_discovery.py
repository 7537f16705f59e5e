"""A machine that nobody knows boots from the network and tells the seed what it is: on a cable of its own, really."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import MAC, Loopback, loopback

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root"),
    pytest.mark.long,
]


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    with loopback(tmp_path_factory.mktemp("discovery")) as found:
        yield found


def test_an_unknown_machine_boots_from_the_network_and_is_discovered_with_its_inventory(seed: Loopback) -> None:
    ironic = seed.ironic()
    assert seed.inside(ironic.discovered) == []
    seed.machine.switch_on(inside=seed.host.argv(outside=True))
    told: dict[str, Any] = {}

    def silent() -> str:
        for node in seed.inside(ironic.discovered):
            found: dict[str, Any] | None = seed.inside(partial(ironic.inventory, node["uuid"]))
            told.update(found or {})
        return "" if told else "nothing was told"

    assert not (left := wait_until(silent, timeout=900, pause=2)), left
    assert [one["mac_address"] for one in told["inventory"]["interfaces"]] == [MAC]
    assert told["inventory"]["boot"]["pxe_interface"] == MAC
    assert [disk["name"] for disk in told["plugin_data"]["groundup_disks"]] == ["vda"]
    assert not told["plugin_data"]["groundup_disks"][0]["pttype"], "an empty disk"

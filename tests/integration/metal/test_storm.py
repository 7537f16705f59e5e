"""A hall is switched on: 300 machines that nobody knows tell the seed of themselves at once; each is listed once."""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import BusyError, Ironic
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.discovery import MachineDiscovery
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.overview import Overview
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.integration.metal import ironic as seed
from ansible_collections.groundup.cloud.tests.integration.metal.fake_site import metal_of
from ansible_collections.groundup.cloud.tests.integration.metal.inside import Inside, site
from ansible_collections.groundup.cloud.tests.integration.metal.stranger import From
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import told

__all__ = ["site"]
pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root"), pytest.mark.long]
MACHINES, TWICE = 300, 30  # so many; so many of them tell it a second time at the same moment
PATIENCE = 900.0  # seconds


def machine(number: int) -> dict[str, Any]:
    """Return what the ramdisk of a machine says, with MAC addresses of its own."""
    found = told(number)
    for port, nic in enumerate(found["inventory"]["interfaces"]):
        nic["mac_address"] = f"52:54:0{4 + port}:00:{number >> 8:02x}:{number & 255:02x}"
    found["inventory"]["boot"]["pxe_interface"] = found["inventory"]["interfaces"][0]["mac_address"]
    return {"inventory": found["inventory"], **found["plugin_data"]}


def tell(url: str, address: str, body: dict[str, Any]) -> list[int]:
    """Tell the seed of a machine as its ramdisk does: again while it is busy. Return each answer's status, 0: none."""
    answers: list[int] = []
    session = requests.Session()
    session.trust_env = False
    session.mount("https://", From(address))
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            headers = {"X-OpenStack-Ironic-API-Version": "1.84"}
            answer = session.post(url, json=body, headers=headers, verify=False, timeout=120)  # as agents
            answers.append(answer.status_code)
        except requests.RequestException:
            answers.append(0)
        if answers[-1] in (202, 404):
            break
        time.sleep(1)
    return answers


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_a_hall_of_unknown_machines_is_listed_and_none_of_them_twice(site: tuple[Plan, Inside]) -> None:
    plan, inside = site
    metal = metal_of(plan)
    url = f"{metal.api_url}/v1/continue_inspection"
    bodies = [machine(number) for number in (*range(1, MACHINES + 1), *range(1, TWICE + 1))]

    def all_at_once() -> list[list[int]]:
        with ThreadPoolExecutor(len(bodies)) as pool:
            return list(
                pool.map(lambda number: tell(url, f"10.0.2.{3 + number % 250}", bodies[number]), range(len(bodies)))
            )

    began = time.monotonic()
    answers = inside(all_at_once)
    told_in = time.monotonic() - began
    last = Counter(one[-1] for one in answers)
    assert set(last) <= {202, 404}, last
    assert all(202 in one or 404 in one for one in answers)
    ca = state_dir(plan.site) / "ca.crt"
    ironic = inside(lambda: Ironic(api=metal.api_url, media=metal.media_url, password=seed.PASSWORD, ca=ca))

    def listed() -> int:
        discovered = MachineDiscovery(
            ironic=ironic, plan=plan, home=home_of(plan.site), say=lambda _line: None, seconds=0,
            password=lambda _name: "",
        )  # fmt: skip
        end, found = time.monotonic() + PATIENCE, 0
        while found < MACHINES and time.monotonic() < end:
            try:
                found = len(discovered.look())
            except BusyError:
                found = 0
            time.sleep(2)
        return found

    assert inside(listed) == MACHINES
    nodes = len(inside(ironic.discovered))
    rows = [row for row in Overview(plan, home_of(plan.site)).rows() if not row.provisioner]
    assert len({row.machine for row in rows}) == len(rows) == MACHINES, "none twice in the table"
    assert {row.state for row in rows} == {"quarantined"}, "none is written to"
    more = sum(len(one) - 1 for one in answers)
    print(
        f"{MACHINES} machines, {TWICE} of them twice: told in {told_in:.0f} s, {more} told again; {dict(last)}; "
        f"{nodes} nodes in Ironic"
    )

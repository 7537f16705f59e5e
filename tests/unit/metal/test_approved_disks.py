"""What an approval is of: a machine, and what was on its disks."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.match import judge, match
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.sighting import read
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import USED, told


@pytest.mark.parametrize(
    ("now", "asked"),
    [
        ([USED], ""),
        ([{**USED, "children": []}], r"not as they were approved.*again: .*gpt with 0.*approved was: .*ntfs"),
        ([{**USED, "children": [{**USED["children"][0], "uuid": "another"}]}], "not as they were approved"),
        ([{"name": "vda", "type": "disk"}], ""),
        ([], "nobody told what is on it"),
    ],
    ids=["the same", "another system", "another of the same kind", "emptied", "untold"],
)
def test_an_approval_is_of_what_was_on_the_disks_and_not_of_what_is_there_later(
    site: Any, now: list[Any], asked: str
) -> None:
    plan, used = site(), told(1, groundup_disks=[USED])
    extra = read({"uuid": "n"}, used).approval("found-1")
    assert json.loads(json.dumps(extra)) == extra, "Ironic keeps it"
    later = read({"uuid": "n", "extra": extra}, told(1, groundup_disks=now))
    verdict = match(plan, [plan.hosts["found-1"]], [later], {})["n"]
    for card in (verdict.card, judge(plan, plan.hosts["found-1"], later)):
        assert bool(card) == bool(asked)
        assert re.search(asked, card.what if card else ""), card
    assert verdict.state == ("matched" if asked else "approved")


def test_a_disk_is_known_by_its_serial_number_whatever_its_name_is_at_the_next_boot(site: Any) -> None:
    def named(first: str, second: str) -> dict[str, Any]:
        disks = [
            {"name": f"/dev/{name}", "size": 12 * 2**30, "serial": f"D{n}"} for n, name in enumerate((first, second))
        ]
        content = {**USED, "name": first, "children": [{**USED["children"][0], "name": f"{first}1"}]}
        return told(1, inventory={"disks": disks}, groundup_disks=[content, {"name": second, "type": "disk"}])

    extra = read({"uuid": "n"}, named("vda", "vdb")).approval("found-1")
    plan = site()
    assert not judge(plan, plan.hosts["found-1"], read({"uuid": "n", "extra": extra}, named("vdb", "vda")))


def test_an_approval_of_before_without_what_it_was_of_is_asked_for_again(site: Any) -> None:
    plan, extra = site(), {"groundup_approved": "found-1"}
    card = judge(plan, plan.hosts["found-1"], read({"uuid": "n", "extra": extra}, told(1, groundup_disks=[USED])))
    assert card
    assert card.what.startswith("its disks are in use and it waits for approval: vda: gpt")

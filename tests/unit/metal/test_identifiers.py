"""What tells machines apart at all: serial numbers and MAC addresses as firmware writes them."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.identifiers import is_filler, mac
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.controller import parse
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.sighting import read
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import seen, told

FILLERS = """MB-1234567890|BSN12345678901234567|Type2 - Board Serial Number|A1B2C3D4|____|Not Specified|?|System Name
00020003-0004-0005-0006-000700080009|xxxxxxxx|To Be Filled By O.E.M.|System Serial Number|None|123456789|0000000000
NA|N/A|1|none|XXXXXXXX|........|0123456789|9876543210|123456789012|12121212|00000001|Serial0
SN0000|System-1234567|O.E.M.|ABC123456|1234567890ABCDE|FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF|INVALID|Default string
03000200-0400-0500-0006-000700080009|Chassis Serial Number|$SN$|Unknown1|To be filled by O.E.M. 1|042"""


@pytest.mark.parametrize("said", FILLERS.replace("\n", "|").split("|"))
def test_a_filler_is_no_serial_number(said: str) -> None:
    assert is_filler(said)
    assert seen(1, serial=said).serial == ""


@pytest.mark.parametrize(
    "said",
    [
        "S1",
        "A1",
        "S0000001",
        "s000000001",
        "CNIVC0012345678",
        "7XKJ3Z2",
        "4C4C4544",
        "CN7475141A0123",
        "90000123",
        "SAME1",
    ],
)
def test_a_serial_number_is_one(said: str) -> None:
    assert seen(1, serial=said).serial == said


@pytest.mark.parametrize(
    "said",
    ["52-54-00-00-00-0A", "5254.0000.000a", "52540000000A", "52:54:0:0:0:a",
     "01-52-54-00-00-00-0a", "52:54:00:00:00:0A "],
)  # fmt: skip
def test_a_mac_address_is_one_in_every_notation(said: str) -> None:
    assert mac(said) == "52:54:00:00:00:0a"
    assert parse({"serial": "", "macs": [said, "none"]}).macs == {"52:54:00:00:00:0a"}
    interfaces = [{"name": "ens1", "mac_address": said, "has_carrier": True}]
    assert read({"uuid": "n"}, told(1, inventory={"interfaces": interfaces})).macs == {"52:54:00:00:00:0a"}

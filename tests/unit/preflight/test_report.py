"""The table over all hosts: one line a fault, worst first, with its hosts and its remedy."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.preflight_report import (
    lines,
    spared,
    summary,
    table,
)

SWAP = {
    "check": "swap", "severity": "error", "what": "swap is on", "where": "/dev/sda2", "remedy": "turn it off",
}  # fmt: skip
SMALL = {
    "check": "hardware", "severity": "warning", "what": "2 of the 4 cores of small", "where": "/proc/cpuinfo",
    "remedy": "use a larger machine",
}  # fmt: skip


def result(number: int, *faults: dict[str, str], **facts: Any) -> dict[str, Any]:
    """Return what the module says of host ``number``."""
    own: dict[str, Any] = {
        "machine_id": f"{number:032x}",
        "hostname": f"worker-{number}",
        "macs": [f"52:54:00:00:00:{number:02x}"],
    }
    own |= {"serves": False}
    return {"faults": list(faults), "facts": own | facts}


def test_hosts_with_the_same_fault_share_a_line_and_errors_come_first() -> None:
    found = lines(
        {
            "worker-1": result(1, SMALL, SWAP),
            "worker-2": result(2, SMALL, SWAP | {"where": "/dev/vda3"}),
            "worker-3": result(3, SMALL),
        }
    )
    assert [(one.severity, one.check, list(one.hosts)) for one in found] == [
        ("error", "swap", ["worker-1", "worker-2"]),
        ("warning", "hardware", ["worker-1", "worker-2", "worker-3"]),
    ]
    text = table(found, hosts=4)
    assert "worker-1: /dev/sda2" in text
    assert "worker-2: /dev/vda3" in text
    assert text.count("/proc/cpuinfo") == 1
    assert text.index("ERROR") < text.index("WARNING")
    assert "-> turn it off" in text
    assert "4 hosts: 2 with errors, 1 with warnings, 1 without a fault" in text


def test_a_fault_of_a_thousand_hosts_is_one_short_line() -> None:
    found = lines({f"worker-{n}": result(n, SWAP | {"where": f"/dev/sd{n}"}) for n in range(1000)})
    text = table(found, hosts=1000)
    assert len(found) == 1
    assert "and 992 more" in " ".join(text.split())
    assert "and on 997 more hosts" in text
    assert max(map(len, text.splitlines())) <= 132


def test_good_hosts_are_counted() -> None:
    assert lines({"worker-1": result(1)}) == []
    assert summary([], hosts=1) == "1 host: 1 without a fault"


def test_a_host_that_cannot_be_reached_is_a_line_with_what_ssh_said() -> None:
    contact = {
        "fault": {
            "kind": "denied", "what": "worker-1 refuses every login", "where": "10.0.0.4, port 22; root: denied",
            "why": "", "remedy": "ssh-add your key",
        }
    }  # fmt: skip
    found = {"worker-1": {"contact": contact}}
    (line,) = lines(found)
    assert (line.severity, line.what, line.remedy) == ("error", "refuses every login", "ssh-add your key")
    assert line.hosts == {"worker-1": "10.0.0.4, port 22; root: denied"}
    assert [one.severity for one in lines(found, predicts=True)] == ["warning"], "later layers pass over it"


def test_a_host_whose_module_died_is_an_error_and_never_forgotten() -> None:
    (line,) = lines({"worker-1": {"failed": True, "msg": "MODULE FAILURE"}})
    assert (line.severity, line.what, line.hosts) == ("error", "could not be examined", {"worker-1": "MODULE FAILURE"})
    assert lines({"worker-1": {}})[0].severity == "error"


def test_two_names_of_one_machine_are_told_from_two_machines_of_one_identity() -> None:
    same, mac = {"machine_id": "ab" * 16}, {"macs": ["52:54:00:00:00:01"]}
    (one,) = lines({"worker-1": result(1, **same, **mac), "worker-2": result(2, **same, **mac)})
    assert (one.severity, one.what) == ("error", "several names lead to one machine")
    assert "addresses" in one.remedy
    (two,) = lines({"worker-1": result(1, **same), "worker-2": result(2, **same)})
    assert (two.severity, two.what) == ("error", "several machines have one machine-id")
    assert "systemd-machine-id-setup" in two.remedy


@pytest.mark.parametrize("usb", ["be:3a:f2:b6:05:9f", "3c:ec:ef:99:99:99", "00:00:00:00:00:00"])
def test_a_mac_address_that_machines_of_a_model_share_does_not_make_them_one(usb: str) -> None:
    same = {"machine_id": "ab" * 16}
    found = {f"worker-{n}": result(n, **same, macs=sorted([f"52:54:00:00:00:0{n}", usb])) for n in (1, 2)}
    assert [one.what for one in lines(found)] == ["several machines have one machine-id"]


def test_a_name_on_two_machines_or_on_the_wrong_one_is_a_warning() -> None:
    found = lines({"worker-1": result(1, hostname="x"), "worker-2": result(2, hostname="x")})
    assert [(one.severity, one.what) for one in found] == [("warning", "several machines call themselves x")]
    found = lines({"worker-1": result(1, hostname="worker-2"), "worker-2": result(2, hostname="")})
    assert [(one.severity, list(one.hosts)) for one in found] == [("warning", ["worker-1"])]
    installer = {"hostname": "debian"}
    assert lines({"worker-1": result(1, **installer), "worker-2": result(2, **installer)}) == []


def test_a_worker_that_serves_is_spared_and_a_new_or_needed_host_is_not() -> None:
    serving = {
        "worker-1": result(1, SWAP, SMALL, serves=True),
        "worker-2": {"failed": True, "msg": "MODULE FAILURE", "contact": {"placed": True}},
        "worker-3": result(3, SMALL),
    }
    away = spared(lines(serving), serving, ["worker-1", "worker-2"])
    assert sorted((one.host, one.reason, one.remedy) for one in away) == [
        ("worker-1", "swap is on (/dev/sda2)", "turn it off"),
        ("worker-2", "could not be examined (MODULE FAILURE)", "see the error above; -vvv shows all of it"),
    ]
    assert spared(lines(serving), serving, ["worker-2"]) == [], "a control host"
    new = serving | {"worker-3": result(3, SWAP)}
    assert spared(lines(new), new, list(new)) == []
    unknown = serving | {"worker-3": {"contact": {"placed": False, "fault": {"what": "", "where": "", "remedy": ""}}}}
    assert spared(lines(unknown), unknown, list(unknown)) == []
    away = spared(lines(unknown), unknown, list(unknown), nodes=["worker-3"])
    assert {one.host for one in away} == set(unknown), "a node of the cluster serves, though nobody can log in"
    assert spared(lines(unknown), unknown, ["worker-1", "worker-2"], nodes=list(unknown)) == [], "a control host"
    one = {name: result(1, serves=True) for name in ("worker-1", "worker-2")}
    assert spared(lines(one), one, list(one)) == [], "nobody knows which of them it is"


def wire(*ends: int) -> dict[str, Any]:
    """Return the fault of a host that gets no whole packet to hosts of these numbers."""
    return {"check": "mtu", "severity": "error", "what": "packets are lost", "where": "", "remedy": "raise the MTU"} | {
        "peers": {f"10.0.0.{end}": "no answer" for end in ends}
    }


def test_a_bad_wire_is_named_by_both_ends_and_by_the_host_that_several_do_not_reach() -> None:
    def said(wires: dict[int, tuple[int, ...]]) -> str:
        found = {
            f"worker-{n}": result(n, *[wire(*ends)] * bool(ends), addresses=[f"10.0.0.{n}"])
            for n, ends in wires.items()
        }
        return " ".join(table(lines(found), hosts=len(found)).split())

    two = said({1: (2,), 2: (1,)})
    assert "worker-1: worker-2 (10.0.0.2): no answer" in two
    assert "worker-2: worker-1 (10.0.0.1): no answer" in two
    assert "either end may be the bad one" in two
    third = said({1: (3,), 2: (3,), 3: (1, 2), 4: ()})
    assert "look first at worker-3: 2 others do not reach it" in third
    assert "either end" not in third
    racks = said({1: (3, 4), 2: (3, 4), 3: (1, 2), 4: (1, 2)})
    assert "either end may be the bad one, or what is between them" in racks
    assert "10.0.0.9 (10.0.0.9)" in said({1: (9,), 2: ()}), "a host that nobody could log in to"


def test_what_a_host_calls_itself_does_not_reach_the_terminal_as_it_is() -> None:
    evil = SWAP | {"what": "Debian \x1b[2J is not supported", "where": "\u202egnp.exe\r"}
    found = lines({"worker-1": result(1, evil, serves=True), "worker-2": result(2)})
    (away,) = spared(found, {"worker-1": result(1, serves=True)}, ["worker-1"])
    for said in (table(found, hosts=2), away.reason):
        assert "\\x1b[2J" in said
        assert "\\u202egnp.exe" in said
        assert all(character.isprintable() or character == "\n" for character in said)


def test_a_virtual_ip_of_users_that_another_machine_answers_for_stops_a_run() -> None:
    taken = {"public_ip": "52:54:00:99:99:99"}
    (found,) = lines({"control-1": result(1, **taken, ours=True), "control-2": result(2, ours=True)})
    assert found.what == "another machine answers for the site's virtual IP for users"
    assert "edge.public" in found.remedy
    held = {"control-1": result(1, **taken, ours=True), "control-2": result(2, ours=True, holds_public_ip=True)}
    assert lines(held) == []


def test_a_virtual_ip_that_another_machine_answers_for_stops_a_run() -> None:
    taken = {"virtual_ip": "52:54:00:99:99:99"}
    (found,) = lines({"worker-1": result(1, **taken), "worker-2": result(2)})
    assert (found.severity, found.hosts) == ("error", {"worker-1": "answer from 52:54:00:99:99:99"})
    assert "edge.address" in found.remedy
    ours = {"worker-1": result(1, **taken, ours=True), "worker-2": result(2, ours=True)}
    (found,) = lines(ours)
    assert found.what == "another machine answers for the site's virtual IP"
    own = {"virtual_ip": result(2)["facts"]["macs"][0]}
    for said, why in (
        ({**ours, "worker-2": result(2, ours=True, holds_virtual_ip=True)}, "a host of the site holds it"),
        ({**ours, "worker-1": result(1, **own, ours=True)}, "it is that of a host of the site"),
    ):
        assert lines(said) == [], why
    assert all(line.check != "names" for line in lines({**ours, "worker-3": {"msg": "x"}})), "worker-3 may hold it"

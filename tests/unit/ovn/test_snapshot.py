"""What `ovsdb-client backup` prints, read without any program of Open vSwitch."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import snapshot

EMPTY = {"Logical_Switch": 0, "Logical_Router": 0, "Logical_Switch_Port": 0}


def record(content: dict[str, Any]) -> bytes:
    """Return one record as Open vSwitch's log.c writes it: the checksum is that of the line with its end."""
    body = json.dumps(content).encode() + b"\n"
    return b"OVSDB JSON %d %s\n" % (len(body), hashlib.sha1(body, usedforsecurity=False).hexdigest().encode()) + body


def dump(*switches: str, version: str = "7.11.0", name: str = "OVN_Northbound") -> bytes:
    """Return what `ovsdb-client backup` prints of a database with these switches."""
    rows = {f"uuid-{one}": {"name": one, "external_ids": ["map", []]} for one in switches}
    schema = {"name": name, "version": version, "tables": {"Logical_Switch": {}}}
    return record(schema) + record({"_date": 1, "_comment": "backup", "Logical_Switch": rows})


def test_a_snapshot_says_database_schema_and_names() -> None:
    found = snapshot.parse(dump("neutron-a", "neutron-b"), where="here")
    assert (found.database, found.version) == ("OVN_Northbound", "7.11.0")
    assert found.names["Logical_Switch"] == {"neutron-a", "neutron-b"}
    assert found.counts == {**EMPTY, "Logical_Switch": 2}


def test_rows_that_later_records_remove_are_gone() -> None:
    later = record({"Logical_Switch": {"uuid-a": None, "uuid-b": {"external_ids": ["map", []]}}})
    assert snapshot.parse(dump("a", "b") + later, where="here").names["Logical_Switch"] == {"b"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no schema"),
        (dump("a")[:-9], "not what was written"),
        (dump("aaaa").replace(b"aaaa", b"aaab"), "not what was written"),
        (record({"name": "OVN_Northbound", "tables": {}}), "or no rows"),
        (dump("a") + b"OVSDB CLUSTER 1", "no record begins"),
    ],
)  # fmt: skip
def test_a_snapshot_with_another_byte_or_without_its_end_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(GroundupError, match=said):
        snapshot.parse(data, where="here")


def test_versions_are_numbers() -> None:
    assert snapshot.newer("7.11.0", "7.9.5")
    assert not snapshot.newer("7.9.5", "7.9.5")

"""How a restored cloud differs from what is there."""

from __future__ import annotations

from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import compare


def test_instances_without_rows_rows_without_instances_and_allocations_are_named() -> None:
    rows = {"a": "hv-1", "b": "hv-1", "c": "hv-2", "d": "", "e": "hv-3"}
    assert list(compare.instances(rows, {"hv-1": ["a", "x"], "hv-2": ["b"]})) == [
        "hv-1 has the instance x, which is in no database (made since the backup): it runs on",
        "hv-2 has the instance b, which Nova has on hv-1",
        "Nova has the instance c on hv-2, which has it not (deleted or moved since the backup)",
    ]
    assert list(compare.placement(rows, {"hv-1": ["a", "b", "x"], "hv-2": ["c"]})) == [
        "Placement allots hv-1 to x, which is no instance (nova-manage placement audit)",
        "Placement has nothing of the instance e on hv-3 (nova-manage placement heal_allocations)",
    ]


def test_what_neutron_says_of_a_cloud_that_agrees_is_no_difference() -> None:
    head = "2026-11-28 16:28:40.1 7 WARNING neutron.db.ovn_db_sync [req-1 - - - - -] "
    same = ("Could not load neutron.cmd.ovn.neutron_ovn_db_sync_util.Ml2Plugin",
            "Host hypervisor-1 found both in OVN SB DB and Neutron. Trigger updating it")  # fmt: skip
    other = "Port found in OVN but not in Neutron, port_id=b2"
    assert compare.differences_of_networks("\n".join(head + line for line in (*same, other))) == [other]

"""Erase and reprovision: etcd and OVN are asked on the other control hosts; no word is a refusal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs import quorums
from ansible_collections.groundup.cloud.plugins.plugin_utils.verbs.erase import refuse_member

from .test_erase import WANTED, nodes, plan

__all__ = ["nodes", "plan"]  # fixtures
CONTROL = replace(WANTED, name="control-3")
FREE = {"item": "control-1", "changes": [], "speaks": ["nb", "sb"]}
MEMBER = {**FREE, "changes": ["remove the member of OVN_Northbound on control-3"]}
EMPTY = {"item": "control-2", "changes": [], "speaks": []}  # a host without data
LOST = {"item": "control-2", "failed": True, "msg": "OVN_Northbound cannot do without control-3", "changes": []}
AWAY = {"item": "control-2", "unreachable": True, "msg": "no route"}


def accepting(*codes: str) -> Any:
    return replace(CONTROL, force=frozenset({"disks", *codes}))


def test_a_member_of_etcd_is_removed_first_though_it_is_no_node_any_more(plan: Plan) -> None:
    seen = {"etcd": [AWAY, {"item": "control-1", "changes": ["remove the etcd member of control-3"]}], "ovn": [FREE]}
    with pytest.raises(GroundupError, match="control-3 is a member of etcd") as refused:
        refuse_member(plan, accepting("cluster-silent"), seen)
    assert "remove" in refused.value.remedy


@pytest.mark.parametrize(
    ("said", "recorded", "code"),
    [
        ([LOST], False, "ovn-silent"), ([LOST, AWAY], False, "ovn-silent"), ([AWAY], True, "ovn-silent"),
        ([], True, "ovn-silent"),
        # No cluster on record and nobody there: the consent that etcd's silence takes is enough.
        ([AWAY], False, "cluster-silent"), ([], False, "cluster-silent"),
    ],
)  # fmt: skip
def test_without_a_word_of_ovn_it_is_refused_by_name_until_that_is_accepted(
    plan: Plan, said: list[dict[str, Any]], recorded: bool, code: str, tmp_path: Path
) -> None:
    if recorded:
        (tmp_path / plan.site).mkdir()
        (tmp_path / plan.site / "ovn.json").write_text(json.dumps({"nb": "cid"}))
    seen = {"etcd": [FREE], "ovn": said}
    with pytest.raises(GroundupError, match="OVN does not say whether it uses control-3") as refused:
        refuse_member(plan, CONTROL, seen)
    assert all(one["msg"] in refused.value.what for one in said)
    assert code in refused.value.remedy
    refuse_member(plan, accepting(code), seen)


def test_without_a_word_of_etcd_it_is_refused(plan: Plan) -> None:
    with pytest.raises(GroundupError, match="etcd does not say whether it uses control-3"):
        refuse_member(plan, CONTROL, {"etcd": [LOST, AWAY], "ovn": [FREE]})


def test_a_member_that_ovn_can_spare_leaves_it_by_the_host_that_said_so(plan: Plan) -> None:
    refuse_member(plan, CONTROL, {"etcd": [FREE], "ovn": [LOST, MEMBER]})
    found = quorums.of_ovn([LOST, EMPTY, MEMBER], recorded=True)
    assert (found.contact, found.changes) == ("control-1", tuple(MEMBER["changes"]))


def test_hosts_without_data_speak_for_nobody_where_there_is_a_cluster(plan: Plan, tmp_path: Path) -> None:
    seen = {"etcd": [FREE], "ovn": [EMPTY, {**EMPTY, "item": "control-1"}]}
    refuse_member(plan, CONTROL, seen)  # there never was one
    with pytest.raises(GroundupError, match="OVN does not say"):
        refuse_member(plan, CONTROL, {**seen, "ovn": [EMPTY, AWAY]})
    (tmp_path / plan.site).mkdir()
    (tmp_path / plan.site / "ovn.json").write_text(json.dumps({"nb": "cid"}))
    with pytest.raises(GroundupError, match="OVN does not say"):
        refuse_member(plan, CONTROL, seen)

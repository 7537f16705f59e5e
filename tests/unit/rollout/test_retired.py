"""Releases that were taken out of the site file: what is said of them, and what speaks against a removal."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import LiveRelease
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Object
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate.retired import (
    announced,
    in_order,
    reasons_against_removal,
)

SERVER = {
    "kind": "StatefulSet", "metadata": {"name": "keystone-server"},
    "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]},
}  # fmt: skip
VALUES = {"endpoints": {"oslo_db": {"path": "/keystone", "auth": {"admin": {"password": "a-secret"}}}}}


def live(name: str, *objects: Object, values: Object | None = None) -> LiveRelease:
    return LiveRelease(
        name=name, namespace="openstack", revision=3, status="deployed", chart=name, chart_version="2026.1.0",
        deployed_before=True, digest="d", objects=objects, hooks=(), values=values or {},
    )  # fmt: skip


def plan(name: str, *needs: str) -> ReleasePlan:
    return ReleasePlan(
        name=name, chart=name, version="2026.1.0", namespace="openstack", needs=needs, verify="workloads", values={}
    )


class Claims:
    """The volume claims of a namespace."""

    def get(self, path: str) -> dict[str, Any]:
        assert path == "/api/v1/namespaces/openstack/persistentvolumeclaims"
        names = ("data-keystone-server-0", "data-keystone-server-1", "data-keystone-server-x", "data-other-0")
        return {"items": [{"metadata": {"name": name}} for name in names]}


def said(retired: dict[str, LiveRelease], *remove: str) -> str:
    api: Any = Claims()
    return "\n".join(announced(remove, retired=retired, api=api))


def test_what_is_kept_is_named_with_the_words_that_remove_it() -> None:
    assert said({"keystone": live("keystone")}) == (
        'no longer in the site file, kept: keystone; to remove it: -e \'{"rollout_remove": ["keystone"]}\''
    )


def test_before_a_removal_values_claims_and_databases_are_named_and_no_secret() -> None:
    text = said({"keystone": live("keystone", SERVER, values=VALUES)}, "keystone")
    assert "chart keystone 2026.1.0, revision 3, deployed" in text
    assert "the values endpoints (helm --namespace openstack get values keystone)" in text
    assert "stays: volume claims data-keystone-server-0, data-keystone-server-1\n" in text
    assert "stays: databases keystone" in text
    assert "the catalog" not in text  # it goes with Keystone itself
    assert "a-secret" not in text
    assert "goes:  its entry in the catalog" in said({"glance": live("glance")}, "glance")


def test_a_name_that_is_not_there_is_told_and_no_error() -> None:
    assert "no release keystoen" in said({}, "keystoen")


@pytest.mark.parametrize(
    ("remove", "codes"),
    [
        (("keystone",), set()),
        (("mariadb",), {"still-needed:mariadb"}),
        (("mariadb", "keystone"), set()),
        (("glance",), {"still-in-site:glance"}),
    ],
)
def test_what_is_still_used_is_not_removed(remove: tuple[str, ...], codes: set[str]) -> None:
    retired = {name: live(name) for name in ("keystone", "mariadb")}
    found = list(reasons_against_removal(remove, retired=retired, releases=[plan("glance")]))
    assert {f"{reason.code}:{reason.release}" for reason in found} == codes
    if "still-needed:mariadb" in codes:
        assert found[0].what == "keystone needs mariadb and is kept"


def test_a_claim_that_helm_would_remove_speaks_against_it_and_one_that_stays_does_not() -> None:
    claim: Object = {"kind": "PersistentVolumeClaim", "metadata": {"name": "images"}}
    kept = {**claim, "metadata": {"name": "images", "annotations": {"helm.sh/resource-policy": "keep"}}}
    for item, codes in ((claim, ["removes-data"]), (kept, [])):
        found = reasons_against_removal(["glance"], retired={"glance": live("glance", item)}, releases=[])
        assert [reason.code for reason in found] == codes


def test_who_needs_others_is_removed_first() -> None:
    assert in_order(["mariadb", "keystone", "memcached"])[0] == "keystone"

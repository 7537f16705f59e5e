"""What a render comes to, and how it differs from what is live."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm import diff, manifests
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import (
    ChartError,
    LiveRelease,
    ObjectChange,
    ReleaseDiff,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Ref

TEXT = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {x: "1"}
---
# only a comment
---
apiVersion: batch/v1
kind: Job
metadata: {name: sync, annotations: {"helm.sh/hook": "post-install,post-upgrade"}}
---
apiVersion: v1
kind: Pod
metadata: {name: t, annotations: {"helm.sh/hook": test}}
"""


def test_hooks_are_told_from_objects_and_tests_are_left_out() -> None:
    rendered = manifests.split("r", "openstack", manifests.parse(TEXT, where="r"))
    assert [item["kind"] for item in rendered.objects] == ["ConfigMap"]
    assert [item["kind"] for item in rendered.hooks] == ["Job"]


def test_the_digest_does_not_depend_on_order_and_does_on_every_field() -> None:
    items = manifests.parse(TEXT, where="r")
    assert manifests.digest(items) == manifests.digest(reversed(items))
    changed = [{**items[0], "data": {"x": "2"}}, *items[1:]]
    assert manifests.digest(items) != manifests.digest(changed)
    assert len(manifests.digest(items)) <= 63  # a label's limit


@pytest.mark.parametrize("text", ["just words", "- a\n- b", "kind: X", "a: [1"])
def test_a_render_that_is_no_object_is_an_error_with_its_place(text: str) -> None:
    with pytest.raises(ChartError, match="release r"):
        manifests.parse(text, where="release r")


def test_fields_differ_by_name_not_by_position() -> None:
    before = {"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:1"}]}}
    after = {"spec": {"containers": [{"name": "b", "image": "y:2"}, {"name": "a", "image": "x:1"}]}}
    (change,) = diff.fields_of(before, after)
    assert (change.path, change.before, change.after) == ("spec.containers[b].image", "y:1", "y:2")


def test_what_the_server_keeps_is_not_a_change() -> None:
    before = {
        "metadata": {"resourceVersion": "1", "generation": 1, "uid": "u", "managedFields": []},
        "status": {"x": 1},
    }
    assert diff.fields_of(before, {"metadata": {"resourceVersion": "2", "generation": 2}, "spec": {}}) == []


def test_a_secret_shows_that_it_changed_and_not_what_it_is() -> None:
    before = {"kind": "Secret", "data": {"password": "b2xkLXNlY3JldA=="}}
    after = {"kind": "Secret", "data": {"password": "bmV3LXNlY3JldA==", "more": "eA=="}}
    text = repr(diff.fields_of(before, after))
    assert "sha256:" in text
    for value in ("b2xkLXNlY3JldA", "bmV3LXNlY3JldA", "eA=="):
        assert value not in text


def test_hooks_are_compared_with_those_of_the_last_release() -> None:
    rendered = manifests.split("r", "openstack", manifests.parse(TEXT, where="r"))
    live = live_release(hooks=rendered.hooks)
    assert list(diff.hook_changes(rendered, live)) == []
    other = live_release(hooks=({**rendered.hooks[0], "spec": {"backoffLimit": 1}},))
    (change,) = diff.hook_changes(rendered, other)
    assert change.kind == "change"
    assert change.fields[0].path == "spec.backoffLimit" or change.fields[0].path == "spec"
    (made,) = diff.hook_changes(rendered, None)
    assert made.kind == "create"
    job = {**rendered.hooks[0], "kind": "Job", "metadata": {**rendered.hooks[0]["metadata"], "name": "former"}}
    keys = {**job, "kind": "Secret"}
    (gone,) = diff.hook_changes(rendered, live_release(hooks=(*rendered.hooks, job, keys)))
    assert (gone.kind, gone.ref.kind) == ("remove", "Job"), "a Secret stays, and is not said to go"


def test_hooks_of_the_install_alone_are_no_change_of_a_release_that_was_deployed() -> None:
    key = """
apiVersion: v1
kind: Secret
metadata: {name: keys, annotations: {"helm.sh/hook": pre-install}}
"""
    rendered = manifests.split("r", "openstack", manifests.parse(key, where="r"))
    assert list(diff.hook_changes(rendered, live_release(hooks=()))) == []
    assert [change.kind for change in diff.hook_changes(rendered, live_release(hooks=(), deployed_before=False))] == [
        "create"
    ]


def test_hooks_of_upgrades_alone_are_no_change_of_a_release_that_is_new() -> None:
    """They would not run: a fresh install would be said to make what it does not."""
    job = """
apiVersion: batch/v1
kind: Job
metadata: {name: db-contract, annotations: {"helm.sh/hook": post-upgrade}}
"""
    rendered = manifests.split("r", "openstack", manifests.parse(job, where="r"))
    assert list(diff.hook_changes(rendered, None)) == []
    assert list(diff.hook_changes(rendered, live_release(hooks=(), deployed_before=False))) == []
    assert [change.kind for change in diff.hook_changes(rendered, live_release(hooks=()))] == ["create"]
    assert list(diff.hook_changes(rendered, live_release(hooks=rendered.hooks))) == []


def test_counts_are_by_kind() -> None:
    changes = [ObjectChange(ref=Ref("Secret", "n", name), kind="create") for name in "ab"]
    changes.append(ObjectChange(ref=Ref("Secret", "n", "c"), kind="remove"))
    assert ReleaseDiff(release="r", changes=tuple(changes)).counts == {"Secret": {"create": 2, "remove": 1}}


def test_an_object_of_another_release_is_foreign() -> None:
    mine = {"metadata": {"annotations": {"meta.helm.sh/release-name": "r"}}}
    other = {"metadata": {"annotations": {"meta.helm.sh/release-name": "q"}}}
    assert diff.foreign_owner(mine, release="r") == ""
    assert diff.foreign_owner(other, release="r") == "release q"
    assert diff.foreign_owner({"metadata": {}}, release="r") == "nobody helm knows"


def live_release(**fields: Any) -> LiveRelease:
    values: dict[str, Any] = {
        "name": "r", "namespace": "openstack", "revision": 1, "status": "deployed", "chart": "r",
        "chart_version": "2026.1.0", "deployed_before": True, "digest": "", "objects": (), "hooks": (),
    }  # fmt: skip
    return LiveRelease(**{**values, **fields})

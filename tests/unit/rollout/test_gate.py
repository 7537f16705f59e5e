"""One decision for the whole change, and the mistakes it must stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.diff import fields_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.manifests import split
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.preview import ChangePreview
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import (
    FieldChange,
    LiveRelease,
    ObjectChange,
    ReleaseDiff,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import Ref
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate.consistency import disagreements
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate.decide import decide
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate.reasons import reasons_against
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import GateReason, GateRefusedError

REGISTRY = "registry.lab.test:5000"


@dataclass
class Supply:
    images: dict[str, str] = field(default_factory=dict)


@dataclass
class OpenStack:
    releases: tuple[ReleasePlan, ...]
    release: str = "2026.1"


@dataclass
class FakePlan:
    openstack: OpenStack
    supply: Supply = field(default_factory=Supply)


def release(name: str = "mariadb", *, values: dict[str, Any] | None = None, version: str = "2026.1.0") -> ReleasePlan:
    return ReleasePlan(
        name=name, chart=name, version=version, namespace="openstack", needs=(), verify=name, values=values or {}
    )


def judge(
    *releases: ReleasePlan,
    objects: tuple[dict[str, Any], ...] = (),
    changes: tuple[ObjectChange, ...] = (),
    live: str = "",
    runs: tuple[dict[str, Any], ...] = (),
    images: dict[str, str] | None = None,
    held: dict[int, Ref] | None = None,
) -> dict[str, GateReason]:
    name = releases[0].name
    plan: Any = FakePlan(OpenStack(releases), Supply(images or {}))
    records = {}
    if live:
        records[name] = LiveRelease(
            name=name, namespace="openstack", revision=1, status="deployed", chart=name, chart_version=live,
            deployed_before=True, digest="", objects=runs, hooks=(),
        )  # fmt: skip
    preview = ChangePreview(
        rendered={name: split(name, "openstack", objects)},
        diffs={name: ReleaseDiff(release=name, changes=changes)},
        live=records,
        broken={},
    )
    found = reasons_against(plan, preview, held or {})
    return {reason.code: reason for reason in found}


def stateful(replicas: int, *, image: str = f"{REGISTRY}/mariadb:1") -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "m", "image": image}]}}
    return {"kind": "StatefulSet", "metadata": {"name": "s"}, "spec": {"replicas": replicas, "template": pod}}


def changed(path: str, before: Any, after: Any) -> tuple[ObjectChange, ...]:
    fields = (FieldChange(path=path, before=before, after=after),)
    return (ObjectChange(ref=Ref("StatefulSet", "openstack", "s"), kind="change", fields=fields),)


def test_a_change_without_faults_has_no_reasons() -> None:
    assert judge(release(), objects=(stateful(3),), live="2026.1.0") == {}


def test_a_chart_of_another_openstack_release_is_refused() -> None:
    assert "2025.2.0" in judge(release(version="2025.2.0"))["version-matrix"].what


def test_going_back_to_an_older_chart_is_refused() -> None:
    assert "downgrade" in judge(release(version="2026.1.0"), live="2026.1.3")
    assert "downgrade" not in judge(release(version="2026.1.10"), live="2026.1.9")


def test_a_step_of_the_release_that_skips_one_is_refused_by_the_images_that_run() -> None:
    """The charts of both may have one number."""

    def step(before: str, after: str) -> str:
        runs, objects = (
            tuple(stateful(3, image=f"{REGISTRY}/openstack:{tag}") for tag in tags.split()) for tags in (before, after)
        )
        found = judge(release(), live="2026.1.0", runs=runs, objects=objects)
        return found["release-pair"].what if "release-pair" in found else ""

    assert step("2025.1", "2026.1") == step("2026.1", "2026.1") == step("2025.1 2026.1", "2026.1") == ""
    assert "2026.1 is older than 2026.2" in step("2026.2", "2026.1")
    # Of the images that would run, whatever the site's release is.
    assert "2025.2 is older than 2026.1" in step("2026.1", "2025.2")
    assert "2026.2 may not follow 2025.2" in step("2025.2", "2026.2")
    assert step("2026.2", "2026.2") == ""
    assert step("2025.2 2026.1", "2025.2 2026.1") == "", "nothing is brought elsewhere"
    assert "2026.1 is older than 2026.2" in step("2026.2", ""), "the site's release, when no image tells"


def test_an_allowed_step_of_the_release_is_none_that_a_rollout_makes_unasked() -> None:
    """It is refused by name, and accepted by name."""

    def step(before: str, after: str) -> list[GateReason]:
        runs, objects = ((stateful(3, image=f"{REGISTRY}/openstack:{tag}"),) for tag in (before, after))
        return [*judge(release(), live="2026.1.0", runs=runs, objects=objects).values()]

    (reason,) = step("2026.1", "2026.2")
    assert (reason.code, "openstack.release to 2026.1" in reason.remedy) == ("release-step", True)
    assert ["groundup.cloud.openstack_upgrade makes it" in one.remedy for one in step("2025.2", "2026.1")] == [True]
    assert step("2026.1", "2026.1") == step("2026.2", "2026.2") == []
    with pytest.raises(GateRefusedError, match=r"2026\.1 runs, and it would become 2026\.2"):
        decide(step("2026.1", "2026.2"))
    assert decide(step("2026.1", "2026.2"), force=["release-step"])


def test_the_built_in_charts_serve_each_release_by_their_own_number() -> None:
    plan: Any = FakePlan(OpenStack((release("keystone"), release("glance", version="2025.2.0")), release="2026.2"))
    found = reasons_against(plan, ChangePreview(rendered={}, diffs={}, live={}, broken={}), {})
    assert [(one.code, one.release) for one in found] == [("version-matrix", "glance")]


@pytest.mark.parametrize("image", ["x/mariadb:latest", "x/mariadb", f"{REGISTRY}/mariadb"])
def test_an_image_without_a_fixed_version_is_refused(image: str) -> None:
    assert image in judge(release(), objects=(stateful(3, image=image),))["image-latest"].what


def test_an_image_pinned_by_digest_needs_no_tag() -> None:
    image = f"{REGISTRY}/mariadb@sha256:{'0' * 64}"
    assert judge(release(), objects=(stateful(3, image=image),)) == {}


def test_a_published_image_is_known_by_its_digest_and_by_its_plain_name_and_no_other_content_is() -> None:
    pinned = f"{REGISTRY}/mariadb:1@sha256:{'1' * 64}"
    supply = {"mariadb": pinned}
    assert judge(release(), objects=(stateful(3, image=pinned),), images=supply) == {}
    assert judge(release(), objects=(stateful(3, image=f"{REGISTRY}/mariadb:1"),), images=supply) == {}
    other = f"{REGISTRY}/mariadb:1@sha256:{'2' * 64}"
    assert "image-unknown" in judge(release(), objects=(stateful(3, image=other),), images=supply)


def test_an_image_outside_the_supply_is_refused() -> None:
    supply = {"mariadb": f"{REGISTRY}/mariadb:1"}
    assert judge(release(), objects=(stateful(3),), images=supply) == {}
    assert "image-unknown" in judge(release(), objects=(stateful(3, image="docker.example/m:2"),), images=supply)


def test_an_even_quorum_is_refused() -> None:
    assert "quorum-even" in judge(release(), objects=(stateful(2),))


def test_members_of_a_quorum_do_not_vanish_together() -> None:
    assert "needs 2" in judge(release(), changes=changed("spec.replicas", 3, 1))["quorum-loss"].why
    assert "quorum-loss" not in judge(release(), changes=changed("spec.replicas", 1, 3))
    assert "quorum-loss" not in judge(release("keystone"), changes=changed("spec.replicas", 3, 1))


@pytest.mark.parametrize(
    ("before", "after", "shrinks"),
    [
        ("10Gi", "5Gi", True),
        ("1Gi", "1024Mi", False),
        ("5G", "5Gi", False),
        ("500M", "0.5G", False),
        (7, 6, True),
        ("1.5Ki", "1535", True),
        ("1Gi", "much", False),
    ],
)
def test_a_volume_does_not_shrink(before: Any, after: Any, shrinks: bool) -> None:
    path = "spec.volumeClaimTemplates[0].spec.resources.requests.storage"
    assert ("volume-shrink" in judge(release(), changes=changed(path, before, after))) is shrinks


def test_a_size_that_is_no_quantity_is_refused_in_the_api_servers_words() -> None:
    path = "spec.volumeClaimTemplates[0].spec.resources.requests.storage"
    words = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    refused = ObjectChange(
        ref=Ref("StatefulSet", "openstack", "s"), kind="refused", message=words,
        fields=(FieldChange(path=path, before="10Gi", after="10GB"),),
    )  # fmt: skip
    assert words in judge(release(), changes=(refused,))["refused"].what


def test_what_the_api_server_refuses_is_known_before() -> None:
    message = "StatefulSet.apps is invalid: updates to statefulset spec for fields other than replicas are forbidden"
    refused = (ObjectChange(ref=Ref("StatefulSet", "openstack", "s"), kind="refused", message=message),)
    assert "immutable" in judge(release(), changes=refused)


def test_state_is_not_removed_in_passing() -> None:
    removed = (ObjectChange(ref=Ref("StatefulSet", "openstack", "s"), kind="remove"),)
    assert "removes-data" in judge(release(), changes=removed)


def test_the_refusal_is_a_table_that_says_how_to_accept() -> None:
    reasons = tuple(judge(release(), objects=(stateful(2, image="m:latest"),)).values())
    with pytest.raises(GateRefusedError) as refused:
        decide(reasons)
    assert "quorum-even" in str(refused.value)
    assert "image-latest" in str(refused.value)
    assert "rollout_force=image-latest:mariadb,quorum-even:mariadb" in refused.value.remedy


def test_a_reason_is_accepted_by_its_name_for_one_release_only() -> None:
    reasons = tuple(judge(release(), objects=(stateful(2),)).values())
    assert decide(reasons, force=["quorum-even:mariadb"]) == reasons
    with pytest.raises(GateRefusedError):
        decide(reasons, force=["quorum-even:rabbitmq"])


def endpoints(**auth: Any) -> dict[str, Any]:
    return {"endpoints": {"oslo_db": {"auth": {"admin": auth}, "path": "/x"}}}


def test_two_releases_with_different_database_administrators_are_refused_with_both_places() -> None:
    one = release("mariadb", values=endpoints(username="root", password={"$secret": "mariadb/root"}))
    other = release("keystone", values=endpoints(username="root", password={"$secret": "keystone/db"}))
    (reason,) = disagreements([one, other])
    assert reason.release == "keystone"
    assert "the secret keystone/db" in reason.what
    assert "the secret mariadb/root" in reason.what


def test_a_database_name_is_each_services_own() -> None:
    left, right = endpoints(), endpoints()
    right["endpoints"]["oslo_db"]["path"] = "/y"
    assert list(disagreements([release("a", values=left), release("b", values=right)])) == []


def test_an_account_a_service_has_for_calls_to_another_is_its_own() -> None:
    def identity(*accounts: str) -> dict[str, Any]:
        return {"endpoints": {"identity": {"auth": {name: {"username": f"{name} of {accounts}"} for name in accounts}}}}

    nova, neutron = release("nova", values=identity("nova", "neutron")), release("neutron", values=identity("nova"))
    assert list(disagreements([nova, neutron])) == []
    (reason,) = disagreements([release("one", values=identity("admin")), release("two", values=identity("admin", "x"))])
    assert "endpoints.identity.auth.admin.username" in reason.what


def test_clients_know_how_many_members_the_queue_has() -> None:
    queue = release("rabbitmq", values={"pod": {"replicas": {"server": 3}}})
    client = release("keystone", values={"endpoints": {"oslo_messaging": {"statefulset": {"replicas": 1}}}})
    (reason,) = disagreements([queue, client])
    assert "oslo_messaging.statefulset.replicas is 1" in reason.what


def test_nova_and_neutron_share_the_metadata_secret() -> None:
    nova = release("nova", values={"conf": {"nova": {"neutron": {"metadata_proxy_shared_secret": {"$secret": "a"}}}}})
    agent = {"metadata_agent": {"DEFAULT": {"metadata_proxy_shared_secret": {"$secret": "b"}}}}
    assert len(list(disagreements([nova, release("neutron", values={"conf": agent})]))) == 1


def test_a_node_port_of_another_service_is_refused_and_ones_own_is_not() -> None:
    """What does not exist yet is in no comparison with the cluster: helm would stop halfway."""
    service = {"kind": "Service", "metadata": {"name": "identity"}, "spec": {"ports": [{"nodePort": 30500}]}}
    elsewhere = {30500: Ref("Service", "cloud", "identity")}
    found = judge(release(), objects=(service,), held=elsewhere)["node-port-taken"]
    assert "Service/identity of namespace cloud has" in found.what
    for held in ({30500: Ref("Service", "openstack", "identity")}, {30501: Ref("Service", "cloud", "identity")}):
        assert judge(release(), objects=(service,), held=held) == {}


def test_members_that_are_to_keep_apart_by_something_else_are_told() -> None:
    """With a third rack of control hosts the plan says rack instead of host; two members of one rack stay there."""

    def spread_by(key: str) -> dict[str, Any]:
        term = {"labelSelector": {"matchLabels": {"application": "mariadb"}}, "topologyKey": key}
        apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        item = stateful(3)
        item["spec"]["template"]["spec"]["affinity"] = apart
        return item

    host, rack = spread_by("kubernetes.io/hostname"), spread_by("topology.kubernetes.io/zone")
    fields = tuple(fields_of(host, rack))
    change = ObjectChange(ref=Ref("StatefulSet", "openstack", "mariadb-server"), kind="change", fields=fields)
    assert "zone" in judge(release(), changes=(change,))["spread"].what
    assert judge(release("keystone"), changes=(change,)) == {}
    assert fields_of(host, host) == []

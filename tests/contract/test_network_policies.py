"""Who may open connections to whose pods: what the rendered policies of a site with every service admit."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS

from .test_builtin_charts import templates

# Ports of Services that members alone use, beside those of clients. A chart's new port belongs here, to its record's
# `client_ports`, or behind a node port.
MEMBERS = {"mariadb": {4444, 4567, 4568}, "rabbitmq": {15692, 25672}}
STRANGER = {"application": "web"}


@pytest.fixture(scope="module")
def walled(rendered: dict[str, Any]) -> dict[str, Any]:
    """The objects of the releases whose pods somebody connects to: all but the object store's, which hosts serve."""
    return {release: items for release, items in rendered.items() if release != "ceph-rgw"}


def policy(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the spec of a release's only policy."""
    (found,) = (item["spec"] for item in items if item["kind"] == "NetworkPolicy")
    assert isinstance(found, dict)
    return found


def admits(spec: dict[str, Any], source: dict[str, str], port: int, protocol: str = "TCP") -> bool:
    """Return whether a pod with labels ``source``, of the same namespace, may connect to ``port``."""
    for rule in spec["ingress"]:
        peers = rule.get("from")
        known = peers is None or any(peer["podSelector"]["matchLabels"].items() <= source.items() for peer in peers)
        ports = rule.get("ports")
        if known and (ports is None or {"protocol": protocol, "port": port} in ports):
            return True
    return False


def services(items: list[dict[str, Any]]) -> dict[str, set[tuple[str, int]]]:
    """Return the pods' ports behind each Service."""
    return {
        item["metadata"]["name"]: {
            (port.get("protocol", "TCP"), port.get("targetPort", port["port"])) for port in item["spec"]["ports"]
        }
        for item in items if item["kind"] == "Service"
    }  # fmt: skip


def test_the_policy_of_a_release_is_for_every_pod_of_it_and_no_other(walled: dict[str, Any]) -> None:
    for release, items in walled.items():
        spec = policy(items)
        assert spec["policyTypes"] == ["Ingress"]
        assert spec["podSelector"]["matchLabels"] == {"application": release}
        for owner, template in templates(items):
            assert template["metadata"]["labels"]["application"] == release, owner


def test_pods_of_the_real_charts_have_the_label_that_policies_select(facts: Any) -> None:
    for chart, fact in facts.items():
        labels = [item.get("labels", {}) for item in fact["objects"]]
        assert {one["application"] for one in labels if "application" in one} <= {chart} or chart == "ceph-rgw"


def test_a_release_admits_its_own_pods_everywhere(walled: dict[str, Any]) -> None:
    for release, items in walled.items():
        for ports in services(items).values():
            for protocol, port in ports:
                assert admits(policy(items), {"application": release}, port, protocol), (release, port)


def test_every_port_of_a_service_is_for_clients_for_members_or_published(walled: dict[str, Any]) -> None:
    for release, items in walled.items():
        clients = {("TCP", port) for port in RECORDS[release].client_ports}
        open_rules = [rule for rule in policy(items)["ingress"] if "from" not in rule]
        published = {(port["protocol"], port["port"]) for rule in open_rules for port in rule["ports"]}
        members = {("TCP", port) for port in MEMBERS.get(release, ())}
        offered = set().union(*services(items).values())
        assert offered == clients | published | members, release


def waited(pod: dict[str, Any]) -> set[str]:
    """Return the names of the Services that a pod waits for."""
    told = [entry for one in pod.get("initContainers", ()) for entry in one.get("env", ())]
    words = [word for entry in told if entry["name"] == "DEPENDENCY_SERVICE" for word in entry["value"].split(",")]
    return {word.rpartition(":")[2] for word in words if word}


def test_who_waits_for_a_service_may_connect_to_it(rendered: dict[str, Any]) -> None:
    """By the charts' own word: every pod reaches each port for clients of the Services that it waits for."""
    offered = {name: (release, ports) for release, items in rendered.items() for name, ports in services(items).items()}
    seen = set()
    for items in rendered.values():
        for owner, template in templates(items):
            for service in waited(template["spec"]):
                provider, ports = offered[service]
                ports = ports & {("TCP", port) for port in RECORDS[provider].client_ports} or ports
                seen.add(provider)
                for protocol, port in ports:
                    labels = template["metadata"]["labels"]
                    assert admits(policy(rendered[provider]), labels, port, protocol), (owner, service, port)
    assert {"mariadb", "rabbitmq", "keystone"} <= seen


@pytest.mark.parametrize(
    ("release", "ports"),
    [("mariadb", (3306, 4444, 4567, 4568)), ("memcached", (11211,)), ("rabbitmq", (4369, 5672, 15672, 15692, 25672))],
)
def test_no_stranger_reaches_what_releases_stand_on(rendered: dict[str, Any], release: str, ports: Any) -> None:
    for port in ports:
        assert not admits(policy(rendered[release]), STRANGER, port), port


def test_no_client_reaches_the_ports_of_members(rendered: dict[str, Any]) -> None:
    for release, ports in MEMBERS.items():
        for port in ports:
            assert not admits(policy(rendered[release]), {"application": "nova"}, port), (release, port)

"""The measure of docs/add-a-release.md: a new API service is its own files; no existing file of Python is touched."""

from __future__ import annotations

import filecmp
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.unit.services.toy.tree import ROOT, ask, grow


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the collection with the toy in it."""
    return grow(tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="module")
def made(tree: Path) -> Any:
    """Return what the copy makes of a site with the toy."""
    return ask(tree)


def test_no_existing_file_is_touched_but_generated_pages(tree: Path, made: dict[str, Any]) -> None:
    changed = [
        str(path.relative_to(tree))
        for path in tree.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and (ROOT / path.relative_to(tree)).exists()
        if not filecmp.cmp(path, ROOT / path.relative_to(tree), shallow=False)
    ]
    assert (
        sorted(changed)
        == sorted(made["written"])
        == ["docs/charts.md", "docs/site-file.md", "docs/site.schema.json", "docs/tenant.md"]
    )


def test_it_is_planned_with_a_name_on_the_edge_and_findings(made: dict[str, Any]) -> None:
    endpoint = made["endpoints"]["toy"]
    assert (endpoint["url"], endpoint["node_port"]) == ("https://toys.lab.test/v1", 30123)
    assert made["findings"] == []
    assert "service-without-its-needs" in made["alone"]


def test_it_is_a_release_after_what_it_needs_and_uses(made: dict[str, Any]) -> None:
    release = made["release"]
    assert release["needs"] == ["mariadb", "rabbitmq", "memcached", "keystone"]
    assert release["version"] == "2026.1.0"


def test_its_values_follow_from_its_record(made: dict[str, Any]) -> None:
    values = made["release"]["values"]
    told = values["endpoints"]
    assert sorted(told) == [
        "cluster_domain_suffix", "identity", "oslo_cache", "oslo_db", "oslo_messaging", "toy_box",
    ]  # fmt: skip
    assert told["oslo_db"]["auth"]["toy"]["password"] == {"$secret": "toy/db"}
    assert told["identity"]["auth"]["toy"]["password"] == {"$secret": "toy/keystone"}
    assert told["toy_box"]["host_fqdn_override"] == {"public": {"host": "toys.lab.test"}}
    assert set(values["images"]["tags"]) == {
        "toy_api", "toy_db_sync", "dep_check",
        "db_init", "db_drop", "rabbit_init", "ks_user", "ks_service", "ks_endpoints",
    }  # fmt: skip


def test_its_policy_follows_from_its_record(made: dict[str, Any]) -> None:
    spec = made["release"]["values"]["extraObjects"]["network_policy"]["spec"]
    assert spec["podSelector"] == {"matchLabels": {"application": "toy"}}
    assert spec["ingress"] == [
        {"from": [{"podSelector": {"matchLabels": {"application": "toy"}}}]},
        {"ports": [{"protocol": "TCP", "port": 8123}]},
    ]
    assert {"podSelector": {"matchLabels": {"application": "toy"}}} in made["database"]["from"]


def test_its_secrets_have_names(made: dict[str, Any]) -> None:
    mine = {name: what for name, what in made["secrets"].items() if name.startswith("toy/")}
    assert mine == {
        "toy/box-key": "opens the box",
        "toy/db": "Toy's database account",
        "toy/rabbitmq": "Toy's message queue account",
        "toy/keystone": "Toy's service user",
    }
    assert mine.keys() <= set(made["required"])


def test_it_is_asked_by_the_verifier_of_its_record(made: dict[str, Any]) -> None:
    check = made["checks"][0]
    assert (check["name"], check["ok"]) == ("answer", False)
    assert check["detail"].startswith("there is no CA certificate"), "the public name is the plan's; there is no site"
    assert "https://toys.lab.test/v1" in check["detail"]


@pytest.mark.usefixtures("made")
def test_it_is_documented(tree: Path) -> None:
    lines = (tree / "docs/charts.md").read_text().splitlines()
    row = "| toy | service | mariadb, rabbitmq, memcached, keystone | `https://toys.<domain>/v1` |"
    assert row in lines
    assert "| `toy/box-key` | opens the box |" in lines

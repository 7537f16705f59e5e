"""The measure of docs/add-a-release.md: a new API service is its own files; no existing file of Python is touched."""

from __future__ import annotations

import base64
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply

ROOT = Path(__file__).resolve().parents[3]
TOY = Path(__file__).with_name("toy")
COPIED = ("plugins", "charts", "docs", "inventories/lab")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the collection with the toy's module and chart beside the others."""
    root = tmp_path_factory.mktemp("tree") / "ansible_collections/groundup/cloud"
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name, symlinks=True)
    shutil.copy(TOY / "toy.py", root / "plugins/plugin_utils/services/toy.py")
    shutil.copytree(TOY.parent / "charts/toy", root / "charts/toy")
    (root / "charts/toy/charts").mkdir()
    (root / "charts/toy/charts/groundup-lib").symlink_to("../../groundup-lib")
    return root


@pytest.fixture(scope="module")
def made(tree: Path) -> dict[str, Any]:
    """Return what the copy makes of a site with the toy."""
    done = subprocess.run(
        [sys.executable, TOY / "ask.py", tree],
        check=False,
        capture_output=True,
        text=True,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree.parents[2])},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_no_existing_file_is_touched_but_a_generated_page(tree: Path, made: dict[str, Any]) -> None:
    changed = [
        str(path.relative_to(tree))
        for path in tree.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and (ROOT / path.relative_to(tree)).exists()
        if not filecmp.cmp(path, ROOT / path.relative_to(tree), shallow=False)
    ]
    assert changed == made["written"] == ["docs/charts.md"]


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


def test_its_secrets_have_names(made: dict[str, Any]) -> None:
    mine = {name: what for name, what in made["secrets"].items() if name.startswith("toy/")}
    assert mine == {
        "toy/box-key": "opens the box",
        "toy/db": "Toy's database account",
        "toy/rabbitmq": "Toy's message queue account",
        "toy/keystone": "Toy's service user",
    }
    assert mine.keys() <= set(made["required"])


def test_its_built_in_chart_renders(tree: Path, made: dict[str, Any]) -> None:
    helm = shutil.which("helm")
    if helm is None:
        if supply.missing(("helm",)):
            pytest.skip("no helm on the PATH and none in the cache: ci/supply build helm makes it")
        helm = str(supply.tool("helm"))
    done = subprocess.run(
        [helm, "template", "toy", tree / "charts/toy", "--namespace", "openstack", "--values", "-"],
        input=re.sub(r'{"\$secret": ("[^"]+")}', r"\1", json.dumps(made["release"]["values"])),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    objects = {f"{item['kind']}/{item['metadata']['name']}": item for item in yaml.safe_load_all(done.stdout) if item}
    service = objects["Service/toy-api"]["spec"]["ports"][0]
    assert (service["port"], service["nodePort"]) == (8123, 30123)
    assert "Deployment/toy-api" in objects
    wanted = json.loads(base64.b64decode(objects["Secret/toy-etc"]["data"]["identity.json"]))
    inner = "http://toy-api.openstack.svc.cluster.local:8123/v1"
    urls = {"public": "https://toys.lab.test/v1", "internal": inner, "admin": inner}
    assert wanted["services"] == [{"type": "toy-box", "name": "toy", "endpoints": urls}]
    assert [(user["name"], user["password"]) for user in wanted["users"]] == [("toy", "toy/keystone")]


def test_it_is_asked_by_the_verifier_of_its_record(made: dict[str, Any]) -> None:
    check = made["checks"][0]
    assert (check["name"], check["ok"]) == ("answer", False)
    assert check["detail"].startswith("there is no CA certificate"), "the public name is the plan's; there is no site"
    assert "https://toys.lab.test/v1" in check["detail"]


@pytest.mark.usefixtures("made")
def test_it_is_documented(tree: Path) -> None:
    lines = (tree / "docs/charts.md").read_text().splitlines()
    row = "| toy | service | mariadb, rabbitmq, memcached, keystone | `https://toys.<domain>/v1` | yes |"
    assert row in lines
    assert "| `toy/box-key` | opens the box |" in lines

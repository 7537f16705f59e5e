"""The chart of a service that only a test knows renders from the values of its record (helm)."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.tests.unit.services.toy.tree import ask, grow


def test_the_built_in_chart_of_a_new_service_renders(tmp_path: Path) -> None:
    tree = grow(tmp_path)
    release = ask(tree)["release"]
    helm = shutil.which("helm") or supply.tool("helm")
    done = subprocess.run(
        [helm, "template", "toy", tree / "charts/toy", "--namespace", "openstack", "--values", "-"],
        input=re.sub(r'{"\$secret": ("[^"]+")}', r"\1", json.dumps(release["values"])),
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

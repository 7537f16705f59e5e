"""Databases that a former release of OpenStack wrote become the lab's: by real packages, MariaDB and the charts' jobs.

No pod, hypervisor or queue takes part. Both releases run on the image's Python.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.systems import ENVIRONMENT
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.gate import pairs
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache import unpack
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact

from .conftest import Image
from .stage import Part, Stage

pytestmark = pytest.mark.long  # packages of former releases: `make test` does not build them
HERE = Path(__file__).parent
TARGET = "2026.1"
ORDER = ("keystone", "placement", "glance", "neutron", "cinder", "nova")  # Nova's check asks Keystone and Placement
_JOBS = ("db-init", "db-sync", "db-contract", "data-migrations")
_ALL = ["after", "before", "beside"]
_READ = (
    ("former", "writes", ["before"]),
    ("former", "writes beside", ["before", "beside"]),
    ("target", "writes", _ALL),
    ("former", "reads", _ALL),
    ("target", "reads", _ALL),
)
_RUN = """
wait_for answers 3306
exec python3 /mnt/former_steps.py "$OLDEST"
"""


def _secrets(items: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    return {
        item["metadata"]["name"]: {key: base64.b64decode(value).decode() for key, value in item["data"].items()}
        for item in items if item["kind"] == "Secret" and item.get("data")
    }  # fmt: skip


def _jobs(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return command, environment and files of the jobs that migrate, by their component."""
    found, secrets = {}, _secrets(items)
    for item in items:
        name = item["metadata"].get("labels", {}).get("component")
        if item["kind"] not in ("Job", "CronJob") or name not in _JOBS:
            continue
        spec = item["spec"]["jobTemplate"]["spec"] if item["kind"] == "CronJob" else item["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        env = {}
        for one in container.get("env", ()):
            ref = one.get("valueFrom", {}).get("secretKeyRef")
            env[one["name"]] = secrets[ref["name"]][ref["key"]] if ref else one["value"]
        files = {one["mountPath"]: one["subPath"] for one in container["volumeMounts"] if one["name"] == "etc"}
        found[name] = {"command": container["command"], "env": env, "files": files}
    return found


def _mounts(stage: Stage, jobs: dict[str, dict[str, Any]]) -> dict[str, Path]:
    """Return the directories of the charts' programs and configuration."""
    scripts: dict[str, str] = {}
    mounts: dict[str, Path] = {}
    for service, items in stage.objects.items():
        for item in items:
            if item["metadata"]["name"] == f"{service}-bin":
                scripts |= item["data"]
        etc, secret = f"/etc/{service}", _secrets(stage.objects[service])[f"{service}-etc"]
        inside = {path.removeprefix(f"{etc}/"): text for path, text in jobs[service]["db-sync"]["files"].items()
                  if path.startswith(etc)}  # fmt: skip
        mounts[etc] = stage.folder(f"etc-{service}", {path: secret[name] for path, name in inside.items()})
        mounts[f"/var/lib/{service}"] = stage.folder(f"state-{service}")
    for kind in ("fernet-keys", "credential-keys"):
        key = base64.urlsafe_b64encode(os.urandom(32)).decode()
        stage.folder(f"etc-keystone/{kind}", {"0": key, "1": key}).chmod(0o750)
    return {**mounts, "/opt/bin": stage.folder("bin", scripts), "/var/lock": stage.folder("locks")}


@pytest.mark.parametrize("release", pairs.STEPS[TARGET].after)
def test_what_the_former_release_wrote_is_taken_along_while_it_serves(
    release: str, image: Callable[[str], Image], artifact: Callable[[str], Artifact], tmp_path: Path
) -> None:
    """Both releases write and read beside each other; Nova refuses what the gate refuses."""
    former = unpack.unpacked(artifact(f"services-{release}"), archive=ENVIRONMENT)
    openstack, mariadb = image("openstack"), image("mariadb")
    stage = Stage(tmp_path, *ORDER[1:])
    stage.objects = {"keystone": stage.render("keystone"), **stage.objects}
    jobs = {service: _jobs(stage.objects[service]) for service in ORDER}
    (stage.shared / "jobs.json").write_text(json.dumps(jobs))
    for name in ("former_steps.py", "former_rows.py"):
        shutil.copy(HERE / name, stage.shared)
    root = urlsplit(jobs["nova"]["db-init"]["env"]["ADMIN_oslo_db"])
    with (stage.shared / "accounts.sql").open("a") as accounts:
        accounts.write(f"ALTER USER {root.username}@localhost IDENTIFIED BY '{root.password}';\n")
    database, keystone = stage.shared_parts(mariadb, openstack)
    admin = {"OS_AUTH_URL": keystone.env["INTERNAL"], "OS_PASSWORD": keystone.env["ADMIN"], "OS_USERNAME": "admin",
             "OS_PROJECT_NAME": "admin", "OS_USER_DOMAIN_NAME": "Default", "OS_PROJECT_DOMAIN_NAME": "Default",
             "OS_REGION_NAME": keystone.env["REGION"], "OS_INTERFACE": "internal"}  # fmt: skip
    steps = Part(
        name="steps", root=openstack.root, script=_RUN, mounts={**_mounts(stage, jobs), "/opt/former": former},
        env={**openstack.env, **admin, "OLDEST": str(pairs.oldest_service(TARGET))},
    )  # fmt: skip
    said = stage.run(database, steps, seconds=7200)
    seen = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    for one in seen:  # figures of docs/openstack-upgrade.md
        print(" ".join(str(one[key]) for key in ("service", "release", "what", "code", "seconds")), one["said"][-160:])
    assert seen, said + stage.said(database)
    told = {(one["service"], one["release"], one["what"]): one["said"] for one in seen}
    refused = {one["what"]: one["said"] for one in seen if one["code"]}
    assert [*refused] == ["starts beside it", "db-sync beside it"], json.dumps(refused, indent=1)
    assert "TooOldComputeService" in refused["starts beside it"]
    assert "nova-status upgrade check: ended with code 2" in refused["db-sync beside it"]
    for service, (who, what, names) in itertools.product(ORDER, _READ):
        assert json.loads(told[(service, who, what)]) == names, (service, who, what)
    assert told[("nova", "former", "the hypervisor is the former one")] == f"[{pairs.STEPS[release].nova}]"
    assert json.loads(told[("nova", "target", "starts")]) == [pairs.oldest_service(TARGET), pairs.STEPS[TARGET].nova]
    assert told[("nova", "target", "data beside former hypervisors")] == "not yet"
    assert told[("nova", "target", "data-migrations")] == str(pairs.STEPS[TARGET].nova)

"""Asks the image's Keystone about domains that are directories; prints what it finds as JSON.

Usage: directory.py FILE      FILE: {plan, less, domains, broken}. OS_* variables are the administrator's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openstack
import requests
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import directories
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import identity as users
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.keystone import Keystone
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import Answer
from keystoneauth1 import exceptions as keystone_errors

ASK, MAKE = "/mnt/directories.py", "/mnt/domains.py"
GIVEN = json.loads(Path(sys.argv[1]).read_text())


def login(name: str, password: str, project: str | None = None, domain: str = "corp") -> dict[str, Any]:
    """Return status, roles and seconds of a login."""
    identity = {"methods": ["password"], "password": {"user": {"name": name, "password": password,
                                                               "domain": {"name": domain}}}}  # fmt: skip
    auth: dict[str, Any] = {"identity": identity}
    if project:
        auth["scope"] = {"project": {"name": project, "domain": {"name": "Default"}}}
    begun = time.monotonic()
    try:
        answer = requests.post(f"{os.environ['OS_AUTH_URL']}/auth/tokens", json={"auth": auth}, timeout=60)
    except requests.ConnectionError:  # uWSGI's way of an error that Keystone does not handle; Apache answers 500
        return {"status": 500, "roles": [], "seconds": round(time.monotonic() - begun)}
    roles = sorted(role["name"] for role in (answer.json().get("token") or {}).get("roles", ()))
    return {"status": answer.status_code, "roles": roles, "seconds": round(time.monotonic() - begun)}


def planned(domains: dict[str, Any]) -> Any:
    """Return as much of a plan as is read of it."""
    found = {
        name: SimpleNamespace(**{**one, "roles": tuple(SimpleNamespace(**role) for role in one["roles"])})
        for name, one in domains.items()
    }
    return SimpleNamespace(site="lab", identity=SimpleNamespace(domains=found, providers=(), roles={}), resources=())


def keystone() -> Keystone:
    """Return the administrator's Keystone."""
    session = openstack.connect(load_yaml_config=False).session

    def send(method: str, path: str, body: Any) -> Answer:
        try:
            answer = session.request(f"{os.environ['OS_AUTH_URL']}{path}", method, json=body, raise_exc=False)
        except keystone_errors.ConnectFailure:  # as of `login`
            return Answer(status=500, headers={}, body=None, data=b"no answer")
        is_json = "json" in answer.headers.get("content-type", "")
        return Answer(status=answer.status_code, headers={}, body=answer.json() if is_json else None)

    return Keystone(send)


def asked(domains: dict[str, Any]) -> dict[str, Any]:
    """Return what the program of Keystone's pods finds."""
    Path("/tmp/asked.json").write_text(json.dumps(domains))  # noqa: S108 - in the image's own root
    said = subprocess.run([sys.executable, ASK, "/tmp/asked.json"], capture_output=True, text=True, check=False)  # noqa: S108
    assert said.returncode == 0, said.stdout + said.stderr
    return dict(json.loads(said.stdout))


def verified(plan: Any, probe: Callable[[], dict[str, Any]] | None) -> dict[str, str]:
    """Return what is wrong with each domain's directory."""
    return {name: str(fault) for name, fault in directories.faults(keystone(), plan, probe).items()}


def converged(plan: Any, *, check: bool = False) -> dict[str, Any]:
    """Return changes and warnings of a run, or its error."""
    changes = Changes(check=check)
    try:
        users.converge(keystone(), plan, changes, {})
    except GroundupError as error:
        return {"changes": changes.done, "error": str(error)}
    return {"changes": changes.done, "warnings": changes.warnings}


def hidden(project: Any, group: str) -> dict[str, Any]:
    """Let the directory no longer show a group that has a role, and take it back."""
    domain = keystone().named("domains", "corp")
    assert domain
    config = json.loads(json.dumps(GIVEN["domains"]["corp"]))
    config["ldap"]["group_filter"] = "(cn=nobody)"
    keystone().call("PUT", f"/domains/{domain['id']}/config", {"config": config})
    changes = converged(planned(GIVEN["less"]))
    keystone().call("PUT", f"/domains/{domain['id']}/config", {"config": GIVEN["domains"]["corp"]})
    filters = {"group.id": group, "scope.project.id": project.id}
    return {**changes, "stays": [one["role"]["id"] for one in keystone().all("role_assignments", **filters)]}


def main() -> None:
    """Go through the life of the domains."""
    cloud = openstack.connect(load_yaml_config=False)
    identity, plan = cloud.identity, planned(GIVEN["plan"])
    found: dict[str, Any] = {"before": converged(plan, check=True)}
    subprocess.run([sys.executable, MAKE, "/mnt/domains.json"], check=True, stdout=sys.stderr)
    subprocess.run([sys.executable, MAKE, "/mnt/domains.json"], check=True, stdout=sys.stderr)
    own = identity.create_domain(name="own")
    identity.create_user(name="theirs", password="word-of-theirs", domain_id=own.id)
    refused = {"own": GIVEN["domains"]["corp"]}
    Path("/tmp/own.json").write_text(json.dumps(refused))  # noqa: S108
    found["own"] = subprocess.run(
        [sys.executable, MAKE, "/tmp/own.json"], capture_output=True, text=True, check=False  # noqa: S108
    ).stderr  # fmt: skip
    found["verified"] = verified(plan, lambda: asked(GIVEN["domains"]))
    found["unscoped"], found["too early"] = login("ada", "adas-word"), login("ada", "adas-word", "ops")
    found["predicted"], found["first"] = converged(plan, check=True), converged(plan)
    found["again"] = converged(plan)
    found["ada"], found["bob"] = login("ada", "adas-word", "ops"), login("bob", "bobs-word", "ops")
    found["wrong"], found["nobody"] = login("ada", "wrong"), login("eve", "x")
    found["by start_tls"] = login("ada", "adas-word", domain="second")
    ops = next(identity.projects(name="ops"))
    (group,) = identity.get(f"/groups?domain_id={identity.find_domain('corp').id}&name=staff").json()["groups"]
    by_hand = identity.find_role("reader")
    assert identity.put(f"/projects/{ops.id}/groups/{group['id']}/roles/{by_hand.id}").ok
    found["twice"] = converged(planned({"corp": {**GIVEN["plan"]["corp"], "roles": [GIVEN["twin"]]}}))
    found["hidden"] = {**hidden(ops, group["id"]), "by hand": by_hand.id}
    found["anew"] = converged(plan)
    found["less"] = converged(planned(GIVEN["less"]))
    found["less again"] = converged(planned(GIVEN["less"]))
    found["more"] = converged(plan)
    found["none, foreseen"], found["none"] = converged(planned({}), check=True), converged(planned({}))
    found["after"] = login("ada", "adas-word", "ops")
    found["faults"] = asked(GIVEN["broken"])
    corp = planned({"corp": GIVEN["plan"]["corp"]})
    found["remedies"] = {name: verified(corp, partial(dict, corp=one))["corp"] for name, one in found["faults"].items()}
    Path("/mnt/stop").touch()
    ends = time.monotonic() + 60
    while Path("/mnt/stop").exists():
        assert time.monotonic() < ends, "slapd goes on"
        time.sleep(0.1)
    found["down"] = {
        "login": login("ada", "adas-word"),
        "verify": verified(plan, lambda: asked(GIVEN["domains"])),
    }
    found["by Keystone alone"] = verified(plan, None)
    found["admin"] = login("admin", os.environ["OS_PASSWORD"], domain="Default")["status"]
    print(json.dumps(found))


if __name__ == "__main__":
    main()

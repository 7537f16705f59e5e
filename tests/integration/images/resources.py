"""Makes resources in the image's Keystone by the engine, deletes them, and logs in by a credential; prints JSON.

Usage: resources.py FILE      FILE: {more, less: resources of a plan}. OS_* variables are the administrator's.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources import engine
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.api import CloudApi
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.ledger import Ledger
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError

GIVEN = json.loads(Path(sys.argv[1]).read_text())
LEDGER = Ledger(known=True)
SECRETS = {"cloud/web/ci-password": "word-of-the-account", "cloud/web/ci-secret": "secret-of-the-program"}


def resolve(value: Any) -> Any:
    """Return ``value`` with secrets."""
    if isinstance(value, dict):
        return SECRETS[value["$secret"]] if "$secret" in value else {key: resolve(one) for key, one in value.items()}
    return [resolve(one) for one in value] if isinstance(value, list) else value


def run(
    cloud: Any,
    which: str,
    *,
    check: bool = False,
    force: tuple[str, ...] = (),
    services: tuple[str, ...] = ("keystone",),
) -> dict[str, Any]:
    """Converge to a plan; return what was told."""
    resources = tuple(SimpleNamespace(**one) for one in GIVEN[which])
    identity = SimpleNamespace(domains={}, providers=())
    plan: Any = SimpleNamespace(
        site="lab", resources=resources, identity=identity, openstack=SimpleNamespace(services=services)
    )
    changes, begun = Changes(check=check), time.monotonic()
    store: Any = SimpleNamespace(resolve=resolve)
    try:
        engine.Resources(
            api=CloudApi(cloud, ledger=LEDGER), plan=plan, changes=changes, store=store, force=force
        ).converge()
    except GroundupError as error:
        return {"error": str(error)}
    seconds = round(time.monotonic() - begun, 1)
    return {"done": changes.done, "warnings": changes.warnings, "seconds": seconds}


def main() -> None:
    """Make, compare, drift, delete."""
    cloud = openstack.connect(load_yaml_config=False)
    found: dict[str, Any] = {"foreseen": run(cloud, "more", check=True), "first": run(cloud, "more")}
    found["again"] = run(cloud, "more")
    user = next(one for one in cloud.identity.users(domain_id=cloud.identity.find_domain("acme").id))
    account = openstack.connect(
        load_yaml_config=False, load_envvars=False, auth_type="v3applicationcredential",
        auth={"auth_url": cloud.config.auth["auth_url"], "application_credential_name": "ci", "user_id": user.id,
              "application_credential_secret": SECRETS["cloud/web/ci-secret"]},
    )  # fmt: skip
    found["login"] = account.current_project_id == cloud.identity.find_project("web", domain_id=user.domain_id).id
    cloud.identity.update_project(account.current_project_id, is_enabled=False)
    found["off"], found["on"] = run(cloud, "more"), run(cloud, "on")
    theirs = cloud.identity.create_project(name="theirs", domain_id=user.domain_id)
    found["kept"] = run(cloud, "less", force=("delete",))
    cloud.identity.delete_project(theirs)
    found["less"] = run(cloud, "less", force=("delete",))
    found["left"] = sorted(one.name for one in cloud.identity.domains())
    many = run(cloud, "many")
    found["seconds"] = {"first": many["seconds"], "again": run(cloud, "many")["seconds"], "made": len(many["done"])}
    print(json.dumps(found))


if __name__ == "__main__":
    main()

"""Run in a copy of the tree by tree.py: prints what the collection makes of a site with the toy service."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.groundup.cloud.ci.reference import write
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import with_values
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.verify.ask import Verifiers
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.secrets import secrets
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import required

ROOT = Path(sys.argv[1])


def plan_of(*services: str) -> Any:
    """Return the plan of the lab with ``services``."""
    site = yaml.safe_load((ROOT / "inventories/lab/site.yml").read_text())
    site["openstack"] = {"services": list(services)}
    return with_values(make_plan(build_site(site)))


plan = plan_of("keystone", "toy")
release = next(release for release in plan.openstack.releases if release.name == "toy")
database = next(release for release in plan.openstack.releases if release.name == "mariadb")
nothing: Any = None
verifiers = Verifiers(plan=plan, cluster=lambda: nothing, resolve=dict, authority=ROOT / "no-ca.crt")
json.dump(
    {
        "endpoints": {one.service: asdict(one) for one in plan.edge.endpoints},
        "findings": [finding.name for finding in plan.findings if finding.severity == "error"],
        "alone": [finding.name for finding in plan_of("toy").findings],
        "release": asdict(release),
        "database": database.values["extraObjects"]["network_policy"]["spec"]["ingress"][1],
        "secrets": secrets(),
        "required": required(plan),
        "checks": [asdict(check) for check in verifiers.ask(release).checks],
        "written": write(ROOT),
    },
    sys.stdout,
)

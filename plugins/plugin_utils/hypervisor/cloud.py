"""Questions to the cloud's public APIs as its administrator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..compose import site_plan
from ..errors import GroundupError
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..paths import state_dir
from ..rollout.verify.context import VerifierContext
from ..secrets import open_store
from ..services import keystone
from ..services.verification import Check, UnansweredError
from .joining import Ask

# Versions that name hosts as they are, and show inventories by class.
_VERSIONS = {"compute": "compute 2.53", "placement": "placement 1.10"}


def asker(site_file: str | Path) -> Ask:
    """Return what asks the cloud of a site. Raises GroundupError for a site without a Keystone of its own."""
    plan = site_plan(site_file)
    release = next((one for one in plan.openstack.releases if one.verify == keystone.SERVICE.name), None)
    if release is None:
        raise GroundupError(
            "the site has no Keystone of its own",
            where="site file key openstack.services",
            why="hypervisors join a cloud that the site has made",
            remedy="write keystone, glance, placement, neutron and nova into it",
        )
    store = open_store(plan.site, write=False)
    context = VerifierContext(
        api=Api(kubeconfig_path(plan.site)), plan=plan, release=release,
        values=store.resolve(release.values), authority=state_dir(plan.site) / "ca.crt",
    )  # fmt: skip
    tokens: list[keystone.Token] = []

    def token() -> keystone.Token:
        if not tokens:
            found = keystone.token(context)
            if isinstance(found, Check):
                raise UnansweredError(found.detail, where=found.object)
            tokens.append(found)
        return tokens[0]

    def ask(kind: str, path: str) -> Mapping[str, Any]:
        issued = token()
        urls = [one["url"] for one in issued.catalog if one["type"] == kind]
        if not urls:
            raise UnansweredError(f"the catalog has no {kind}", where="Keystone")
        url = urls[0].rstrip("/") + path
        headers = {"X-Auth-Token": issued.id}
        if kind in _VERSIONS:
            headers["OpenStack-API-Version"] = _VERSIONS[kind]
        answer = context.request("GET", url, headers=headers)
        if answer.status == 401:
            tokens.clear()
        if answer.status != 200 or not isinstance(answer.body, dict):
            raise UnansweredError(f"it answers {answer.status}", where=url)
        return answer.body

    return ask

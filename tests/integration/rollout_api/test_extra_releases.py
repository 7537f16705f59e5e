"""A release of the site's own, in its own namespace: rolled out after ours, verified, kept and removed by consent."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply import namespaces
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.engine import Rollout
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import GateRefusedError, RolloutResult

from .conftest import CHARTS, SECRET, Site
from .puppet import Puppet
from .test_rollout import states

MERGE = "application/merge-patch+json"


@contextmanager
def extra(site: Site, tmp_path: Path, *needs: str, chart: Path = CHARTS / "probe") -> Iterator[ReleasePlan]:
    """Yield a release of the site's own, in a namespace that a puppet plays once it is there."""
    space = f"extra-{secrets.token_hex(4)}"
    (tmp_path / space).mkdir()
    one = replace(site.release(f"own-{space[-4:]}", *needs), chart=str(chart), namespace=space)
    with Puppet(site.api, space, tmp_path / space):
        yield one


def placed(rollout: Rollout, site: Site, *, check: bool = False) -> list[str]:
    changes = Changes(check=check)
    namespaces.place(site.api, rollout._plan, changes)
    return changes.done


def applied(rollout: Rollout, site: Site) -> RolloutResult:
    return rollout.apply(before=lambda: placed(rollout, site))


def test_it_comes_after_what_it_needs_is_verified_and_goes_by_consent(site: Site, tmp_path: Path) -> None:
    ours = site.release("ours")
    with extra(site, tmp_path, "ours") as own:
        assert placed(site.rollout(ours, own), site, check=True) == [
            f"Namespace {own.namespace}", f"NetworkPolicy {own.namespace}/groundup",
        ]  # fmt: skip
        predicted = site.rollout(ours, own).check()
        assert states(predicted) == {"ours": "waiting", own.name: "waiting"}
        assert site.api.find(resource_path("v1", "namespaces", name=own.namespace)) is None
        assert states(applied(site.rollout(ours, own), site)) == {"ours": "ready", own.name: "ready"}
        assert any("runs hooks: Job/" in line for line in site.lines)

        again = site.rollout(ours, own)
        assert placed(again, site) == []
        result = again.apply()
        assert (states(result), result.changed) == ({"ours": "unchanged", own.name: "unchanged"}, False)
        assert not site.rollout(ours, own).verify().failed

        # Not ready, and verification says so.
        path = resource_path("apps/v1", "deployments", namespace=own.namespace, name=f"{own.name}-api")
        site.api.request("PATCH", path, body={"spec": {"replicas": 0}}, content_type=MERGE)
        site.api.request("DELETE", path)
        failed = site.rollout(ours, own).verify()
        assert states(failed) == {"ours": "ready", own.name: "failed"}
        assert "it is gone" in failed.cards[0].what
        assert states(site.rollout(ours, own).apply())[own.name] == "ready"

        # Taken out of the site file.
        assert states(site.rollout(ours).check()) == {"ours": "unchanged", own.name: "kept"}
        removed = site.rollout(ours, remove=(own.name,)).apply()
        assert states(removed) == {"ours": "unchanged", own.name: "removed"}
        assert states(site.rollout(ours).check()) == {"ours": "unchanged"}
        assert any(f"namespace {own.namespace} has no release any more" in line for line in site.lines)
        assert SECRET not in "\n".join(site.lines)
        site.api.delete(resource_path("v1", "namespaces", name=own.namespace))


def test_its_namespace_refuses_pods_with_privileges(site: Site, tmp_path: Path) -> None:
    with extra(site, tmp_path) as own:
        placed(site.rollout(own), site)
        spec = {"hostNetwork": True, "containers": [{"name": "a", "image": "a:1"}]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
        with pytest.raises(ApiError, match="violates PodSecurity"):
            site.api.request("POST", resource_path("v1", "pods", namespace=own.namespace), body=body)
        site.api.delete(resource_path("v1", "namespaces", name=own.namespace))


def test_a_namespace_of_somebody_else_and_objects_in_openstacks_are_refused(site: Site, tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    shutil.copytree(CHARTS / "probe", chart)
    (chart / "templates/more.yaml").write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: door, namespace: {site.namespace}}}\n---\n"
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: own}\nrules: []\n"
    )
    with extra(site, tmp_path, chart=chart) as own:
        space: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": own.namespace}}
        site.api.request("POST", "/api/v1/namespaces", body=space)
        assert {reason.code for reason in site.rollout(own).check().reasons} == {"other-namespace", "namespace-taken"}
        with pytest.raises(GateRefusedError, match=f"ConfigMap/door in namespace {site.namespace}"):
            applied(site.rollout(own), site)
        assert any("makes for the whole cluster: ClusterRole/own" in line for line in site.lines)
        site.api.delete(resource_path("v1", "namespaces", name=own.namespace))

"""A control plane for the session, and for each test a namespace with a puppet in it."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import Helm
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.types import resource_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ExtraReleasePlan, ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Processes
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.engine import Rollout
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutOptions

from .control_plane import ControlPlane, programs
from .puppet import NODE, Puppet

CHARTS = Path(__file__).parent / "charts"
LEAVING = itertools.count(11)  # numbers of nodes that leave: each test has one of its own
EXTRA = ExtraReleasePlan(values={}, images={}, ports=(80,), pod_security="baseline")
SECRET = "s3cr3t-value-of-the-store"  # made for the tests, to be searched for


class Store:
    """A secrets store with one secret."""

    def resolve(self, values: Any) -> Any:
        """Return ``values`` with the secret in place of its references."""
        if isinstance(values, dict):
            return SECRET if set(values) == {"$secret"} else {key: self.resolve(item) for key, item in values.items()}
        return values

    def items(self) -> dict[str, str]:
        """Return the secret by its name."""
        return {"probe/password": SECRET}


@dataclass
class Site:
    """A namespace of its own, and a rollout into it."""

    control_plane: ControlPlane
    namespace: str
    api: Api
    puppet: Puppet
    lines: list[str] = field(default_factory=list)

    def release(self, name: str, *needs: str, verify: str = "workloads", **values: Any) -> ReleasePlan:
        """Return a release of the probe chart."""
        return ReleasePlan(
            name=name, chart="probe", version="2026.1.0", namespace=self.namespace, needs=needs, verify=verify,
            values={"password": {"$secret": "probe/password"}, **values},
        )  # fmt: skip

    def rollout(self, *releases: ReleasePlan, **options: Any) -> Rollout:
        """Return a rollout of ``releases``. Patience is short: the puppet does not change its mind. Time is not."""
        processes = Processes()
        plan: Any = SimpleNamespace(
            site="test",
            profile="rack",
            openstack=SimpleNamespace(
                release="2026.1",
                releases=releases,
                charts=str(CHARTS),
                namespace=self.namespace,
                extra_releases={one.name: EXTRA for one in releases if one.is_extra},
            ),
            supply=SimpleNamespace(images={}),
            kubernetes=SimpleNamespace(version="1.36.3", storage_backend="local"),
            edge=SimpleNamespace(endpoints=(), address="127.0.0.1"),
            host=SimpleNamespace(names={}),
        )
        return Rollout(
            plan=plan, api=self.api, processes=processes, secrets=Store(), authority=Path("/nonexistent"),
            helm=Helm(
                binary=self.control_plane.helm, kubeconfig=self.control_plane.kubeconfig, charts=str(CHARTS),
                processes=processes,
            ),
            say=self.lines.append,
            options=RolloutOptions(**{"start_timeout": 240.0, "verify_timeout": 60.0, "patience": 0.05, **options}),
        )  # fmt: skip


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A running control plane; skips, with the reason, where its programs are not built."""
    found, reason = programs()
    if not found:
        pytest.skip(reason)
    running = ControlPlane(tmp_path_factory.mktemp("control-plane"), found)
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture
def node() -> str:
    """Name of the node of the test's pods: one for all tests, but where it leaves."""
    return NODE


@pytest.fixture
def site(control_plane: ControlPlane, tmp_path: Path, node: str) -> Iterator[Site]:
    """A fresh namespace with a puppet that runs every pod."""
    namespace = f"test-{secrets.token_hex(4)}"
    api = Api(control_plane.kubeconfig)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    api.request("POST", "/api/v1/namespaces", body=body)
    with Puppet(api, namespace, tmp_path, node=node) as puppet:
        yield Site(control_plane, namespace, api, puppet)
    if node != NODE:
        api.delete(resource_path("v1", "nodes", name=node))

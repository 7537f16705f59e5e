"""Charts from a registry, with the real helm: by digest for releases of the site's own, by version for ours."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import Helm
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.manifests import parse
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.types import ChartError
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Processes
from ansible_collections.groundup.cloud.tests.unit import tls
from ansible_collections.groundup.cloud.tests.unit.supply import registry

from .conftest import ROOT

PROBE = ROOT / "tests/integration/rollout_api/charts/probe"


@pytest.fixture
def chart(helm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """Reference and digest of a chart in a registry with TLS."""
    authority = tls.pair(names=("CA",))
    (tmp_path / "ca.crt").write_text(authority.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("HELM_CACHE_HOME", str(tmp_path / "helm"))
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with registry.running(pair=tls.pair(names=("localhost",), signed_by=authority), directory=tmp_path) as running:
        place = f"oci://localhost:{running.server_port}/charts"
        subprocess.run([helm, "package", PROBE, "-d", tmp_path], check=True, capture_output=True)
        done = subprocess.run(
            [helm, "push", tmp_path / "probe-2026.1.0.tgz", place], check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        digest = (done.stdout + done.stderr).partition("Digest: ")[2].split()[0]
        yield place, digest


def release(chart: str, version: str = "2026.1.0") -> ReleasePlan:
    return ReleasePlan(
        name="own", chart=chart, version=version, namespace="own", needs=(), verify="workloads", values={}
    )


def client(helm: Path, tmp_path: Path, charts: str) -> Helm:
    return Helm(binary=helm, kubeconfig=tmp_path / "none", charts=charts, processes=Processes())


def test_a_chart_is_rendered_by_its_digest_and_one_of_another_version_is_refused(
    helm: Path, tmp_path: Path, chart: tuple[str, str]
) -> None:
    place, digest = chart
    run = client(helm, tmp_path, "/charts")
    text = run.template(release(f"{place}/probe@{digest}"), {}, kube_version="v1.36.3", api_versions=())
    assert "Deployment" in {item["kind"] for item in parse(text, where="own")}
    with pytest.raises(ChartError, match=r"has version 2026\.1\.0, not 1\.0\.0"):
        run.template(release(f"{place}/probe@{digest}", "1.0.0"), {}, kube_version="v1.36.3", api_versions=())
    wrong = release(f"{place}/probe@sha256:{'0' * 64}")
    with pytest.raises(ChartError, match="does not render"):
        run.template(wrong, {}, kube_version="v1.36.3", api_versions=())


def test_charts_of_ours_from_a_registry_are_rendered_and_tell_their_values(
    helm: Path, tmp_path: Path, chart: tuple[str, str]
) -> None:
    run = client(helm, tmp_path, chart[0])
    text = run.template(release("probe"), {}, kube_version="v1.36.3", api_versions=())
    assert "Deployment" in {item["kind"] for item in parse(text, where="own")}
    assert run.defaults(release("probe"))["greeting"] == "hello"

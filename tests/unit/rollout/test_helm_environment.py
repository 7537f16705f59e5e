"""What helm is called with: no proxy of the operator, and few revisions, each of which holds all passwords."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.run import direct
from ansible_collections.groundup.cloud.plugins.plugin_utils.helm.client import Helm
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import ReleasePlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.process import Finished, bypassing

PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY")


class _Processes:
    def __init__(self) -> None:
        self.env: dict[str, str] = {}
        self.argv: list[str] = []

    def run(self, argv: list[str], *, env: dict[str, str], **__: Any) -> Finished:
        self.env, self.argv = env, argv
        return Finished(code=0, stdout="", stderr="")


def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, charts: str) -> dict[str, str]:
    for name in PROXIES:
        monkeypatch.setenv(name, "http://proxy.example.org:3128")
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("clusters: [{name: one, cluster: {server: 'https://10.0.0.2:6443'}}]")
    processes: Any = _Processes()
    Helm(binary=Path("helm"), kubeconfig=kubeconfig, charts=charts, processes=processes).uninstall("one", namespace="x")
    return dict(processes.env)


def test_a_helm_with_charts_of_its_own_knows_no_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not environment(tmp_path, monkeypatch, "/charts").keys() & set(PROXIES)


@pytest.mark.parametrize("charts", ["oci://charts.example.org/openstack", "https://charts.example.org"])
def test_a_helm_that_fetches_charts_asks_the_cluster_directly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, charts: str
) -> None:
    found = environment(tmp_path, monkeypatch, charts)
    assert found["HTTPS_PROXY"]
    assert "10.0.0.2" in found["NO_PROXY"].split(",")
    assert "10.0.0.2" in found["no_proxy"].split(",")


def test_a_release_keeps_two_revisions(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("clusters: [{name: one, cluster: {server: 'https://10.0.0.2:6443'}}]")
    processes: Any = _Processes()
    release = ReleasePlan(
        name="nova", chart="nova", version="1", namespace="openstack", values={}, needs=(), verify="nova"
    )
    helm = Helm(binary=Path("helm"), kubeconfig=kubeconfig, charts="oci://charts.example.org", processes=processes)
    helm.upgrade(release, {}, digest="d", timeout=9)
    assert processes.argv[processes.argv.index("--history-max") + 1] == "2"


@pytest.mark.parametrize("proxy", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize(
    ("known", "left_out"),
    [
        ({}, ".lab.test,10.0.0.2"),
        ({"NO_PROXY": "10.0.0.0/8"}, "10.0.0.0/8,.lab.test,10.0.0.2"),
        ({"no_proxy": "localhost, .corp", "NO_PROXY": "b c"}, "localhost,.corp,b,c,.lab.test,10.0.0.2"),
        ({"NO_PROXY": "*"}, "*"),
        ({"no_proxy": "a,*"}, "*"),
    ],
)
def test_every_form_of_no_proxy_is_kept_and_the_site_added(proxy: str, known: dict[str, str], left_out: str) -> None:
    found = bypassing({proxy: "http://proxy:3128", **known}, [".lab.test", "10.0.0.2"])
    assert (found["no_proxy"], found["NO_PROXY"], found[proxy]) == (left_out, left_out, "http://proxy:3128")
    assert not {name for name in direct(found) if name.lower().endswith("_proxy")}

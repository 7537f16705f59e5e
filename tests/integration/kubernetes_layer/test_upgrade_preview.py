"""The manifests of two versions, rendered by the real kubeadm below a directory of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import documents
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import preview

pytestmark = pytest.mark.root


def test_another_image_of_the_api_server_is_all_that_differs() -> None:
    plan = make_plan(load_site(COLLECTION / "inventories/lab-ha/site.yml"))
    images = {**plan.supply.images, "kube-apiserver": "registry.test:5000/kubernetes/kube-apiserver:v1.36.3-other"}
    after = replace(plan, supply=replace(plan.supply, images=images))
    text = preview.preview(plan, after)
    changed = [line for line in text.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == [
        f"-    image: {plan.supply.images['kube-apiserver']}",
        f"+    image: {images['kube-apiserver']}",
    ]


def test_every_manifest_that_an_upgrade_writes_is_rendered_with_the_sites_flags() -> None:
    plan = make_plan(load_site(COLLECTION / "inventories/lab-ha/site.yml"))
    texts = preview.manifests(plan, supply.ensure("kubernetes")["kubernetes"].path / "kubeadm")
    assert sorted(texts) == ["kube-apiserver.yaml", "kube-controller-manager.yaml", "kube-scheduler.yaml"]
    assert "--shutdown-delay-duration=10s" in texts["kube-apiserver.yaml"]
    for name, text in texts.items():
        (container,) = yaml.safe_load(text)["spec"]["containers"]
        probe = container["startupProbe"]
        assert probe["httpGet"]["path"] in ("/livez", "/healthz"), name
        assert probe.items() >= documents.STARTUP_PROBE.items(), name

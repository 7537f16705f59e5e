"""What an upgrade changes in the manifests of a control host, by kubeadm of both versions in a directory of its own.

etcd's is not rendered: an upgrade gives it another image at most. Nothing is asked of a host. kubeadm changes its root
directory for it, which takes root.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path

from ...module_utils._base.run import run
from ...module_utils._kubeadm import documents
from ...module_utils._kubeadm.spec import Node
from ...module_utils._plan.kubernetes import NodeSupply
from .. import supply
from ..plan.types import Plan
from ..supply.lock.model import Lock

_CONTROL = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_MANIFESTS = "etc/kubernetes/manifests"


def preview(before: Plan, after: Plan) -> str:
    """Return how the manifests of a control host would differ, or why that is not known. Raises GroundupError."""
    if os.geteuid():
        return "not shown: kubeadm renders the manifests as root alone\n"
    lock, texts = supply.load_lock(), list[Mapping[str, str]]()
    for plan in (before, after):
        name = _artifact(lock, plan.kubernetes.version)
        if name is None or supply.missing(name, lock=lock):
            return f"not shown: kubeadm {plan.kubernetes.version} is not made here yet (groundup.cloud.supply)\n"
        texts.append(manifests(plan, supply.ensure(name, lock=lock)[name].path / "kubeadm"))
    return "".join(
        line
        for file in sorted(texts[0].keys() | texts[1].keys())
        for line in unified_diff(
            texts[0].get(file, "").splitlines(keepends=True), texts[1].get(file, "").splitlines(keepends=True),
            f"{file} ({before.kubernetes.version})", f"{file} ({after.kubernetes.version})", n=0,
        )
    )  # fmt: skip


def manifests(plan: Plan, kubeadm: Path) -> dict[str, str]:
    """Return the manifests that an upgrade writes on the first control host, by file name. Raises GroundupError."""
    host = plan.hosts[plan.kubernetes.first_control]
    node = Node(
        name=host.name, control=True, address=host.address, site=plan.site, cluster=plan.kubernetes,
        supply=NodeSupply(registry=plan.supply.registry, registry_tls=True), sandbox_image="",
        control_images={name: plan.supply.images[name] for name in _CONTROL},
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="groundup-manifests-") as name:
        root = Path(name)
        files = {"kubeadm.yaml": documents.init_config(node)}
        files |= {f"patches/{file}": text for file, text in documents.patches(node).items()}
        for file, text in files.items():
            path = root / documents.SITE_DIR.lstrip("/") / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        run(
            [str(kubeadm), "init", "phase", "control-plane", "all", "--rootfs", str(root), "--config",
             f"{documents.SITE_DIR}/kubeadm.yaml"],
            why="it shows what an upgrade changes", remedy="run the check as root, with the artifacts made",
            timeout=60,
        )  # fmt: skip
        return {path.name: path.read_text(encoding="utf-8") for path in sorted((root / _MANIFESTS).glob("*.yaml"))}


def _artifact(lock: Lock, version: str) -> str | None:
    """Return the artifact that has the programs of ``version``."""
    found = (name for name, one in lock.artifacts.items() if (one.family, one.version) == ("kubernetes", version))
    return next(found, None)

"""What is published is what runs: an image made again under its version reaches its pods, and nothing else changes.

memcached stands for the releases, kube-scheduler for what kubeadm names by version. Both are made with one thing added,
published under the same names, and put back in the end.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import digests
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.digests import PublishedDigests
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.http import ask
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.images import Way, push
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.tunnel import tunnel
from kubernetes import client, config

from .conftest import ROOT, SITE_FILE

pytestmark = pytest.mark.lab
ADDED: dict[str, dict[str, Any]] = {
    "memcached": {"config": {"user": "65534", "cmd": ["memcached", "-v"], "labels": {"made": "again"}}},
    "kube-scheduler": {"env": {"MADE": "again"}},
}
PODS = {"memcached": "memcached-memcached-", "kube-scheduler": "kube-scheduler-"}


def play(*names: str, check: bool = False) -> dict[str, dict[str, int]]:
    """Run playbooks of the collection on the site; return play -> host -> number of tasks that changed something."""
    playbooks = [f"groundup.cloud.{name}" for name in names] + ["--check", "--diff"] * check
    with tempfile.NamedTemporaryFile() as figures:
        done = subprocess.run(
            [ROOT / "ci/run", "ansible-playbook", "-i", SITE_FILE, *playbooks],
            capture_output=True, text=True, check=False, cwd=ROOT, env=os.environ | {"GROUNDUP_TIMELINE": figures.name},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        return {each["name"]: each["changed"] for each in json.load(figures)["plays"] if each["changed"]}


def changed(lock: Lock) -> Lock:
    """Return ``lock`` with something added to two images, under their versions."""
    entries = {
        name: lock.artifacts[name].model_copy(update={"inputs": {**lock.artifacts[name].inputs, **added}})
        for name, added in ADDED.items()
    }
    return lock.model_copy(update={"artifacts": {**lock.artifacts, **entries}})


@pytest.fixture
def made_again(plan: Plan, ssh_config: Path) -> Iterator[PublishedDigests]:
    """Both images made again and published; what the record then says. The site's own are put back, and run again."""
    seed = plan.supply.seed
    assert seed is not None
    made = supply.ensure(list(ADDED), lock=changed(supply.load_lock()))
    record = digests.required(plan.site, seed=seed, dry_run=False)
    try:
        ca = (state_dir(plan.site) / "ca.crt").read_text()
        registry = f"127.0.0.1:{plan.supply.registry.rpartition(':')[2]}"
        targets = (plan.supply.registry_inside, registry)
        with tunnel(["ssh", "-F", str(ssh_config), plan.hosts[seed].address], *targets) as (inside, shown):
            uploads = f"https://{shown}/v2/groundup/memcached/blobs/uploads/"
            assert ask(uploads, method="POST", ca=ca)[0] == HTTPStatus.FORBIDDEN  # where the site reads nobody writes
            push(plan.supply.registry, list(made.values()), way=Way(writes=inside, reads=shown, files=shown, ca=ca))
        newer = record.updated(PublishedDigests.of(made.values(), [], root=Path()))
        digests.save(plan.site, newer)
        yield newer
    finally:
        play("seed", "kubernetes", "openstack")
        for artifact in made.values():
            shutil.rmtree(artifact.path.parent)
    assert digests.load(plan.site) == record


def running(api: Any) -> dict[str, tuple[str, int, frozenset[str]]]:
    """Return every pod that stays, no job's: name -> uid, restarts, digests of its containers' images."""
    return {
        pod.metadata.name: (
            pod.metadata.uid,
            sum(status.restart_count for status in pod.status.container_statuses),
            frozenset(status.image_id.rpartition("@")[2] for status in pod.status.container_statuses),
        )
        for pod in api.list_pod_for_all_namespaces().items
        if pod.status.phase == "Running" and not pod.metadata.deletion_timestamp
        if "Job" not in {owner.kind for owner in pod.metadata.owner_references or []}
    }


def test_an_image_made_again_under_its_version_runs_as_predicted_and_nothing_else_changes(
    plan: Plan, state: Path, made_again: PublishedDigests
) -> None:
    api = client.CoreV1Api(config.new_client_from_config(str(state / "kubeconfig")))
    before = running(api)
    predicted = play("kubernetes", "openstack", check=True)
    assert running(api) == before
    assert play("kubernetes", "openstack") == predicted
    after = running(api)
    for name, prefix in PODS.items():
        digest = made_again.images[plan.supply.images[name].removeprefix(f"{plan.supply.registry}/")]
        new = {pod: digests for pod, (_, _, digests) in after.items() if pod.startswith(prefix)}
        assert new, name
        assert set(new.values()) == {frozenset({digest})}, name
        assert all(digests != {digest} for pod, (_, _, digests) in before.items() if pod.startswith(prefix)), name
    others = [
        {pod: was for pod, was in pods.items() if not pod.startswith(tuple(PODS.values()))} for pods in (before, after)
    ]
    assert others[0] == others[1]

"""The releases as one graph against one after another: the same charts, values, images and machine.

Usage: [SITE=path/to/site.yml] ci/run python ci/bench/rollout.py

Needs a lab whose layer `network` stands; best without hypervisors, whose services would ask what is not there. Removes
releases and all their data twice. Nodes have the images before anything is measured. Bounds: all at once take at
most 1.15 times the longest chain of releases, each measured by itself, and half of the time of one after another.
Exit code: 0 within the bounds, 1 above one.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial

from ansible_collections.groundup.cloud.ci.bench.cloud import ROOT, SITE, Figure, chain, report
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.access import kubeconfig_path
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.session import session
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import RolloutOptions

SITE_FILE = str(ROOT / SITE)
GONE = 300.0  # seconds until a namespace and its volumes are gone
VOLUMES = "/api/v1/persistentvolumes"


def refuse_real_sites(plan: Plan) -> None:
    """Exit unless every host is a container of a lab."""
    real = sorted(name for name, host in plan.hosts.items() if host.provisioner != "container")
    if real:
        sys.exit(f"{', '.join(real)} of {SITE} is no lab host: this benchmark removes all data of the releases")


def command(*words: str) -> None:
    """Run a command. Exits when it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        sys.exit(f"failed: {' '.join(words)}\n{(done.stdout + done.stderr)[-4000:]}")


def empty(plan: Plan) -> None:
    """Remove the releases with their data, and put back what the layers below them keep in their namespace."""
    api = Api(kubeconfig_path(plan.site))
    namespace = f"/api/v1/namespaces/{plan.openstack.namespace}"
    if api.find(namespace):
        api.delete(namespace)
    end = time.monotonic() + GONE
    while api.find(namespace) or _volumes(api, plan.openstack.namespace):
        if time.monotonic() > end:
            sys.exit(f"namespace {plan.openstack.namespace} or its volumes are still there after {GONE:.0f} s")
        time.sleep(1)
    command("ansible-playbook", "-i", SITE_FILE, "groundup.cloud.kubernetes", "groundup.cloud.network")


def _volumes(api: Api, namespace: str) -> list[str]:
    claimed = [
        one for one in api.get(VOLUMES)["items"] if one["spec"].get("claimRef", {}).get("namespace") == namespace
    ]
    return [one["metadata"]["name"] for one in claimed]


def pull() -> None:
    """Have every node pull the site's images."""
    with session(SITE_FILE, say=lambda _: None, reads_only=True) as opened:
        images = sorted(set(opened.plan.supply.images.values()))
    loop = f"set -e; for image in {' '.join(images)}; do /usr/local/bin/crictl pull $image; done"
    command("ansible", "kubernetes", "-i", SITE_FILE, "-b", "-m", "ansible.builtin.shell", "-a", loop)


def deploy(**limits: int) -> tuple[float, dict[str, float]]:
    """Roll everything out; return the seconds, and those of each release. Exits when it fails."""
    lines: list[str] = []
    started = time.monotonic()
    with session(SITE_FILE, say=lines.append, options=RolloutOptions(limits=limits)) as opened:
        result = opened.rollout.apply(before=partial(opened.prepare, Changes(check=False)))
    took = time.monotonic() - started
    if result.failed or not all(report.changed for report in result.releases):
        sys.exit("the rollout failed, or releases were there:\n" + "\n".join(lines[-80:]))
    return took, {report.name: report.seconds for report in result.releases}


def main() -> int:
    """Roll out twice, print, judge."""
    plan = site_plan(SITE_FILE)
    refuse_real_sites(plan)
    pull()
    empty(plan)
    print("[bench] one after another", flush=True)
    one_by_one, single = deploy(apply=1)
    empty(plan)
    print("[bench] as one graph", flush=True)
    at_once, beside = deploy()
    longest, least = chain(plan, single)
    print(f"{'':<14} {'alone, s':>8} {'beside, s':>9}")
    for name in single:
        print(f"{name:<14} {single[name]:8.1f} {beside[name]:9.1f}  {'*' if name in longest else ''}".rstrip())
    print(f"{'all':<14} {one_by_one:8.1f} {at_once:9.1f}  * the longest chain: {least:.1f} s\n")
    return report(
        [
            Figure(what="rollout / longest chain of single releases", measured=at_once / least, most=1.15),
            Figure(what="rollout / one release after another", measured=at_once / one_by_one, most=0.5),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())

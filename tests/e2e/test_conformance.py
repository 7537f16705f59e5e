"""Kubernetes' own conformance tests against a cluster of ours: all that fit this machine pass (docs/conformance.md)."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.run import run
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.tunnel import tunnel
from ansible_collections.groundup.cloud.tests.e2e.conformance import report

pytestmark = pytest.mark.lab
AT_ONCE = 4  # they mostly wait


@pytest.fixture(scope="module")
def registries(plan: Plan, ssh_config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests' images in the seed's registry; the file that names it to the tests."""
    archive = supply.ensure("conformance-images")["conformance-images"].path
    entry = supply.load_lock().artifacts["conformance-images"]
    seed = plan.supply.seed
    assert seed is not None
    with tunnel(["ssh", "-F", str(ssh_config), plan.hosts[seed].address], plan.supply.registry_inside) as (inside,):
        for name in (entry.image, *entry.inputs["variants"]):
            target = f"docker://{inside}/{name}"
            copy = ["skopeo", "--insecure-policy", "copy", "--quiet", "--dest-tls-verify=false"]
            run([*copy, f"oci-archive:{archive}:{name}", target], timeout=600)
    own, cluster = f"{plan.supply.registry}/e2e", f"{plan.supply.registry}/kubernetes"
    names = tmp_path_factory.mktemp("conformance") / "registries.json"  # YAML reads JSON
    names.write_text(json.dumps({"promoterE2eRegistry": own, "gcRegistry": cluster, "gcEtcdRegistry": cluster}))
    return names


def ginkgo(
    state: Path, registries: Path, rules: report.LeftOut, *, result: str, at_once: int = 1, only: Sequence[str] = ()
) -> None:
    """Run the tests, or ``only`` those named; ``result`` is ginkgo's report, kept with its log."""
    programs = supply.ensure("conformance-programs")["conformance-programs"].path
    where = report.place()
    command = [
        str(programs / "ginkgo"), f"--procs={at_once}", "--timeout=4h", "--no-color", f"--label-filter={rules.filter}",
        f"--output-dir={where}", f"--json-report={result}", *(f"--skip={pattern}" for pattern in rules.names),
        *(f"--focus={re.escape(name)}$" for name in only),
        str(programs / "e2e.test"), "--", f"--kubeconfig={state / 'kubeconfig'}", "--provider=skeleton",
        "--num-nodes=2", f"--kubectl-path={supply.tool('kubectl')}", "--disable-log-dump=true",
    ]  # fmt: skip
    environment = os.environ | {"KUBE_TEST_REPO_LIST": str(registries)}
    (where / result).unlink(missing_ok=True)
    with (where / result).with_suffix(".log").open("wb") as log:
        subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False, env=environment)


def test_every_conformance_test_that_can_run_here_passes(plan: Plan, state: Path, registries: Path) -> None:
    rules, where = report.left_out(), report.place()
    where.mkdir(parents=True, exist_ok=True)
    (where / report.ALONE).unlink(missing_ok=True)
    (where / report.RUN).write_text(json.dumps({"version": plan.kubernetes.version, "at_once": AT_ONCE}))
    ginkgo(state, registries, rules, result=report.FIRST, at_once=AT_ONCE)
    first = report.of(report.read(where / report.FIRST, rules), "failed")
    if first:  # of a test that waits for a time limit, a busy machine decides
        ginkgo(state, registries, rules, result=report.ALONE, only=[result.name for result in first])
    found = report.results(where, rules)
    assert report.of(found, "passed"), f"no test has run: see {where}/report.log"
    failed = {result.name: result.reason for result in report.of(found, "failed")}
    assert not failed, f"{len(failed)} of {len(found)} failed; see {where}/alone.log"

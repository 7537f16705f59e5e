"""In and out again, really: Ironic, our ways, and agents without machines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.ci.bench import machines as bench
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import documents, erase, install
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import _enter

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root"), pytest.mark.long]
Inside = Callable[[Callable[[], Any]], Any]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plan, Inside]]:
    if missing := supply.missing(["ironic-13"]):
        pytest.skip(f"not built on this machine: {', '.join(missing)}")
    patch = pytest.MonkeyPatch()
    patch.setattr(documents, "node", documents.node)  # put back afterwards
    patch.setattr(install, "_judged", install._judged)
    for name in ("GROUNDUP_STATE", "ANSIBLE_VAULT_PASSWORD_FILE"):
        patch.setenv(name, "")
    with bench.fake_site(tmp_path_factory.mktemp("site"), 2) as (host, plan), ThreadPoolExecutor(1) as thread:
        (pid,) = [word for word in host.argv("true") if word.isdigit()]
        thread.submit(_enter, int(pid)).result()
        yield bench.without_machines(plan), lambda work: thread.submit(work).result()
    patch.undo()


def installed(site: tuple[Plan, Inside], *names: str) -> dict[str, str]:
    """Install ``names``; return who failed and why."""
    plan, inside = site
    options = install.Options(timeout=600, pause=1.0)
    failed = inside(lambda: install.install(Changes(check=False), plan, names, print, options))
    return {name: error.what for name, error in failed.items()}


def test_a_machine_is_installed_erased_with_a_record_and_installed_anew(site: tuple[Plan, Inside]) -> None:
    plan, inside = site
    assert installed(site, "worker-1", "worker-2") == {}
    known = state_dir(plan.site) / "ssh/known_hosts"
    assert "worker-1" in known.read_text()
    given = {"name": "worker-1", "method": "metadata", "force": frozenset(("disks",)), "timeout": 600.0}
    again = erase.Wanted(stays=True, **given)  # type: ignore[arg-type]
    done = inside(lambda: erase.carry_out(plan, again, print))
    record = json.loads(Path(done["record"]).read_text())
    assert (record["machine"], record["erased"]) == ("worker-1", "metadata")
    assert "worker-1" not in known.read_text()
    assert installed(site, "worker-1") == {}
    out = erase.Wanted(stays=False, **given)  # type: ignore[arg-type]
    inside(lambda: erase.carry_out(plan, out, print))
    assert inside(lambda: erase.verified(plan, out))["changes"] == []
    states = [line["state"] for line in Journal(file_of(home_of(plan.site), "worker-1")).lines()]
    assert states[-1] == "retired"
    assert states.count("installed") == 2

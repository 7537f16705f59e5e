"""What end-to-end tests share: the site under test, its hosts over ssh, and clients outside the cluster.

The site is `$SITE`, by default the lab's. Every test here is marked `lab`: it needs what `make lab` left running.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import testinfra
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store, password_source
from ansible_collections.groundup.cloud.tests.e2e.leaks import Leaks
from ansible_collections.groundup.cloud.tests.e2e.pinging import Pings, pinged

ROOT = Path(__file__).resolve().parents[2]
SITE_FILE = ROOT / os.environ.get("SITE", "inventories/lab/site.yml")


@pytest.fixture(scope="session")
def plan() -> Plan:
    """The plan of the site under test."""
    return site_plan(SITE_FILE)


@pytest.fixture(scope="session")
def state(plan: Plan) -> Path:
    """The site's state directory on this machine."""
    return state_dir(plan.site)


@pytest.fixture
def stored(plan: Plan) -> Mapping[str, str]:
    """Every secret of the site's store, and the store's password."""
    secrets = dict(open_store(plan.site, write=False).items())
    assert secrets, "without secrets a search for them would see nothing"
    return {**secrets, "the password of the store": password_source(plan.site).read().decode().strip()}


@pytest.fixture
def leaks(stored: Mapping[str, str], state: Path) -> Leaks:
    """Look for what is stored, and for the private keys with which the site's hosts and its cluster are reached."""
    user = yaml.safe_load((state / "kubeconfig").read_text())["users"][0]["user"]
    # The first lines of such a file hold what every key of the kind begins with, and the public half.
    ssh = (state / "ssh/id_ed25519").read_text().splitlines()[-3:-1]
    return Leaks(
        {
            **stored,
            "the administrator's key": base64.b64decode(user["client-key-data"]).decode(),
            **{f"line {number} of the ssh key": line for number, line in enumerate(ssh)},
        }
    )


@pytest.fixture(scope="session")
def ssh_config(plan: Plan, state: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site's account, key and known hosts, as ssh reads them."""
    config = tmp_path_factory.mktemp("ssh") / "config"
    config.write_text(
        f"Host *\n  User {plan.access.user}\n  Port {plan.access.port}\n  IdentityFile {state}/ssh/id_ed25519\n"
        f"  IdentitiesOnly yes\n  UserKnownHostsFile {state}/ssh/known_hosts\n  StrictHostKeyChecking yes\n",
        encoding="utf-8",
    )
    return config


@pytest.fixture(scope="session")
def connect(plan: Plan, ssh_config: Path) -> Callable[[str], Any]:
    """Return a function that gives a testinfra host by name, over ssh."""

    def host(name: str) -> Any:
        return testinfra.get_host(f"ssh://{plan.hosts[name].address}", ssh_config=str(ssh_config))

    return host


@pytest.fixture(scope="session")
def outside() -> Callable[..., Any]:
    """Return a function that runs a client script where a user of the cloud would be, and gives the JSON it prints."""

    def run(script: str, *arguments: str) -> Any:
        path = ROOT / "tests/e2e/clients" / script
        command = [str(ROOT / "ci/lab"), "shell", "python", str(path), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, f"{script} failed\n{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)

    return run


@pytest.fixture
def measured(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[[str, str, str], Any]:
    """Return a context that pings an address, and prints what came of it under a case and the host that is lost."""

    @contextmanager
    def ping(address: str, case: str, host: str) -> Iterator[list[Pings]]:
        with pinged(address, tmp_path / "ping") as found:
            yield found
        with capfd.disabled():
            print(f"\n{found[0].line(case, host)}", flush=True)

    return ping


@pytest.fixture
def say(capfd: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Return a function that prints a line of the figures."""

    def printed(line: str) -> None:
        with capfd.disabled():
            print(f"\n{line}", end="", flush=True)

    return printed

"""In and out again, really: Ironic, our ways, and agents without machines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.enough import SuccessCriteria
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import documents, erase, install
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import provision as provision_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.journal import Journal, file_of, home_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.page import page_of
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.provision import Deployment, provision
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import RETRIES
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.integration.metal.fake_site import fake_site, metal_of, without_machines
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import SEED, _enter
from ansible_collections.groundup.cloud.tests.rack import controllers
from ansible_collections.groundup.cloud.tests.unit import tls

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root"), pytest.mark.long]
NETWORK: dict[str, list[Any]] = {"links": [], "networks": [], "services": []}
Inside = Callable[[Callable[[], Any]], Any]


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The list of nodes whose agents say nothing, in the room of the site."""
    return tmp_path_factory.mktemp("site") / "silent"


@pytest.fixture(scope="module")
def site(silent: Path) -> Iterator[tuple[Plan, Inside]]:
    if missing := supply.missing(["ironic-13"]):
        pytest.skip(f"not built on this machine: {', '.join(missing)}")
    patch = pytest.MonkeyPatch()
    patch.setattr(documents, "node", documents.node)  # put back afterwards
    patch.setattr(install, "_judged", install._judged)
    for name in ("GROUNDUP_STATE", "ANSIBLE_VAULT_PASSWORD_FILE"):
        patch.setenv(name, "")
    with fake_site(silent.parent, 5) as (host, plan), ThreadPoolExecutor(1) as thread:
        (pid,) = [word for word in host.argv("true") if word.isdigit()]
        thread.submit(_enter, int(pid)).result()
        yield without_machines(plan), lambda work: thread.submit(work).result()
    patch.undo()


def installed(site: tuple[Plan, Inside], *names: str, say: Callable[[str], None] = print) -> dict[str, str]:
    """Install ``names``; return who failed and why."""
    plan, inside = site
    options = install.InstallOptions(timeout=600, pause=1.0)
    page = inside(lambda: page_of(plan))
    failed = inside(lambda: install.install(Changes(check=False), plan, names, say, options, page=page))
    return {name: error.what for name, error in failed.items()}


def test_a_run_goes_on_once_enough_serve_and_the_next_one_goes_on_with_the_machine_it_left(
    site: tuple[Plan, Inside], silent: Path
) -> None:
    plan, inside = site
    names = ["worker-1", "worker-2", "worker-3"]
    silent.write_text(documents.node_id(plan.site, "worker-3"))
    some = (
        replace(plan, enough={"worker": SuccessCriteria(size=5, machines=2, racks={}, critical=("worker-1",))}),
        inside,
    )
    left = installed(some, *names)
    assert left == {"worker-3": "pending: provisioning, its ramdisk boots, or writes the system"}
    known = (state_dir(plan.site) / "ssh/known_hosts").read_text()
    assert ["worker-1" in known, "worker-2" in known, "worker-3" in known] == [True, True, False]
    silent.unlink()
    assert installed(some, *names) == {}
    lines = Journal(file_of(home_of(plan.site), "worker-3")).lines()
    begun = [line["doing"] for line in lines].count("installation begins")
    assert (lines[-1]["state"], begun) == ("installed", 1), "it went on where it was"


def test_a_machine_that_failed_begins_again_once_somebody_says_so_on_the_page(
    site: tuple[Plan, Inside], silent: Path
) -> None:
    plan, inside = site
    ironic, page = inside(lambda: erase._ironic(plan, "worker-4")), inside(lambda: page_of(plan))

    def say(line: str) -> None:
        if "its ramdisk boots" in line:
            raise InterruptedError(line)

    silent.write_text(documents.node_id(plan.site, "worker-4"))
    assert "InterruptedError" in installed(site, "worker-4", say=say)["worker-4"]
    inside(lambda: ironic.hold("worker-4", on=True, why="somebody works on it"))
    assert installed(site, "worker-4") == {"worker-4": "somebody works on it"}
    silent.unlink()
    assert installed(site, "worker-4") == {"worker-4": "somebody works on it"}, "nobody said that it is mended"
    assert inside(lambda: page.decide("worker-4", "retry", "this test")) == ""
    assert inside(lambda: page.decide("worker-1", "retry", "this test", about="node-1")) == ""
    assert [one["about"] for one in inside(page.decisions)] == ["", "node-1"]
    assert installed(site, "worker-1", "worker-4") == {}
    assert inside(page.decisions) == [], "both were answered"
    doing = [line["doing"] for line in Journal(file_of(home_of(plan.site), "worker-4")).lines()]
    assert "tried again by this test" in doing
    assert "tried again by this test" not in file_of(home_of(plan.site), "worker-1").read_text(), "it is installed"


def test_a_machine_whose_ramdisk_lost_its_token_is_installed_anew(
    site: tuple[Plan, Inside], silent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, inside = site
    monkeypatch.setattr(provision_of, "LOST", 5.0)
    node = documents.node_id(plan.site, "worker-5")
    tokens = list[str]()

    def say(line: str) -> None:
        if "its ramdisk boots" in line and not tokens:
            url = f"{metal_of(plan).api_url}/v1/lookup?node_uuid={node}"
            asked = requests.get(
                url, headers={"X-OpenStack-Ironic-API-Version": "1.95"}, proxies={"https": ""}, timeout=60,
                verify=str(state_dir(plan.site) / "ca.crt"),
            )  # fmt: skip
            tokens.append(asked.json()["config"]["agent_token"])
            silent.unlink()

    silent.write_text(node)
    assert installed(site, "worker-5", say=say) == {}
    assert len(tokens[0]) >= 32, "the ramdisk's own question was answered without it"
    doing = [line["doing"] for line in Journal(file_of(home_of(plan.site), "worker-5")).lines()]
    anew = "attempt 2 of 3: its ramdisk fell silent"
    assert (doing.count(anew), doing.count("installation begins")) == (1, 2)
    assert inside(lambda: erase._ironic(plan, "worker-5").now("worker-5"))["extra"][RETRIES] == 2


def test_a_machine_is_installed_erased_with_a_record_and_installed_anew(site: tuple[Plan, Inside]) -> None:
    plan, inside = site
    assert installed(site, "worker-1", "worker-2") == {}
    known = state_dir(plan.site) / "ssh/known_hosts"
    assert "worker-1" in known.read_text()
    given = {"name": "worker-1", "method": "metadata", "force": frozenset(("disks",)), "timeout": 600.0}
    again = erase.Erasure(stays=True, **given)  # type: ignore[arg-type]
    done = inside(lambda: erase.carry_out(plan, again, print))
    record = json.loads(Path(done["record"]).read_text())
    assert (record["machine"], record["erased"]) == ("worker-1", "metadata")
    assert "worker-1" not in known.read_text()
    assert installed(site, "worker-1") == {}
    out = erase.Erasure(stays=False, **given)  # type: ignore[arg-type]
    inside(lambda: erase.carry_out(plan, out, print))
    assert inside(lambda: erase.remains(plan, out)) == []
    states = [line["state"] for line in Journal(file_of(home_of(plan.site), "worker-1")).lines()]
    assert states[-1] == "retired"
    assert states.count("installed") == 2


def test_controllers_that_talk_nonsense_stop_no_other_and_a_vendor_s_own_driver_is_chosen(
    site: tuple[Plan, Inside], tmp_path: Path
) -> None:
    plan, inside = site
    own = tls.pair(address=SEED)
    pem = tmp_path / "controller.pem"
    pem.write_text(own.certificate + own.key)
    kinds: dict[str, controllers.Kind] = {"nonsense": "garbage", "torn": "half", "closed": "refuses", "mute": "hangs"}
    ports = {name: 8001 + number for number, name in enumerate((*kinds, "dell"))}
    servers = [
        inside(partial(controllers.serve, kinds.get(name, "good"), port=port, pem=pem, vendor="Dell Inc."))
        for name, port in ports.items()
    ]
    ironic = inside(lambda: erase._ironic(plan, "worker-1"))

    def ask(name: str) -> tuple[str, str]:
        """Return the driver of a machine, and its card if it has one."""
        driver = {
            "redfish_address": f"https://{SEED}:{ports[name]}", "redfish_username": "a", "redfish_password": "p",
            "redfish_verify_ca": False,
        }  # fmt: skip
        node = {
            "uuid": documents.node_id("test", name), "name": name, "driver": "redfish", "driver_info": driver,
            "boot_interface": "redfish-virtual-media", "network_data": NETWORK, "extra": {}, "properties": {},
        }  # fmt: skip
        work = Deployment(
            name=name, node=node, mac=f"52:54:02:00:00:{ports[name] % 100:02x}", image={}, configdrive=lambda _: {}
        )

        def say(line: str) -> None:
            if "its boot medium is made" in line:
                raise InterruptedError(line)

        card = ""

        try:
            provision(ironic, work, Journal(tmp_path / name), say, timeout=60, pause=1.0)
        except GroundupError as error:
            card = error.what
        except InterruptedError:
            pass
        return str((ironic.node(name) or {})["driver"]), card

    def all_at_once() -> dict[str, tuple[str, str]]:
        with ThreadPoolExecutor(len(ports)) as pool:
            return dict(zip(ports, pool.map(ask, ports), strict=True))

    found = inside(all_at_once)
    for server in servers:
        server.shutdown()
    assert found["dell"][0] == "idrac", found
    del found["dell"]
    assert "refuses user or password" in found["closed"][1]
    assert all(driver == "redfish" and card for driver, card in found.values()), found

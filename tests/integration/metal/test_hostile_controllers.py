"""Management controllers whose answers have no end, really: the other machines go on, and calls home are heard."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import PASSWORD, SEED
from ansible_collections.groundup.cloud.tests.integration.metal.stranger import KEY, MEDIA, MEMORY, Stranger
from ansible_collections.groundup.cloud.tests.rack import controllers
from ansible_collections.groundup.cloud.tests.unit import tls

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root"),
    pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning"),
    pytest.mark.long,
]


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    own = tls.pair(address=SEED)
    path = tmp_path / "controller.pem"
    path.write_text(own.certificate + own.key)
    return path


def test_controllers_without_an_end_stop_no_other_machine_and_take_no_memory(stranger: Stranger, pem: Path) -> None:
    kinds: dict[str, controllers.Kind] = {"flood": "endless", "nest": "deep", "drip": "drips"}
    servers = []
    for number, (name, kind) in enumerate(kinds.items()):
        servers.append(stranger.seed.inside(partial(controllers.serve, kind, port=8101 + number, pem=pem)))
        driver = {
            "redfish_address": f"https://{SEED}:{8101 + number}", "redfish_username": "a", "redfish_password": "p",
            "redfish_verify_ca": False,
        }  # fmt: skip
        stranger.makes(name, f"52:54:0a:00:00:0{number}", driver="redfish", driver_info=driver)
        stranger.seed.inside(partial(stranger.ironic.provision, name, "manage"))
    stranger.makes("good", "52:54:0a:00:00:0a")
    stranger.seed.inside(lambda: stranger.ironic.provision("good", "manage"))

    def undone(*names: str) -> str:
        return " ".join(name for name in names if not stranger.node(name)["last_error"])

    left = wait_until(lambda: stranger.node("good")["provision_state"] != "manageable", timeout=60, pause=0.5)
    assert not left, stranger.node("good")
    assert not (left := wait_until(lambda: undone("flood", "nest"), timeout=240, pause=1)), left
    assert "more than 16 MiB" in stranger.node("flood")["last_error"]
    assert stranger.memory() < MEMORY
    for server in servers:
        server.shutdown()
    assert not (left := wait_until(lambda: undone("drip"), timeout=120, pause=1)), left


def test_controllers_that_drip_keep_nobody_from_calling_home(stranger: Stranger, pem: Path) -> None:
    server = stranger.seed.inside(partial(controllers.serve, "drips", port=443, pem=pem))
    body = {"address": SEED, "user": "a", "password": "p"}
    stranger.seed.inside(lambda: stranger.ironic.expect("early", sha256=hashlib.sha256(b"t").hexdigest()))

    def both() -> tuple[int, int, list[int]]:
        with ThreadPoolExecutor(8) as pool:
            login = {"auth": ("groundup", PASSWORD), "json": body}
            asked = [pool.submit(stranger._ask, "POST", f"{MEDIA}/v1/controllers", SEED, **login) for _ in range(8)]
            call = {"name": "early", "token": "t", "host_keys": [KEY]}
            heard = stranger._ask("POST", f"{MEDIA}/v1/phone-home", SEED, json=call).status_code
            return heard, sum(one.done() for one in asked), [one.result().status_code for one in asked]

    heard, done, answers = stranger.seed.inside(both)
    server.shutdown()
    assert (heard, done, set(answers)) == (200, 0, {502})

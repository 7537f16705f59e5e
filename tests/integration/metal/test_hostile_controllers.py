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


@pytest.mark.parametrize(
    ("kind", "port", "said"), [("endless", 8101, "more than 16 MiB"), ("deep", 8102, "recursion"), ("drips", 8103, "")]
)
def test_a_controller_without_an_end_stops_no_other_machine_and_takes_no_memory(
    stranger: Stranger, pem: Path, kind: controllers.Kind, port: int, said: str
) -> None:
    server = stranger.seed.inside(partial(controllers.serve, kind, port=port, pem=pem))
    driver = {
        "redfish_address": f"https://{SEED}:{port}", "redfish_username": "a", "redfish_password": "p",
        "redfish_verify_ca": False,
    }  # fmt: skip
    for name, number, more in ((kind, 0, {"driver": "redfish", "driver_info": driver}), (f"good-{kind}", 1, {})):
        stranger.makes(name, f"52:54:0a:00:{port & 255:02x}:0{number}", **more)
        stranger.seed.inside(partial(stranger.ironic.provision, name, "manage"))
    left = wait_until(lambda: stranger.node(f"good-{kind}")["provision_state"] != "manageable", timeout=60, pause=0.5)
    assert not left, stranger.node(f"good-{kind}")
    if kind == "drips":
        server.shutdown()
    left = wait_until(lambda: not stranger.node(kind)["last_error"], timeout=240, pause=1)
    assert not left, stranger.node(kind)
    assert said in stranger.node(kind)["last_error"]
    assert stranger.memory() < MEMORY
    server.shutdown()


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

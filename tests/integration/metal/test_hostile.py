"""Bad and hostile input to a seed, really: it is refused or ends in a card, and the other machines go on."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.discovery import MachineDiscovery
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.documents import node_id
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan
from ansible_collections.groundup.cloud.tests.integration.metal.stranger import API, BOOT, KEY, MEDIA, MEMORY, Stranger
from ansible_collections.groundup.cloud.tests.unit.metal.inventories import told

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a seed's programs run as root"),
    pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning"),
]
OUTSIDE = (
    "/../ironic.sqlite", "/%2e%2e/ironic.sqlite", "/..%2fironic.sqlite", "/groundup/../../ironic.sqlite",
    "/groundup/%2e%2e/%2e%2e/ironic.sqlite", "/groundup/..%5c..%5cironic.sqlite", "//var/lib/ironic/ironic.sqlite",
    f"/{'0' * 36}/deploy_kernel/../../../ironic.sqlite", "/pxelinux.cfg/..%2f..%2fironic.sqlite",
    "/v1/machines/..%2f..%2f..%2fetc%2fironic%2fhtpasswd", "/v1/../../ironic.sqlite", "/redfish/", "/groundup/", "/",
)  # fmt: skip


def test_forged_calls_of_a_ramdisk_are_refused_and_change_nothing(stranger: Stranger) -> None:
    stranger.makes("victim", "52:54:09:00:00:01", deploy_interface="direct")
    url = f"{API}/v1/heartbeat/{stranger.node('victim')['uuid']}"
    call = {"callback_url": "https://10.0.2.66:9999", "agent_version": "13.0.0"}
    for more in ({}, {"agent_token": "forged"}, {"agent_token": ""}, {"agent_token": {"a": 1}}):
        assert stranger.ask("POST", url, json={**call, **more}) in (400, 401, 403), more
    assert stranger.ask("POST", f"{API}/v1/heartbeat/{'0' * 36}", json={**call, "agent_token": "x"}) in (400, 404)
    looked = f"{API}/v1/lookup?addresses=52:54:09:00:00:01"
    token = stranger.seed.inside(lambda: stranger._ask("GET", looked, "10.0.2.7")).json()["config"]["agent_token"]
    again = stranger.seed.inside(lambda: stranger._ask("GET", looked, "10.0.2.8")).json()["config"]["agent_token"]
    assert token
    assert again != token, "a token is given once"
    for forged in (again, token[:-1], token.upper()):
        assert stranger.ask("POST", url, json={**call, "agent_token": forged}) in (400, 401, 403)
    assert "agent_url" not in stranger.node("victim")["driver_internal_info"]
    assert stranger.ask("POST", url, json={**call, "callback_url": "https://10.0.2.7", "agent_token": token}) == 202
    heard = wait_until(
        lambda: "agent_url" not in stranger.node("victim")["driver_internal_info"], timeout=180, pause=0.5
    )
    assert not heard
    assert stranger.ask("POST", url, json={**call, "agent_token": token}) == 400, "another address, with the token"
    assert stranger.node("victim")["driver_internal_info"]["agent_url"] == "https://10.0.2.7"
    for verb, path in (("GET", "nodes"), ("DELETE", f"nodes/{node_id('hostile', 'victim')}"), ("POST", "nodes")):
        assert stranger.ask(verb, f"{API}/v1/{path}", json={}) == 401


def test_a_machine_that_says_it_is_another_changes_nothing_of_that_one(stranger: Stranger) -> None:
    stranger.makes("owner", "52:54:09:00:00:02")
    stranger.makes("other", "52:54:09:00:00:03")
    listed = len(stranger.seed.inside(stranger.ironic.discovered))
    port = {"mac_address": "52:54:09:00:00:02", "name": "ens1"}
    taken = told(0x60, inventory={"interfaces": [port]})
    both = told(0x60, inventory={"interfaces": [port, {**port, "mac_address": "52:54:09:00:00:03"}]})
    assert stranger.tell(taken) == 404
    assert stranger.tell(both) == 404
    assert stranger.tell(told(0x60), query=f"?node_uuid={stranger.node('owner')['uuid']}") == 404
    assert stranger.tell(told(0x60, inventory={"interfaces": [{**port, "mac_address": "../../etc/passwd"}]})) == 400
    assert stranger.node("owner")["inspection_finished_at"] is None
    assert stranger.seed.inside(lambda: stranger.ironic.inventory("owner")) is None
    assert len(stranger.seed.inside(stranger.ironic.discovered)) == listed
    with pytest.raises(GroundupError, match="another machine has its MAC address 52:54:09:00:00:02"):
        stranger.makes("late", "52:54:09:00:00:02")
    assert stranger.seed.inside(lambda: stranger.ironic.macs(node_id("hostile", "owner"))) == {"52:54:09:00:00:02"}


def test_two_machines_of_one_serial_number_are_both_quarantined_and_a_third_is_not_concerned(
    stranger: Stranger, tmp_path: Path
) -> None:
    for number, serial in ((0x61, "SAME1"), (0x62, "SAME1"), (0x63, "\u001b[2J../../x")):
        assert stranger.tell(told(number, serial=serial), address="10.0.2.8") == 202
    assert stranger.tell(told(0x64, memory=10**400), address="10.0.2.8") in (202, 400), "and stops nobody below"
    found = MachineDiscovery(
        ironic=stranger.ironic, plan=make_plan(load_site(COLLECTION / "inventories/lab-metal/site.yml")),
        home=tmp_path, say=lambda _line: None, seconds=0, password=lambda _name: "p",
    )  # fmt: skip
    seen: dict[str, Any] = {}

    def unheard() -> str:
        seen.update({one.boots: verdict for one, verdict in stranger.seed.inside(found.look).values()})
        return "" if len(seen) == 3 else f"{len(seen)} of 3"

    assert not (left := wait_until(unheard, timeout=180, pause=1)), left
    cards = {boots[-2:]: verdict.card for boots, verdict in seen.items()}
    assert cards["61"].what == cards["62"].what == "it has SAME1, and so does another machine"
    assert "SAME1" not in str(cards["63"])
    assert {path.suffix for path in (tmp_path / "discovered").iterdir()} == {".json", ".jsonl"}


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_inventories_without_measure_are_refused_and_take_no_memory(stranger: Stranger, kind: str) -> None:
    inspected = f"{API}/v1/continue_inspection"
    headers = {"Content-Type": kind}
    large = b'{"inventory": {"interfaces": [{"mac_address": "52:54:09:00:00:10"}]}, "x": "' + b"x" * 50 * 2**20 + b'"}'
    assert stranger.ask("POST", inspected, data=large, headers=headers) == 413
    parts = (large[at : at + 2**20] for at in range(0, len(large), 2**20))  # chunked: nothing says how large it is
    assert _cut_or(lambda: stranger.ask("POST", inspected, data=parts, headers=headers)) == 413
    assert _cut_or(lambda: stranger.ask("POST", f"{API}/v1/heartbeat/victim", data=large, headers=headers)) == 413
    deep = b'{"inventory": ' + b"[" * 2**20
    assert stranger.ask("POST", inspected, data=deep, headers=headers, address="10.0.2.10") == 400
    for path in ("v1/heartbeat/victim", "v1/nodes", "machines/v1/login"):
        status = stranger.ask("POST", f"{API}/{path}", data=b"[" * 60000, headers={**headers, "Origin": API})
        assert 400 <= status < 500, path
    assert stranger.seed.inside(stranger.ironic.nodes)
    assert stranger.memory() < MEMORY


def _cut_or(ask: Callable[[], int]) -> int:
    """Return the status; 413 where the answer is lost because the seed closed what was still being sent."""
    try:
        return ask()
    except requests.ConnectionError:
        return 413


def test_who_tells_of_many_machines_is_slowed_down_and_others_are_heard(stranger: Stranger) -> None:
    def one(number: int) -> requests.Response:
        body = told(number, serial=f"MANY{number}")
        said = {"inventory": body["inventory"], "x": ["y" * 1000] * 3900}
        try:
            return stranger._ask("POST", f"{API}/v1/continue_inspection", "10.0.2.11", json=said)
        except requests.ConnectionError:  # the answer is lost because the seed closed what was still being sent
            lost = requests.Response()
            lost.status_code = 503
            return lost

    began = time.monotonic()
    status = stranger.all_at_once([partial(one, 0x80 + number) for number in range(60)])
    assert set(status) == {202, 503}, status
    assert status.count(202) <= 13 + (time.monotonic() - began) / 10, "a dozen, and then six a minute"
    # As its ramdisk does: again when the seed is busy.
    left = wait_until(lambda: stranger.tell(told(0x70), address="10.0.2.9") != 202, timeout=180, pause=5)
    assert not left
    assert stranger.memory() < MEMORY


def test_forged_calls_home_are_refused_while_the_true_one_is_heard(stranger: Stranger) -> None:
    home = f"{MEDIA}/v1/phone-home"
    stranger.seed.inside(lambda: stranger.ironic.expect("called", sha256=hashlib.sha256(b"token").hexdigest()))
    true = {"name": "called", "token": "token", "host_keys": [KEY]}
    forged: list[tuple[bytes, int]] = [
        (json.dumps({**true, **more}).encode(), status)
        for more, status in (
            ({"token": "forged"}, 403), ({"token": "\ud800"}, 403), ({"token": ["token"]}, 403),
            ({"name": "../../../etc/passwd"}, 403), ({"name": "worker-99"}, 403), ({"name": None}, 403),
            ({"host_keys": ["ssh-rsa A\n@cert-authority * ssh-rsa BBBB"]}, 400), ({"host_keys": ["x" * 70000]}, 413),
        )
    ]  # fmt: skip
    forged += [(b"[" * 60000, 400), (b"\x00\xff" * 100, 400), (b"", 400), (b"[]", 400)]
    slow = stranger.seed.inside(lambda: [_begins(home) for _ in range(100)])
    for body, status in forged:
        assert stranger.ask("POST", home, data=body) == status, body[:60]
    for verb, path in (("GET", "machines"), ("PUT", "machines/called"), ("POST", "controllers")):
        assert stranger.ask(verb, f"{MEDIA}/v1/{path}", json={"sha256": "0" * 64}) == 401
    assert stranger.ask("POST", home, json=true) == 200
    assert stranger.ask("POST", home, json=true) == 200, "its answer was lost"
    assert stranger.ask("POST", home, json={**true, "host_keys": [KEY + "x"]}) == 403, "replayed"
    for one in slow:
        one.close()


def _begins(url: str) -> ssl.SSLSocket:
    """Begin a call and never end it."""
    place = urlsplit(url)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    begun = context.wrap_socket(socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30))
    begun.sendall(f"POST {place.path} HTTP/1.1\r\nHost: {place.hostname}\r\nContent-Length: 900\r\n\r\n{{".encode())
    return begun


@pytest.mark.parametrize("place", [MEDIA, BOOT])
def test_nothing_but_what_machines_boot_is_given_whatever_the_path(stranger: Stranger, place: str) -> None:
    asks = ["curl", "-sk", "--path-as-is", "--noproxy", "*", "--interface", "10.0.2.7", "-w", "\n%{http_code}"]
    for path in OUTSIDE:
        said = stranger.seed.host.run(*asks, f"{place}{path}", errors="replace").stdout
        assert said.splitlines()[-1] in ("400", "401", "403", "404"), (path, said[:200])
        assert "SQLite format" not in said
    assert stranger.seed.host.run(*asks, f"{BOOT}/groundup/known.ipxe").stdout.endswith("\n200")

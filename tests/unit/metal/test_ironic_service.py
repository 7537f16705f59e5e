"""Configuration of the seed's Ironic: what must not be open is not."""

from __future__ import annotations

import configparser
import http.server
import socket
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration, page, service
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.install import InstallOptions

WANTED: dict[str, Any] = {
    "api_url": "https://10.0.0.8:6385", "media_url": "https://10.0.0.8:6386", "api_port": 6385, "media_port": 6386,
    "api_inside": 6388, "contact_inside": 6389, "machines_inside": 6390,
    "ramdisk": "/srv/groundup/deploy-ramdisk-13/13.0.0",
}  # fmt: skip
FOUND = configuration.values(WANTED, environment=Path("/opt/groundup/ironic/current"))


def ini(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's and oslo's keys have a case
    parser.read_string(text)
    return parser


def test_ironic_listens_to_its_host_alone_and_wants_a_password() -> None:
    found = ini(configuration.conf(FOUND))
    assert found["api"]["host_ip"] == "127.0.0.1"
    assert found["DEFAULT"]["auth_strategy"] == "http_basic"
    assert found["database"]["connection"] == "sqlite:////var/lib/ironic/ironic.sqlite"
    assert found["conductor"]["automated_clean"] == "false", "nobody has looked at the disks yet"
    assert found["deploy"]["erase_devices_priority"] == "0"


def test_ironic_takes_the_port_that_a_machine_boots_from_alone() -> None:
    assert ini(configuration.conf(FOUND))["inspector"]["add_ports"] == "pxe", "others may be on all machines of a model"


def test_an_ironic_that_was_killed_ends_all_that_a_run_may_have_under_way_and_has_threads_for_it() -> None:
    most = int(ini(configuration.conf(FOUND))["conductor"]["periodic_max_workers"])
    assert most >= 2 * InstallOptions().at_once, "machines of another run count, too"
    assert 8 + 2 * most + 2 < 285, "it does not start with more than its pool of 300 holds, less a share for its API"


def test_ramdisks_are_given_addresses_that_they_reach_and_the_site_s_ca() -> None:
    found = ini(configuration.conf(FOUND))
    assert found["service_catalog"]["endpoint_override"] == WANTED["api_url"]
    assert found["deploy"]["http_url"] == WANTED["media_url"]
    assert found["agent"]["api_ca_file"] == found["DEFAULT"]["webserver_verify_ca"] == str(configuration.CA)


@pytest.mark.parametrize("path", [configuration.UNIT, configuration.CONTACT_UNIT])
def test_a_unit_is_not_root_s_and_writes_its_own_directory_alone(path: Path) -> None:
    unit = ini(configuration.units(FOUND)[path])["Service"]
    assert (unit["User"], unit["ProtectSystem"], unit["NoNewPrivileges"]) == ("ironic", "strict", "true")
    assert unit["ReadWritePaths"] == "/var/lib/ironic"


def test_the_page_of_machines_has_an_account_of_its_own_and_no_way_to_ironic_s_files() -> None:
    unit = ini(page.unit_text(WANTED, environment=Path("/opt/groundup/ironic/current")))["Service"]
    assert unit["User"] == unit["Group"] == "groundup-machines"
    assert (unit["ProtectSystem"], unit["NoNewPrivileges"], unit["CapabilityBoundingSet"]) == ("strict", "true", "")
    assert "ReadWritePaths" not in unit
    assert str(configuration.PASSWORDS) not in unit["ExecStart"].split(), "its mode is for Ironic's account"
    assert "--port 6390" in unit["ExecStart"]


def test_the_web_server_shows_both_with_tls_alone() -> None:
    text = configuration.web(FOUND)
    listens = [line.strip() for line in text.splitlines() if line.strip().startswith("listen ")]
    assert listens == ["listen 6385 ssl;", "listen 6386 ssl;"]
    assert text.count("ssl_protocols TLSv1.2 TLSv1.3;") == 2
    assert "autoindex" not in text


@pytest.mark.parametrize(
    ("place", "zone"),
    [
        ("= /machines/v1/login", "logins"),
        ("/machines/", "calls"),
        ("/v1/", "calls"),
        ("/v1/continue_inspection", "inventories"),
    ],
)
def test_whoever_tries_passwords_or_sends_much_is_limited_by_address(place: str, zone: str) -> None:
    text = configuration.web(FOUND)
    _, _, rest = text.partition(f"location {place} {{\n")
    assert f"limit_req zone={zone} burst=" in rest.partition("}")[0]
    assert f"limit_req_zone $binary_remote_addr zone={zone}:1m rate=" in text


def test_no_source_has_all_connections_of_the_seed_and_a_silent_one_ends() -> None:
    for server in configuration.web(FOUND).split("\nserver {")[1:]:
        assert f"limit_conn sources {configuration.CONNECTIONS};" in server
        assert "client_header_timeout 10s;" in server
    assert configuration.CONNECTIONS * 2 < 768, "of nginx: one to the client, one to what answers"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Make the database below ``tmp_path``; programs of Ironic's account are this test's."""
    monkeypatch.setattr(configuration, "DATABASE", tmp_path / "ironic.sqlite")

    def make(*, logged: bool = True) -> list[str]:
        def run(argv: Sequence[str], **_more: Any) -> str:
            words = list(argv)[list(argv).index("--") + 1 :]
            if "create_schema" in words:
                place = next(word for word in words if word.startswith("OS_DATABASE__")).partition("sqlite:///")[2]
                sqlite3.connect(place).execute("CREATE TABLE nodes (id)").connection.close()
            elif logged:
                exec(words[-1])  # noqa: S102  # a line of the module's
            return ""

        monkeypatch.setattr(service, "run", run)
        changes = Changes(check=False)
        service._database(changes, tmp_path)
        return changes.done

    return make


def test_the_database_is_made_once_with_write_ahead_logging_and_read_by_nobody_else(
    made: Callable[..., list[str]],
) -> None:
    assert len(made()) == 1
    assert configuration.DATABASE.stat().st_mode & 0o777 == 0o600
    assert made() == []


def test_a_database_without_write_ahead_logging_is_an_error(made: Callable[..., list[str]]) -> None:
    with pytest.raises(GroundupError, match="journal is delete"):
        made(logged=False)


def test_a_page_that_does_not_answer_is_named_with_its_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only Ironic answers."""

    class Ironic(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_given: Any) -> None: ...

    monkeypatch.setattr(service, "START", 0.0)
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ironic) as ironic,
        socket.create_server(("127.0.0.1", 0)) as one,
    ):
        threading.Thread(target=ironic.serve_forever, daemon=True).start()
        free = one.getsockname()[1]
        one.close()
        with pytest.raises(GroundupError, match="the page of machines does not answer") as refused:
            service.answers({"api_inside": ironic.server_port, "machines_inside": free})
        service.answers({"api_inside": ironic.server_port, "machines_inside": ironic.server_port})
        ironic.shutdown()
    assert refused.value.remedy.endswith("groundup-machines.service")

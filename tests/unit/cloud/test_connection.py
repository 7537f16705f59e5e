"""A site's names are reached at the plan's addresses; the certificate must be of the name."""

from __future__ import annotations

import http.server
from pathlib import Path
from typing import Any

import pytest
import requests
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import connection
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.administrator import UnreachedError
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.connection import pinned
from ansible_collections.groundup.cloud.plugins.plugin_utils.compose import site_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.tests.unit import tls
from keystoneauth1 import exceptions
from openstack.exceptions import HttpException

from .fake import FakeCloud

ROOT = Path(__file__).resolve().parents[3]


class Hosts(http.server.BaseHTTPRequestHandler):
    """Answers with the name it was asked by."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.headers["Host"].encode())

    def log_message(self, *_: Any) -> None:
        pass


def get(directory: Path, *, names: list[str], url: str, known: dict[str, str]) -> str:
    pair = tls.pair(names=names)
    (directory / "ca.crt").write_text(pair.certificate)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hosts)
    pair.shown_by(server, directory)
    with tls.serving(server) as port:
        return pinned(known).get(url.format(port=port), verify=str(directory / "ca.crt"), timeout=10).text


def test_a_name_is_reached_at_its_address_and_named_in_the_request(tmp_path: Path) -> None:
    found = get(tmp_path, names=["api.test"], url="https://api.test:{port}/v3", known={"api.test": "127.0.0.1"})
    assert found.startswith("api.test:")


def test_a_certificate_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(requests.exceptions.SSLError, match=r"api\.test"):
        get(tmp_path, names=["other.test"], url="https://api.test:{port}/", known={"api.test": "127.0.0.1"})


@pytest.mark.parametrize("url", ["https://elsewhere.test:{port}/", "http://api.test:{port}/"])
def test_nothing_but_https_to_names_of_the_site(url: str, tmp_path: Path) -> None:
    with pytest.raises(requests.exceptions.InvalidURL, match="public names"):
        get(tmp_path, names=["api.test"], url=url, known={"api.test": "127.0.0.1"})


def test_no_proxy_and_no_bundle_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere")
    assert get(tmp_path, names=["api.test"], url="https://api.test:{port}/", known={"api.test": "127.0.0.1"})


def test_another_user_comes_by_the_same_way(admin: Any, fake: FakeCloud) -> None:
    user = connection.as_user(admin, user_id="u1", password="p", project_id="other")
    assert user.current_project_id == "other"
    assert user.session.session is admin.session.session
    user.network.create_network(name="n")
    assert fake.of("networks")[0]["project_id"] == "other"


def test_a_site_whose_secrets_are_not_made_has_no_cloud_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    with pytest.raises(UnreachedError, match=r"ca\.crt"):
        connection.of_site(site_plan(ROOT / "inventories/lab/site.yml"))


@pytest.mark.parametrize(
    ("error", "unreached"),
    [
        (exceptions.ConnectFailure("refused"), True),
        (exceptions.EndpointNotFound("no network"), True),
        (exceptions.ServiceUnavailable("503"), True),
        (HttpException("bad gateway", http_status=502), True),
        (HttpException("conflict", http_status=409), False),
        (exceptions.Unauthorized("wrong password"), False),
    ],
)
def test_a_cloud_that_is_not_there_is_told_from_one_that_refuses(error: Exception, unreached: bool) -> None:
    with pytest.raises(GroundupError) as caught, connection.answered("Neutron"):
        raise error
    assert isinstance(caught.value, UnreachedError) is unreached

"""The seed's web server, by the very nginx of a host: who is served what, and which configuration it takes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._base.run import run
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._seed import configuration
from ansible_collections.groundup.cloud.plugins.module_utils._seed.converge import REGISTRY as CONFIGURATION
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.unit import tls

INSIDE, STRANGER = "10.0.0.8", "192.0.2.1"
CA = "/root/ca.crt"
WANTED = {
    "registry_inside": "127.0.0.1:5001", "registry_port": 5000, "files_port": 8080, "files_root": "/srv/groundup",
    "readers": ["10.0.0.0/24"],
}  # fmt: skip
REGISTRY, FILES = "https://127.0.0.1:5000", "https://127.0.0.1:8080"


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostRoot]:
    """A host that runs both services by our configuration."""
    own = tls.pair()
    with host_root(tmp_path_factory.mktemp("host"), f"{INSIDE}/24", f"{STRANGER}/24") as host:
        host.at(configuration.PEM).write_text(own.certificate + own.key)
        host.at(CA).write_text(own.certificate)
        host.at(CONFIGURATION).write_text(configuration.registry(WANTED, digest="d"))
        host.at(configuration.WEB).write_text(configuration.web(WANTED, digest="d"))
        place = host.at("/srv/groundup/program/1")
        place.mkdir(parents=True)
        (place / "file").write_text("content\n")
        host.start("docker-registry", "serve", str(CONFIGURATION))
        host.start("nginx", "-g", "daemon off;")
        assert not wait_until(lambda: ask(host, f"{REGISTRY}/v2/") != HTTPStatus.OK, timeout=180)
        yield host


def ask(host: HostRoot, url: str, *options: str) -> int:
    """Return the status of the answer; 0 without one."""
    curl = ["curl", "--silent", "--noproxy", "*", "--cacert", str(host.at(CA)), "--output", "/dev/null"]
    done = host.run(*curl, "--write-out", "%{http_code}", *options, url, outside=True)
    return int(done.stdout)


@pytest.mark.parametrize(
    ("url", "options", "status"),
    [
        (f"{FILES}/program/1/file", (), 200),
        (f"{FILES}/", (), 204),
        (f"{FILES}/program/", (), 403),
        (f"{REGISTRY}/v2/", (), 200),
        (f"{REGISTRY}/v2/a/blobs/uploads/", ("--request", "POST"), 403),
        (f"{FILES}/program/1/file", ("--interface", INSIDE), 200),
        (f"{FILES}/program/1/file", ("--interface", STRANGER), 403),
        (f"{REGISTRY}/v2/", ("--interface", STRANGER), 403),
        (f"{FILES}/", ("--interface", STRANGER), 403),
        ("http://127.0.0.1:8080/program/1/file", (), 400),
        ("http://127.0.0.1:5000/v2/", (), 400),
        (f"{FILES}/", ("--tls-max", "1.2"), 204),
        (f"{FILES}/", ("--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"), 0),
    ],
)
def test_who_is_served_what(seed: HostRoot, url: str, options: tuple[str, ...], status: int) -> None:
    assert ask(seed, url, *options) == status


def test_nginx_is_asked_before_a_configuration_takes_its_place(
    seed: HostRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_the_host(argv: list[str], **more: Any) -> str:
        return run(seed.argv(*(word.removeprefix(str(seed.at("/")).rstrip("/")) for word in argv)), **more)

    before = seed.at(configuration.WEB).read_text()
    monkeypatch.setattr(tempfile, "tempdir", str(seed.at("/tmp")))  # noqa: S108  # below the seed's own root
    monkeypatch.setattr(configuration, "WEB", seed.at(configuration.WEB))
    monkeypatch.setattr(configuration, "run", on_the_host)
    new = tmp_path / "new"
    new.write_text(configuration.web({**WANTED, "files_port": 8081}, digest="d"))
    configuration.nginx_takes(new)
    new.write_text(configuration.web({**WANTED, "readers": ["10.0.0.0/99"]}, digest="d"))
    with pytest.raises(GroundupError, match=r'invalid parameter "10.0.0.0/99" in /etc/nginx/conf.d/groundup.conf:\d+'):
        configuration.nginx_takes(new)
    assert configuration.WEB.read_text() == before

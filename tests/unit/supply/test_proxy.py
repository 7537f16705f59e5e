"""What is fetched goes through the site's proxy, with its login; what is the site's own does not."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.site_proxy import fetching
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make import machine
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.oci import manifest_digest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.images import push
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.unit import tls
from ansible_collections.groundup.cloud.tests.unit.proxies import Proxy, proxying

from .conftest import FakeBuilder
from .registry import Registry, running
from .test_oci import PROGRAM_IMAGE

MakeLock = Callable[..., Lock]
CONTENT = b"a program\n"
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
LOGIN = "operator:se same/@1"
DEAD = "http://127.0.0.1:9"


def site(proxy: Proxy, *, login: bool = False, ca: str | None = None) -> dict[str, Any]:
    """Return what the inventory says of a site with that proxy."""
    no_proxy = ["localhost", "127.0.0.1", ".unit.test", "10.0.0.0/8"]
    found = {"http": proxy.url, "https": proxy.url, "no_proxy": no_proxy, "ca": ca}
    return {"site": "unit", "proxy": {**found, "login": "proxy/login" if login else None}}


@pytest.fixture
def web(tmp_path: Path) -> Iterator[int]:
    """The port of a web server with a program, which also is a list of Python packages."""
    root = tmp_path / "web"
    (root / "simple/empty").mkdir(parents=True)
    (root / "program").write_bytes(CONTENT)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(root))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with tls.serving(server):
        yield server.server_port


@pytest.fixture
def given(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The login of the proxy, in the site's store."""
    del state
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    open_store("unit").take({"proxy/login": LOGIN})


def program(make_lock: MakeLock) -> Lock:
    """Return a lock with a file of a server that only the proxy knows."""
    return make_lock(a={"upstream": {"files": {"program": {"url": "http://files.test/program", "digest": DIGEST}}}})


@pytest.mark.usefixtures("given")
def test_a_fetch_goes_through_it_with_the_login_whatever_the_environment_says(
    web: int, make_lock: MakeLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, DEAD)
    monkeypatch.setenv("no_proxy", "files.test")
    before = dict(os.environ)
    with proxying(http=web, login=LOGIN) as proxy:
        with fetching(site(proxy, login=True)):
            made = supply.ensure("a", lock=program(make_lock), source="upstream")["a"]
        assert (made.path / "program").read_bytes() == CONTENT
        assert proxy.seen == ["GET http://files.test/program"]
    assert dict(os.environ) == before


def test_without_the_field_the_environment_decides(
    web: int, make_lock: MakeLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with proxying(http=web) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        with fetching({"site": "unit", "proxy": None}), fetching(None):
            supply.ensure("a", lock=program(make_lock), source="upstream")
        assert proxy.seen == ["GET http://files.test/program"]


@pytest.mark.usefixtures("given")
def test_a_refused_login_is_in_no_error_and_no_log(web: int, make_lock: MakeLock, cache: Path) -> None:
    with proxying(http=web, login="other:word") as proxy:
        with pytest.raises(GroundupError, match="407") as caught, fetching(site(proxy, login=True)):
            supply.ensure("a", lock=program(make_lock), source="upstream")
        assert proxy.seen == ["GET http://files.test/program"]
    logs = b"".join(path.read_bytes() for path in (cache / "logs").rglob("*.log"))
    for form in ("se same/@1", "se%20same", "operator:"):
        assert form not in str(caught.value)
        assert form.encode() not in logs


@pytest.mark.usefixtures("given")
@pytest.mark.parametrize("part", ["what", "where", "why", "remedy"])
def test_no_part_of_an_error_repeats_the_login(part: str) -> None:
    login = quote(LOGIN.partition(":")[2], safe="")
    parts = {"what": "a", "where": "b", "why": "c", "remedy": "d"}
    with proxying() as proxy, pytest.raises(GroundupError) as caught, fetching(site(proxy, login=True)):
        raise GroundupError(**{**parts, part: os.environ["http_proxy"]})
    assert login not in str(caught.value)
    assert "****" in str(caught.value)


@pytest.mark.usefixtures("given")
def test_a_program_that_prints_its_proxy_prints_no_login(fake: FakeBuilder, tmp_path: Path, cache: Path) -> None:
    from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.process import Commands

    del fake, cache
    with proxying() as proxy, fetching(site(proxy, login=True)):
        commands = Commands(tmp_path / "log")
        commands.log.touch()
        with pytest.raises(GroundupError, match=r"http://\*+@127") as caught:
            commands.run(["sh", "-c", 'echo "cannot reach $http_proxy"; exit 1'], what="sh")
    assert "se%20same" not in str(caught.value) + commands.log.read_text()


@pytest.mark.parametrize("held", [None, "sesame", "sesame:", ":sesame"])
def test_a_login_that_is_not_given_or_none_stops_before_anything_is_asked(
    held: str | None, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del state
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    if held:
        open_store("unit").take({"proxy/login": held})
    with proxying() as proxy:
        with pytest.raises(GroundupError, match="proxy/login is not") as caught, fetching(site(proxy, login=True)):
            raise AssertionError
        assert proxy.seen == []
    assert "sesame" not in str(caught.value)
    assert "secrets_given" in caught.value.remedy


@pytest.mark.root
@pytest.mark.usefixtures("given")
def test_an_image_comes_by_tls_through_a_proxy_that_signs_for_its_servers(
    fake: FakeBuilder, make_lock: MakeLock, registry: Registry, tmp_path: Path
) -> None:
    del fake
    built = supply.ensure("image", lock=make_lock(program={}, image=PROGRAM_IMAGE))["image"]
    push(registry.address, [built], tls_verify=False)
    upstream = {"reference": "images.test/test/program:1", "digest": manifest_digest(built.path)}
    there = make_lock(image={**PROGRAM_IMAGE, "needs": [], "upstream": upstream})
    pair = tls.pair(names=["images.test"])
    with (
        running(showing=registry, pair=pair, directory=tmp_path) as shown,
        proxying(https=shown.server_port, login=LOGIN) as proxy,
    ):
        with pytest.raises(GroundupError, match="certificate"), fetching(site(proxy, login=True)):
            supply.ensure("image", lock=there, source="upstream")
        with fetching(site(proxy, login=True, ca=pair.certificate)):
            found = supply.ensure("image", lock=there, source="upstream")["image"]
        assert set(proxy.seen) == {"CONNECT images.test:443"}
    assert manifest_digest(found.path) == upstream["digest"]


@pytest.mark.usefixtures("given")
def test_pip_goes_through_it(web: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--isolated", "--no-deps", "--dest", str(tmp_path)]
    command += ["--retries", "0", "--index-url", "http://python.test/simple", "--trusted-host", "python.test", "empty"]
    with proxying(http=web, login=LOGIN) as proxy, fetching(site(proxy, login=True)):
        subprocess.run(command, env={**os.environ, **machine.environment()}, check=False, capture_output=True)
        assert proxy.seen[:1] == ["GET http://python.test/simple/empty/"]


@pytest.mark.usefixtures("given")
def test_apt_goes_through_it_and_not_through_that_of_the_machines_own_configuration(
    web: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options and the environment are those that builders give apt."""
    own = tmp_path / "own.conf"
    own.write_text(f'Acquire::http::Proxy "{DEAD}";\nAcquire::Retries "0";\nAcquire::http::Timeout "7";\n')
    monkeypatch.setenv("APT_CONFIG", str(own))
    (tmp_path / "lists/partial").mkdir(parents=True)
    (tmp_path / "sources.list").write_text("deb [trusted=yes] http://debian.test/debian stable main\n")
    with proxying(http=web, login=LOGIN) as proxy, fetching(site(proxy, login=True)):
        options = machine.apt_options()
        assert 'Acquire::http::Timeout "7";' in options
        assert DEAD not in str(options)
        lines = [
            'Dir::Etc::Parts "/dev/null";', 'Dir::Etc::Main "/dev/null";', 'Dir::Etc::SourceParts "/dev/null";',
            f'Dir::Etc::SourceList "{tmp_path}/sources.list";', f'Dir::State::Lists "{tmp_path}/lists";',
            f'Dir::Cache "{tmp_path}/cache";', f'APT::Sandbox::User "{os.environ.get("USER", "root")}";', *options,
        ]  # fmt: skip
        (tmp_path / "apt.conf").write_text("\n".join([*lines, ""]))
        environment = {"PATH": os.environ["PATH"], "APT_CONFIG": f"{tmp_path}/apt.conf", **machine.environment()}
        subprocess.run(["apt-get", "update"], env=environment, check=False, capture_output=True)
        assert proxy.seen[:1] == ["GET http://debian.test/debian/dists/stable/InRelease"]


def test_what_the_site_names_is_asked_directly(web: int, make_lock: MakeLock) -> None:
    files = {"program": {"url": f"http://127.0.0.1:{web}/program", "digest": DIGEST}}
    with proxying(http=web) as proxy:
        with fetching(site(proxy)):
            supply.ensure("a", lock=make_lock(a={"upstream": {"files": files}}), source="upstream")
        assert proxy.seen == []


def test_a_second_ca_is_trusted_beside_the_machines_own(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.crt"
    own.write_text("OWN\n")
    monkeypatch.setattr(machine, "CA_BUNDLE", str(own))
    with proxying() as proxy:
        with fetching(site(proxy, ca="SECOND\n")):
            bundle = machine.environment()["PIP_CERT"]
            assert machine.apt_trust() == (f'Acquire::https::CAInfo "{bundle}";',)
            assert Path(bundle).read_text() == "OWN\n\nSECOND\n"
            assert Path(bundle).is_relative_to(cache)
        assert (machine.environment()["PIP_CERT"], machine.apt_trust()) == (str(own), ())

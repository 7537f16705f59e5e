"""The seed's services: configured, serving by their configuration, and left alone when they do."""

from __future__ import annotations

import http.server
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import apt, ownership, packages, sources, units
from ansible_collections.groundup.cloud.plugins.module_utils._seed import configuration
from ansible_collections.groundup.cloud.plugins.module_utils._seed import converge as seed
from ansible_collections.groundup.cloud.tests.unit import tls

OWN, OTHER = tls.pair(), tls.pair()


class Services:
    """Stands for systemctl and the two services: their answers name the configuration they took up last."""

    def __init__(self, etc: Path) -> None:
        self.etc, self.active, self.calls = etc, set[str](), list[str]()
        self.serves: str | None = None
        self.deaf = False  # takes nothing up, as an nginx that cannot bind its port
        self.broken = False
        self.refuses = ""  # what nginx says of any configuration

    def run(self, argv: list[str], **_: object) -> str:
        if argv[0] == "unshare":
            if self.refuses:
                raise GroundupError(self.refuses, where="nginx", why="refused", remedy="none")
            return ""
        if argv[1] == "show":
            return f"ActiveState={'active' if argv[-1] in self.active else 'inactive'}\nUnitFileState=enabled\n"
        self.calls.append(" ".join(word for word in argv[1:] if word != "--"))
        if argv[3:] == [*seed.UNITS]:
            self.deaf = False
        self.active.update(argv[argv.index("--") + 1 :])
        if not self.deaf and not self.broken:
            text = (self.etc / "files.conf").read_text() if (self.etc / "files.conf").exists() else ""
            self.serves = text.partition(f"{configuration.HEADER} ")[2].partition(";")[0] or None
        return ""


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Services:
    found = Services(tmp_path)
    for module in (seed, configuration, units):
        monkeypatch.setattr(module, "run", found.run)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(packages, "installed", lambda *_: None)
    monkeypatch.setattr(ownership, "FILE", tmp_path / "site")
    monkeypatch.setattr(apt, "OURS", tmp_path / "apt/apt.conf")
    monkeypatch.setattr(sources, "APT", tmp_path / "etc-apt")
    places = {"REGISTRY": "config.yml", "PEM": "seed.pem", "WEB": "files.conf", "DISTRIBUTIONS_PAGE": "default"}
    for name, path in places.items():
        monkeypatch.setattr(configuration if name in {"PEM", "WEB"} else seed, name, tmp_path / path)
    monkeypatch.setattr(seed, "RELOAD", 0.0)
    monkeypatch.setattr(seed, "RESTART", 0.0)
    return found


Ports = tuple[int, int]


@pytest.fixture
def ports(services: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    """The ports at which the registry answers, in plain HTTP, and the web server, with TLS."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if services.active else 503)
            if services.serves:
                self.send_header(configuration.HEADER, services.serves)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    registry, web = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2))
    OWN.shown_by(web, tmp_path_factory.mktemp("web"))
    with tls.serving(registry) as inside, tls.serving(web) as outside:
        yield inside, outside


def addresses(port: int) -> dict[str, str]:
    """Where the site finds a seed whose web server has ``port``."""
    return {"registry": f"registry.unit.test:{port}", "files_url": f"https://registry.unit.test:{port}"}


def converge(ports: Ports, root: Path, *, check: bool = False, **other: Any) -> Changes:
    changes = Changes(check=check)
    wanted = {
        **addresses(ports[1]), "packages": [], "registry_inside": f"127.0.0.1:{ports[0]}",
        "files_root": str(root / "srv"), "site": "unit", "readers": ["10.0.0.0/24"], "certificate": OWN.certificate,
        "private_key": OWN.key, "ca_certificate": OWN.certificate, "repositories": [], "packages_seed": None,
        "packages_url": None, "packages_proxy": None, "packages_proxy_login": "",
    }  # fmt: skip
    seed.converge(changes, {**wanted, **other})
    return changes


def test_a_second_run_changes_nothing_and_restarts_nothing(services: Services, ports: Ports, tmp_path: Path) -> None:
    (tmp_path / "default").write_text("the distribution's page\n")
    first = converge(ports, tmp_path)
    assert services.calls == ["start docker-registry.service", "start nginx.service"]
    assert not (tmp_path / "default").exists()
    assert (tmp_path / "srv").is_dir()
    assert len(first.diffs) == 4
    services.calls.clear()
    assert converge(ports, tmp_path).done == []
    assert converge(ports, tmp_path, check=True).done == []
    assert services.calls == []


def test_of_a_mirror_nothing_is_read_before_something_is_missing(
    ports: Ports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "fetch_lists", lambda _: pytest.fail("fetched"))
    mirror: dict[str, Any] = dict.fromkeys(("packages_key", "packages_ca"), "")
    mirror |= {"packages_url": "https://seed.unit.test", "packages_suites": ["s"], "packages_components": ["c"]}
    converge(ports, tmp_path, **mirror)
    assert (sources.APT / "sources.list.d" / sources.NAME).exists()


def test_the_registry_is_written_to_at_the_loopback_and_read_through_the_web_server(
    services: Services, ports: Ports, tmp_path: Path
) -> None:
    converge(ports, tmp_path)
    assert f"addr: 127.0.0.1:{ports[0]}\n" in (tmp_path / "config.yml").read_text()
    web = (tmp_path / "files.conf").read_text()
    assert f"proxy_pass http://127.0.0.1:{ports[0]};" in web
    assert "limit_except GET { deny all; }" in web
    assert f"root {tmp_path}/srv;" in web
    assert services.serves is not None
    assert services.serves in (tmp_path / "config.yml").read_text()


def test_a_dry_run_says_every_change_and_makes_none(services: Services, ports: Ports, tmp_path: Path) -> None:
    predicted = converge(ports, tmp_path, check=True)
    assert not list(tmp_path.iterdir())
    assert services.calls == []
    assert predicted.done == converge(ports, tmp_path).done
    other = converge(ports, tmp_path, check=True, files_root=str(tmp_path / "elsewhere"))
    assert other.done[0] == f"make {tmp_path}/elsewhere"
    assert [diff["after_header"] for diff in other.diffs] == [
        str(tmp_path / "config.yml"),
        str(tmp_path / "files.conf"),
    ]


def test_a_change_restarts_the_registry_and_reloads_the_web_server(
    services: Services, ports: Ports, tmp_path: Path
) -> None:
    converge(ports, tmp_path)
    services.calls.clear()
    converge(ports, tmp_path, files_root=str(tmp_path / "elsewhere"))
    assert services.calls == ["restart docker-registry.service", "reload nginx.service"]


def test_services_that_do_not_serve_by_their_configuration_are_restarted(
    services: Services, ports: Ports, tmp_path: Path
) -> None:
    converge(ports, tmp_path)
    services.calls.clear()
    services.serves, services.deaf = "another", True
    assert converge(ports, tmp_path, check=True).done == [
        "restart docker-registry.service and nginx.service, which do not serve by their configuration"
    ]
    assert services.calls == []
    converge(ports, tmp_path)
    assert services.calls == ["restart docker-registry.service nginx.service"]
    assert converge(ports, tmp_path).done == []


def test_services_that_do_not_serve_after_a_restart_are_an_error(
    services: Services, ports: Ports, tmp_path: Path
) -> None:
    services.broken = True
    with pytest.raises(GroundupError, match=f"not served by its configuration: http://127.0.0.1:{ports[0]}/v2/"):
        converge(ports, tmp_path)


def test_nothing_is_installed_before_the_repositories_of_packages_are_there_whole(
    services: Services, ports: Ports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debian = {"VERSION_ID": "13", "VERSION_CODENAME": "trixie"}
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: debian)
    place, root = "packages-13/2026-11-28-3f9a0c1b", tmp_path / "srv"
    installs: list[str] = []

    def installed(changes: Changes, names: list[str]) -> None:
        if changes.check:
            return
        assert (root / place / "dists/trixie/InRelease").read_text() == "signed"
        assert f"file:{root}/{place} trixie" in (tmp_path / "apt/seed.list").read_text()
        installs.extend(names)

    monkeypatch.setattr(packages, "installed", installed)
    given: dict[str, Any] = {
        "packages": ["nginx-light"],
        "packages_seed": {"url": f"file:{root}", "places": {"13": place}, "key": "KEY"},
        "repositories": [
            {
                "path": "packages-13/13", "place": place, "former": "", "mark": ".whole", "content": "1",
                "release": "dists/trixie/InRelease", "signed": "signed",
            }
        ],
    }  # fmt: skip
    predicted = converge(ports, tmp_path, check=True, **given).done
    assert f"receive {root}/{place}" in predicted
    assert [lacks(tmp_path, **given), installs, services.calls] == [[place], [], []]
    (root / place).mkdir(parents=True)
    (root / place / ".whole").write_text("1")
    converge(ports, tmp_path, **given)
    assert installs == ["nginx-light"]
    assert converge(ports, tmp_path, **given).done == []


def lacks(root: Path, **given: Any) -> list[str]:
    """Return what the module says the host lacks."""
    found: list[str] = seed.converge(
        Changes(check=False), addresses(1) | {"site": "unit", "files_root": str(root / "srv"), **given}
    )["lacking"]
    return found


def test_the_web_server_speaks_tls_only_and_serves_nobody_but_the_site(
    services: Services, ports: Ports, tmp_path: Path
) -> None:
    converge(ports, tmp_path, readers=["10.0.0.0/24", "10.7.0.0/16"])
    web = (tmp_path / "files.conf").read_text()
    servers = web.split("server {")[1:]
    assert len(servers) == 2
    for server in servers:
        assert [line.split()[1:] for line in server.splitlines() if "listen" in line] == [[str(ports[1]), "ssl;"]]
        assert "ssl_protocols TLSv1.2 TLSv1.3;" in server
        rules = [line.strip() for line in server.splitlines() if line.startswith(("    allow", "    deny"))]
        assert rules == ["allow 127.0.0.0/8;", "allow 10.0.0.0/24;", "allow 10.7.0.0/16;", "deny all;"]
    assert "autoindex" not in web
    assert services.active


def test_the_key_is_for_root_alone_and_shown_nowhere(services: Services, ports: Ports, tmp_path: Path) -> None:
    done = converge(ports, tmp_path)
    assert services.active
    assert (tmp_path / "seed.pem").read_text() == OWN.certificate + OWN.key
    assert (tmp_path / "seed.pem").stat().st_mode & 0o777 == 0o600
    assert OWN.key.splitlines()[1] not in str(done)


@pytest.mark.usefixtures("services")
def test_a_key_of_another_certificate_takes_no_place(ports: Ports, tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match="certificate and key of seed are no pair"):
        converge(ports, tmp_path, private_key=OTHER.key)
    assert not (tmp_path / "seed.pem").exists()


def test_what_nginx_refuses_takes_no_place_and_its_words_are_told(
    services: Services, ports: Ports, tmp_path: Path
) -> None:
    converge(ports, tmp_path)
    before, services.refuses = (tmp_path / "files.conf").read_text(), "nginx: [emerg] invalid parameter"
    services.calls.clear()
    with pytest.raises(GroundupError, match=r"nginx: \[emerg\] invalid parameter"):
        converge(ports, tmp_path, readers=["10.1.0.0/16"])
    assert (tmp_path / "files.conf").read_text() == before
    assert "reload nginx.service" not in services.calls


def test_another_certificate_is_taken_up(services: Services, ports: Ports, tmp_path: Path) -> None:
    converge(ports, tmp_path)
    services.calls.clear()
    done = converge(ports, tmp_path, check=True, certificate=OTHER.certificate, private_key=OTHER.key).done
    assert f"write {tmp_path}/seed.pem" in done
    assert "reload nginx.service" in done


def test_the_registry_never_starts_by_the_distributions_configuration(
    services: Services, ports: Ports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its package starts it, and what the package brings listens on all interfaces."""
    found: list[str] = []
    monkeypatch.setattr(packages, "installed", lambda *_: found.append((tmp_path / "config.yml").read_text()))
    converge(ports, tmp_path)
    assert f"addr: 127.0.0.1:{ports[0]}\n" in found[0]
    assert services.calls


def test_the_seed_of_another_site_is_left_alone(services: Services, ports: Ports, tmp_path: Path) -> None:
    (tmp_path / "site").write_text("other AAAA\n")
    with pytest.raises(GroundupError, match=r"(?s)belongs to site other.*remove .*site"):
        converge(ports, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    assert services.calls == []
    (tmp_path / "site").write_text("unit AAAA\n")
    converge(ports, tmp_path)

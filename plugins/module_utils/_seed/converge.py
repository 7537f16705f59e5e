"""Converge the services of a seed: the site's registry and the web server of its file tree."""

from __future__ import annotations

import hashlib
import http.client
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

from .._base import tls
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run
from .._base.wait import wait_until
from .._host import ownership, packages, sources
from .._host.units import Unit
from . import configuration, repositories

REGISTRY = Path("/etc/docker/registry/config.yml")
DISTRIBUTIONS_PAGE = Path("/etc/nginx/sites-enabled/default")
UNITS = ("docker-registry.service", "nginx.service")
RELOAD = 5.0  # seconds for a service to load its configuration after a reload, or refuse it
RESTART = 30.0


def converge(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Converge the host to the options ``given``; return the result. Raises GroundupError.

    Without whole package repositories nothing is installed: ``lacking`` has the directories that the action must send.
    """
    wanted = {**given, **configuration.ports(given)}
    root = Path(wanted["files_root"])
    ownership.refuse_other(wanted["site"])
    if not root.is_dir() and changes.add(f"make {root}"):
        root.mkdir(mode=0o755, parents=True)
    if lacking := repositories.receive(changes, root, wanted["repositories"]):
        return {**changes.result(), "lacking": lacking}
    sources.way_out(changes, wanted)
    source = sources.wanted_source(wanted)
    # Of a site's mirror the seed reads nothing before something is missing: it may be what serves it.
    unread = sources.packages_from(changes, source) and isinstance(source, sources.SeedRepository)
    pem = tls.with_key(wanted["certificate"], wanted["private_key"])
    unsigned = configuration.registry(wanted, digest="") + configuration.web(wanted, digest="") + wanted["certificate"]
    digest = hashlib.sha256(unsigned.encode()).hexdigest()
    registry, web = Unit(changes, UNITS[0]), Unit(changes, UNITS[1], on_change="reload")
    # Before its package, which starts it: with the distribution's configuration it would listen on all addresses.
    registry.generate(REGISTRY, configuration.registry(wanted, digest=digest))
    if not packages.installed(changes, wanted["packages"]) and unread:
        sources.fetch_lists(changes)
    registry.running()  # first: the distribution's configuration listens on the web server's port
    web.place(configuration.PEM, pem, mode=0o600, secret=True, valid=partial(tls.check_pair, user="seed"))
    web.place(configuration.WEB, configuration.web(wanted, digest=digest), valid=configuration.nginx_takes)
    web.generate(DISTRIBUTIONS_PAGE, "")
    web.running()
    serve(changes, wanted, digest=digest)
    return changes.result()


def serve(changes: Changes, wanted: dict[str, Any], *, digest: str) -> None:
    """Restart services that do not serve with the configuration of ``digest``. Raises GroundupError."""
    if changes.check and changes.done:
        return  # they will serve with it once these changes are made
    places = [
        f"http://{wanted['registry_inside']}/v2/",
        f"https://127.0.0.1:{wanted['registry_port']}/v2/",
        f"https://127.0.0.1:{wanted['files_port']}/",
    ]
    trust = urllib.request.HTTPSHandler(context=tls.client_context(ca=wanted["ca_certificate"]))
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), trust)

    def others() -> list[str]:
        return [place for place in places if _configuration(place, direct) != digest]

    if not wait_until(others, timeout=RELOAD if changes.done else 0, pause=0.2):
        return
    if changes.add(f"restart {' and '.join(UNITS)}, which do not serve by their configuration"):
        look = "journalctl -n 50 " + " ".join(f"-u {unit}" for unit in UNITS)
        run(["systemctl", "restart", "--", *UNITS], remedy=look)
        if left := wait_until(others, timeout=RESTART, pause=0.2):
            raise GroundupError(
                f"not served by its configuration: {', '.join(left)}",
                where=f"{REGISTRY}, {configuration.WEB}",
                why=f"{RESTART:g} s after a restart, {configuration.HEADER} is not {digest}",
                remedy=look,
            )


def _configuration(url: str, direct: urllib.request.OpenerDirector) -> str | None:
    """Return the configuration digest that ``url`` responds with, None without a response."""
    try:
        with direct.open(url, timeout=5) as answer:
            return str(answer.headers.get(configuration.HEADER))
    except (OSError, http.client.HTTPException):
        return None

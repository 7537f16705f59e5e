#!/usr/bin/python
"""Converge the services of a seed: the site's registry and the web server of its file tree."""

from __future__ import annotations

DOCUMENTATION = r"""
module: seed_node
short_description: Converge the registry and web server of a seed
version_added: 0.1.0
description:
  - First sends the package repositories of O(packages_seed) that the host lacks, and sets its package source.
  - Installs docker-registry and nginx if missing, and makes them serve with the written configuration.
  - The registry accepts pushes at O(registry_inside) only. The web server publishes it read-only at O(registry_port),
    and the file tree at O(files_port). It speaks TLS only, and refuses clients outside O(readers).
  - nginx checks its new configuration before it replaces the old one, then reloads.
  - Both services send a digest of their configuration with every response. They are restarted if the digest is not the
    current one.
options:
  site:
    description: Name of the site, whose state directory has the signed package lists.
    type: str
    required: true
  repositories:
    description:
      - Package repositories in O(files_root), each with a marker file that says it is complete. The action fills it in.
    type: list
    elements: dict
    default: []
    suboptions:
      place:
        description: Directory below O(files_root).
        type: str
        required: true
      mark:
        description: Name of the marker file.
        type: str
        required: true
      content:
        description: Content of O(repositories[].mark) when the repository is complete and current.
        type: str
        required: true
      release:
        description: Name of the repository's signed list.
        type: str
        default: ""
      signed:
        description: The signed list. Empty in check mode, before the site has a key.
        type: str
        default: ""
  registry_inside:
    description: Loopback address and port that the registry listens on.
    type: str
    required: true
  registry_port:
    description: Port of the read-only registry for the site.
    type: int
    required: true
  files_port:
    description: Port of the file tree for the site.
    type: int
    required: true
  files_root:
    description: Directory of the file tree.
    type: path
    required: true
  readers:
    description: Client networks to serve, beside the host itself.
    type: list
    elements: str
    required: true
attributes:
  check_mode:
    description: Predicts. nginx does not check the configuration.
  diff_mode:
    description: Shows every file without secrets.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.packages
  - groundup.cloud.host.certificate
"""

EXAMPLES = r"""
- name: Converge registry and web server
  groundup.cloud.seed_node:
    site: lab
    packages: [docker-registry, nginx-light]
    registry_inside: 127.0.0.1:5001
    registry_port: 5000
    files_port: 8080
    files_root: /srv/groundup
    readers: [10.90.0.0/24]
    certificate: "{{ lookup('groundup.cloud.state_file', 'pki/seed.crt') }}"
    private_key: "{{ lookup('groundup.cloud.secret', 'pki/seed-key') }}"
    ca_certificate: "{{ lookup('groundup.cloud.state_file', 'ca.crt') }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
lacking:
  description: Directories of O(repositories) that are incomplete on the host. Nothing else was changed then.
  type: list
  elements: str
  returned: when there are any, and not in check mode
"""

import hashlib
import http.client
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

from ..module_utils._base import files, tls
from ..module_utils._base.changes import Changes
from ..module_utils._base.errors import GroundupError
from ..module_utils._base.module import run_module
from ..module_utils._base.options import CERTIFICATE
from ..module_utils._base.run import run
from ..module_utils._base.wait import wait_until
from ..module_utils._host import ownership, packages, sources
from ..module_utils._host.units import Unit
from ..module_utils._seed import configuration

REGISTRY = Path("/etc/docker/registry/config.yml")
DISTRIBUTIONS_PAGE = Path("/etc/nginx/sites-enabled/default")
UNITS = ("docker-registry.service", "nginx.service")
RELOAD = 5.0  # seconds for a service to load its configuration after a reload, or refuse it
RESTART = 30.0

REPOSITORY: dict[str, dict[str, Any]] = {
    "place": {"type": "str", "required": True},
    "mark": {"type": "str", "required": True},
    "content": {"type": "str", "required": True},
    "release": {"type": "str", "default": ""},
    "signed": {"type": "str", "default": ""},
}


def converge(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Converge the host to ``wanted`` and return the module's result. Raises GroundupError."""
    root = Path(wanted["files_root"])
    ownership.refuse_other(wanted["site"])
    if not root.is_dir() and changes.add(f"make {root}"):
        root.mkdir(mode=0o755, parents=True)
    if lacking := repositories(changes, root, wanted["repositories"]):
        return {**changes.result(), "lacking": lacking}
    sources.packages_from(changes, sources.wanted_source(wanted))
    pem = tls.with_key(wanted["certificate"], wanted["private_key"])
    unsigned = configuration.registry(wanted, digest="") + configuration.web(wanted, digest="") + wanted["certificate"]
    digest = hashlib.sha256(unsigned.encode()).hexdigest()
    registry, web = Unit(changes, UNITS[0]), Unit(changes, UNITS[1], on_change="reload")
    # Before its package, which starts it: with the distribution's configuration it would listen on all addresses.
    registry.generate(REGISTRY, configuration.registry(wanted, digest=digest))
    packages.installed(changes, wanted["packages"])
    registry.running()  # first: the distribution's configuration listens on the web server's port
    web.place(configuration.PEM, pem, mode=0o600, secret=True, valid=partial(tls.check_pair, user="seed"))
    web.place(configuration.WEB, configuration.web(wanted, digest=digest), valid=configuration.nginx_takes)
    web.generate(DISTRIBUTIONS_PAGE, "")
    web.running()
    serve(changes, wanted, digest=digest)
    return changes.result()


def repositories(changes: Changes, root: Path, wanted: list[dict[str, Any]]) -> list[str]:
    """Return the directories of repositories to send; place the signed lists when none is missing."""
    lacking = [one["place"] for one in wanted if files.read(root / one["place"] / one["mark"]) != one["content"]]
    for place in lacking:
        changes.add(f"receive {root / place}")
    for one in wanted:
        if one["signed"] and (changes.check or not lacking):
            files.place(changes, root / one["place"] / one["release"], one["signed"])
    return [] if changes.check else lacking


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


def main() -> None:
    """Read the options, converge, report."""
    run_module(
        {
            "site": {"type": "str", "required": True},
            "registry_inside": {"type": "str", "required": True},
            "registry_port": {"type": "int", "required": True},
            "files_port": {"type": "int", "required": True},
            "files_root": {"type": "path", "required": True},
            "repositories": {"type": "list", "elements": "dict", "default": [], "options": REPOSITORY},
            **sources.OPTIONS,
            "readers": {"type": "list", "elements": "str", "required": True},
            **CERTIFICATE,
        },
        converge,
    )


if __name__ == "__main__":
    main()

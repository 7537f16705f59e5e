#!/usr/bin/python
"""Converge the services of a seed: the site's registry, and the web server for its file tree."""

from __future__ import annotations

DOCUMENTATION = r"""
module: seed_node
short_description: Converge the registry and web server of a seed
version_added: 0.1.0
description:
  - First sends the repositories of packages of O(packages_seed) that the host lacks, and sets its package source.
  - Installs docker-registry and nginx when they are missing, writes their configuration, and has them serve by it.
  - The registry takes images at O(registry_inside) only. The web server shows it to the site at O(registry_port), to
    be read, and the file tree at O(files_port).
  - Both services send a digest of their configuration with every answer. Services that do not send the current one
    are restarted.
options:
  site:
    description: Name of the site, whose state directory has the signed lists of packages.
    type: str
    required: true
  repositories:
    description: Repositories of packages in O(files_root), by the files that say they are whole. The action fills it.
    type: list
    elements: dict
    default: []
    suboptions:
      place:
        description: Directory below O(files_root).
        type: str
        required: true
      mark:
        description: Name of the file that says what is in it.
        type: str
        required: true
      content:
        description: What O(repositories[].mark) says when the repository is as it should be.
        type: str
        required: true
      release:
        description: Name of the signed list of the repository.
        type: str
        default: ""
      signed:
        description: The signed list. Empty in check mode, before the site has a key.
        type: str
        default: ""
  registry_inside:
    description: Address and port of the host's loopback at which the registry listens.
    type: str
    required: true
  registry_port:
    description: Port at which the site reads the registry.
    type: int
    required: true
  files_port:
    description: Port at which the site reads the file tree.
    type: int
    required: true
  files_root:
    description: Directory of the file tree.
    type: path
    required: true
attributes:
  diff_mode:
    description: Shows every file.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.packages
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
"""

RETURN = r"""
changes:
  description: What was done, or in check mode would be, a line each.
  type: list
  elements: str
  returned: success
lacking:
  description: Directories of O(repositories) that the host does not have whole. Nothing else was done then.
  type: list
  elements: str
  returned: when there are any, and not in check mode
"""

import hashlib
import http.client
import urllib.request
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.groundup.cloud.plugins.module_utils._base import files
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._base.module import finish
from ansible_collections.groundup.cloud.plugins.module_utils._base.run import run
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._host import packages, sources
from ansible_collections.groundup.cloud.plugins.module_utils._host.units import Unit

REGISTRY = Path("/etc/docker/registry/config.yml")
WEB = Path("/etc/nginx/conf.d/groundup.conf")
DISTRIBUTIONS_PAGE = Path("/etc/nginx/sites-enabled/default")
UNITS = ("docker-registry.service", "nginx.service")
HEADER = "X-Groundup-Configuration"
RELOAD = 5.0  # seconds until a service that was told to takes up its configuration, or has refused to
RESTART = 30.0

REPOSITORY: dict[str, dict[str, Any]] = {
    "place": {"type": "str", "required": True},
    "mark": {"type": "str", "required": True},
    "content": {"type": "str", "required": True},
    "release": {"type": "str", "default": ""},
    "signed": {"type": "str", "default": ""},
}

REGISTRY_TEXT = """\
version: 0.1
log:
  level: warn
storage:
  filesystem:
    rootdirectory: /var/lib/docker-registry
  cache:
    blobdescriptor: inmemory
http:
  addr: %(registry_inside)s
  relativeurls: true
  headers:
    %(header)s: [%(digest)s]
"""

WEB_TEXT = """\
server {
    listen %(files_port)s;
    add_header %(header)s %(digest)s;
    root %(files_root)s;
    autoindex on;
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
}

# The registry as the site sees it: to be read. What nodes run as root is put in at the seed's loopback, by ssh.
server {
    listen %(registry_port)s;
    add_header %(header)s %(digest)s;
    access_log off;
    location / {
        return 404;
    }
    location /v2/ {
        limit_except GET { deny all; }  # GET is HEAD too
        proxy_hide_header %(header)s;  # the registry's: this is the web server's answer
        proxy_pass http://%(registry_inside)s;
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header Connection "";
        proxy_max_temp_file_size 0;  # layers are passed on, not written a second time
        proxy_read_timeout 300s;
    }
}
"""


def converge(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Bring the host to what ``wanted`` says and return the module's result. Raises GroundupError."""
    digest = hashlib.sha256(_text(REGISTRY_TEXT + WEB_TEXT, wanted, digest="").encode()).hexdigest()
    root = Path(wanted["files_root"])
    if not root.is_dir() and changes.add(f"make {root}"):
        root.mkdir(mode=0o755, parents=True)
    if lacking := repositories(changes, root, wanted["repositories"]):
        return {**changes.result(), "lacking": lacking}
    sources.packages_from(changes, sources.wanted_source(wanted))
    packages.installed(changes, wanted["packages"])
    registry, web = Unit(changes, UNITS[0]), Unit(changes, UNITS[1], on_change="reload")
    registry.generate(REGISTRY, _text(REGISTRY_TEXT, wanted, digest=digest))
    registry.running()  # first: the distribution's own listens where the web server is to
    web.generate(DISTRIBUTIONS_PAGE, "")
    web.generate(WEB, _text(WEB_TEXT, wanted, digest=digest))
    web.running()
    serve(changes, wanted, digest=digest)
    return changes.result()


def repositories(changes: Changes, root: Path, wanted: list[dict[str, Any]]) -> list[str]:
    """Return the places of repositories that are to be sent; place the signed lists of the others."""
    lacking = [one["place"] for one in wanted if files.read(root / one["place"] / one["mark"]) != one["content"]]
    for place in lacking:
        changes.add(f"receive {root / place}")
    for one in wanted:
        if one["signed"] and (changes.check or not lacking):
            files.place(changes, root / one["place"] / one["release"], one["signed"])
    return [] if changes.check else lacking


def serve(changes: Changes, wanted: dict[str, Any], *, digest: str) -> None:
    """Restart services that do not serve by the configuration with ``digest``. Raises GroundupError."""
    if changes.check and changes.done:
        return  # they serve by it when these changes are made
    places = [
        f"http://{wanted['registry_inside']}/v2/",
        f"http://127.0.0.1:{wanted['registry_port']}/v2/",
        f"http://127.0.0.1:{wanted['files_port']}/",
    ]

    def others() -> list[str]:
        return [place for place in places if _configuration(place) != digest]

    if not wait_until(others, timeout=RELOAD if changes.done else 0, pause=0.2):
        return
    if changes.add(f"restart {' and '.join(UNITS)}, which do not serve by their configuration"):
        look = "journalctl -n 50 " + " ".join(f"-u {unit}" for unit in UNITS)
        run(["systemctl", "restart", "--", *UNITS], remedy=look)
        if left := wait_until(others, timeout=RESTART, pause=0.2):
            raise GroundupError(
                f"not served by its configuration: {', '.join(left)}",
                where=f"{REGISTRY}, {WEB}",
                why=f"{RESTART:g} s after a restart, {HEADER} is not {digest}",
                remedy=look,
            )


def _text(template: str, wanted: dict[str, Any], *, digest: str) -> str:
    return template % {**wanted, "digest": digest, "header": HEADER}


def _configuration(url: str) -> str | None:
    """Return the digest of the configuration that ``url`` is served by, None when it says none."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(url, timeout=5) as answer:
            return str(answer.headers.get(HEADER))
    except (OSError, http.client.HTTPException):
        return None


def main() -> None:
    """Read the options, converge, report."""
    module = AnsibleModule(
        argument_spec={
            "site": {"type": "str", "required": True},
            "registry_inside": {"type": "str", "required": True},
            "registry_port": {"type": "int", "required": True},
            "files_port": {"type": "int", "required": True},
            "files_root": {"type": "path", "required": True},
            "repositories": {"type": "list", "elements": "dict", "default": [], "options": REPOSITORY},
            **sources.OPTIONS,
        },
        supports_check_mode=True,
    )
    changes = Changes(check=module.check_mode)
    finish(module, lambda: converge(changes, module.params), changes=changes)


if __name__ == "__main__":
    main()

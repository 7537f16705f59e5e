"""Generate the configuration of a seed's services: its registry, and the web server in front of registry and files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .._base import files
from .._base.run import run

PEM = Path("/etc/nginx/groundup.pem")
WEB = Path("/etc/nginx/conf.d/groundup.conf")
HEADER = "X-Groundup-Configuration"

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

# The answer 204 to `/` carries the header; refused requests do not get it.
SERVER_TEXT = """\
    ssl_certificate %(pem)s;
    ssl_certificate_key %(pem)s;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:groundup:1m;
%(allowed)s
    deny all;
    add_header %(header)s %(digest)s;
    access_log off;
"""
WEB_TEXT = """\
server {
    listen %(files_port)s ssl;
%(server)s    root %(files_root)s;
    location = / {
        try_files /dev/null =204;
    }
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
}

# The registry as the site sees it: to be read. What nodes run as root is put in at the seed's loopback, by ssh.
server {
    listen %(registry_port)s ssl;
%(server)s    location / {
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


def ports(given: Mapping[str, Any]) -> dict[str, int]:
    """Return the ports of the web server, from the addresses at which the site finds its seed."""
    return {
        "registry_port": int(given["registry"].rpartition(":")[2]),
        "files_port": int(urlsplit(given["files_url"]).port or 443),
    }


def registry(wanted: Mapping[str, Any], *, digest: str) -> str:
    """Return docker-registry's configuration; every answer carries ``digest`` in a header."""
    return _text(REGISTRY_TEXT, wanted, digest=digest)


def web(wanted: Mapping[str, Any], *, digest: str) -> str:
    """Return nginx's configuration; every answer to a permitted client carries ``digest`` in a header."""
    allowed = "\n".join(f"    allow {network};" for network in ("127.0.0.0/8", *wanted["readers"]))
    server = _text(SERVER_TEXT, {"pem": PEM, "allowed": allowed}, digest=digest)
    return files.HEADER + _text(WEB_TEXT, {**wanted, "server": server}, digest=digest)


def nginx_takes(path: Path, *, place: Path | None = None) -> None:
    """Test ``path`` with nginx as the file ``place`` (default: WEB) of its full configuration, in a mount namespace."""
    name = (place or WEB).name
    with tempfile.TemporaryDirectory() as directory:
        shutil.copytree(WEB.parent, directory, dirs_exist_ok=True, ignore_dangling_symlinks=True)
        shutil.copy(path, Path(directory) / name)
        there = 'mount --bind "$0" "$1" && exec nginx -t -q'
        run(
            ["unshare", "--mount", "sh", "-c", there, directory, str(WEB.parent)],
            why="nginx refuses the seed's new configuration; the old one is still in use",
            remedy=f"correct what nginx names; {WEB.with_name(name)} is written from the site file, "
            "other files are the host's own",
        )


def _text(template: str, wanted: Mapping[str, Any], *, digest: str) -> str:
    return template % {**wanted, "digest": digest, "header": HEADER}

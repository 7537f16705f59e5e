"""How vmagent is told to write all metrics to another store beside that of the site."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

BUFFER = "1GiB"  # of metrics that wait on the disk for a store


def arguments(remote: Mapping[str, Any], *, secret: Path, own: str) -> list[str]:
    """Return the options by which metrics go to the store ``remote``, with the login in ``secret``, and to ``own``."""
    # A list of two is for both stores, in their order: the second has no login.
    login = list[str]()
    if remote["username"]:
        name = remote["username"]
        login = [f"-remoteWrite.basicAuth.username={name},", f"-remoteWrite.basicAuth.passwordFile={secret},"]
    elif remote["secret"]:
        login = [f"-remoteWrite.bearerTokenFile={secret},"]
    url = remote["url"].replace("%", "%%")  # systemd's own sign
    return [f"-remoteWrite.url={url}", f"-remoteWrite.url={own}", *login, f"-remoteWrite.maxDiskUsagePerURL={BUFFER}"]

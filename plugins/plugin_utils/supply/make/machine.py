"""Find this machine's package registry settings: apt mirrors, Go proxy, pip configuration, CA bundle.

They are passed to a build through its environment, and are never part of an artifact, its key or its manifest.
"""

from __future__ import annotations

import email
import os
import platform
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from ....module_utils._base.run import run
from ...errors import GroundupError

ARCHITECTURE = "x86_64"  # of the control node and of every host
CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# Variables of a run with the proxy of a site: that there is one, and a bundle with the CA of it.
PROXIED, BUNDLE = "GROUNDUP_PROXY", "GROUNDUP_CA_BUNDLE"
TRUSTED_BY = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_APT_PROXY = re.compile(r"^Acquire::https?::Proxy(-?Auto-?Detect)? ", re.IGNORECASE)
_SHORT = 3  # characters: a shorter secret would be found in any text
_PASSED_ON = re.compile(
    r"^(GOPROXY|GOSUMDB|GONOSUMDB|GONOPROXY|GONOSUMCHECK|GOPRIVATE|GOINSECURE|GOAUTH"
    r"|PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|DEFAULT_TIMEOUT|PROXY|RETRIES)"
    r"|UV_(INDEX_URL|DEFAULT_INDEX|EXTRA_INDEX_URL|INDEX|INSECURE_HOST|HTTP_TIMEOUT)"
    r"|(https?|no|all)_proxy|(HTTPS?|NO|ALL)_PROXY)$"
)


class AptSource(NamedTuple):
    """One ``deb`` line of this machine's apt."""

    uri: str
    suite: str
    components: tuple[str, ...]
    signed_by: str | None

    def line(self, suite: str, components: Sequence[str]) -> str:
        """Return this source's line for another ``suite`` and its ``components``."""
        options = f"[signed-by={self.signed_by}] " if self.signed_by else ""
        return f"deb {options}{self.uri} {suite} {' '.join(components)}"


def refuse_other() -> None:
    """Refuse a control node of another architecture than that of the hosts. Raises GroundupError."""
    if (own := platform.machine()) != ARCHITECTURE:
        raise GroundupError(
            f"this control node is {own}, and supply.lock is for {ARCHITECTURE}",
            where="platform.machine()",
            why="programs are compiled for the machine that builds them: no host could run these",
            remedy=f"use a control node that is {ARCHITECTURE} (amd64)",
        )


def apt_lines(suite: str, *, components: Sequence[str] = ("main",), etc: Path = Path("/etc")) -> tuple[str, ...]:
    """Return apt source lines of ``suite``, its updates and its security fixes, on this machine's mirrors.

    The machine's own release identifies the sources of Debian's archive and security archive. Raises GroundupError when
    there is no source of the archive.
    """
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME")
    sources = list(_sources(etc / "apt"))
    archive = next((s for s in sources if s.suite == codename and "main" in s.components), None)
    if archive is None:
        raise GroundupError(
            f"no apt source of {codename or 'this release'} with component main",
            where=str(etc / "apt"),
            why="build roots are made from the Debian mirror this machine uses",
            remedy="give the machine an apt source of its own Debian release",
        )
    security = next((s for s in sources if s.suite == f"{codename}-security"), None)
    lines = [archive.line(suite, components)]
    if any(s.suite == f"{codename}-updates" for s in sources):
        lines.append(archive.line(f"{suite}-updates", components))
    if security is not None:
        lines.append(security.line(f"{suite}-security", components))
    return tuple(lines)


def apt_options() -> tuple[str, ...]:
    """Return the proxy and certificate settings of the machine's apt, as apt.conf lines."""
    dump = run(
        ["apt-config", "dump"],
        why="root file systems and images are made from this machine's package mirrors",
        remedy="run `apt-config dump` and correct what it says; the machine must be a Debian",
    )
    wanted = re.compile(r"^Acquire::(https?|Retries|ForceIPv[46])\b.*\"[^\"]+\";$")
    lines = (line for line in dump.splitlines() if wanted.match(line))
    # In front of the machine's own proxy goes that of the site, which apt takes from the environment.
    return tuple(line for line in lines if PROXIED not in os.environ or not _APT_PROXY.match(line))


def apt_trust() -> tuple[str, ...]:
    """Return the apt.conf line of the bundle for an apt of this machine; build roots have it in its usual place."""
    return (f'Acquire::https::CAInfo "{os.environ[BUNDLE]}";',) if BUNDLE in os.environ else ()


def bundle() -> str:
    """Return the path of the CA bundle of this run."""
    return os.environ.get(BUNDLE, CA_BUNDLE)


def clean(text: bytes) -> bytes:
    """Return ``text`` without the login of a proxy in this process' environment; as long as before."""
    for url in {value for name, value in os.environ.items() if name.lower().endswith("_proxy")}:
        if len(login := url.rpartition("@")[0].partition("://")[2].encode()) > _SHORT:
            for secret in (login, unquote_to_bytes(login), unquote_to_bytes(login.partition(b":")[2])):
                text = text.replace(secret, b"*" * len(secret)) if len(secret) > _SHORT else text
    return text


def environment() -> dict[str, str]:
    """Return the environment variables for a build to reach the registries as this machine does."""
    given = {**_go_settings(), **os.environ}
    found = {key: value for key, value in given.items() if _PASSED_ON.match(key)}
    return found | dict.fromkeys(TRUSTED_BY, bundle())


def pip_configuration() -> Path | None:
    """Return the machine's pip configuration file, for ``/etc/pip.conf`` in build roots; None if there is none."""
    candidates = (
        os.environ.get("PIP_CONFIG_FILE"),
        Path.home() / ".config/pip/pip.conf",
        Path.home() / ".pip/pip.conf",
        "/etc/pip.conf",
    )
    return next((Path(path) for path in candidates if path and Path(path).is_file()), None)


def _go_settings() -> dict[str, str]:
    file = Path(os.environ.get("GOENV") or Path.home() / ".config/go/env")
    if not file.is_file():
        return {}
    return dict(line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines() if "=" in line)


def _sources(apt: Path) -> Iterator[AptSource]:
    for file in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]:
        if file.suffix == ".sources":
            yield from _deb822(file.read_text(encoding="utf-8"))
        elif file.suffix == ".list" and file.is_file():
            yield from _one_line(file.read_text(encoding="utf-8"))


def _one_line(text: str) -> Iterator[AptSource]:
    for line in text.splitlines():
        found = re.match(r"deb\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<rest>[^#]+)", line)
        if found:
            options = dict(o.split("=", 1) for o in shlex.split(found["options"] or "") if "=" in o)
            yield AptSource(found["uri"], found["suite"], tuple(found["rest"].split()), options.get("signed-by"))


def _deb822(text: str) -> Iterator[AptSource]:
    lines = (line.rstrip() for line in text.splitlines() if not line.startswith("#"))
    for paragraph in "\n".join(lines).split("\n\n"):
        fields = email.message_from_string(paragraph.strip())  # the same syntax as mail headers, as far as needed here
        if "deb" not in fields.get("Types", "").split() or fields.get("Enabled", "yes").lower() == "no":
            continue
        written = fields.get("Signed-By", "").strip()
        signed_by = written if written.startswith("/") else None  # otherwise an inline key
        for uri in fields.get("URIs", "").split():
            for suite in fields.get("Suites", "").split():
                yield AptSource(uri, suite, tuple(fields.get("Components", "").split()), signed_by)

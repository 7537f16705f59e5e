"""The proxy in the site file: how fetches of the control node, and of some hosts, reach the internet."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from ..layout.names import LABEL, is_number
from .base import Model, checked_address
from .platform import Certificate

_LIKE = "http://proxy.example.org:3128"


def _proxy(value: str) -> str:
    """Return ``value`` in its shortest form when every client understands it. Raises ValueError."""
    scheme, there, rest = value.partition("://")
    if not there:
        raise ValueError(f"has no scheme: write a URL such as {_LIKE}")
    if scheme.lower() != "http":
        known = scheme.lower().startswith(("socks", "https"))
        what = f"{scheme} proxies are not understood by every client" if known else "is not the URL of a proxy"
        raise ValueError(f"{what}: write one such as {_LIKE}; TLS to servers passes through it")
    if "@" in rest:
        raise ValueError("holds a login: leave it out, write proxy.login: true, and give the secret proxy/login")
    try:
        parts, port = urlsplit(value), urlsplit(value).port
    except ValueError:
        parts, port = urlsplit(_LIKE), 0
    if not port:
        raise ValueError(f"has no TCP port from 1 to 65535: write a URL such as {_LIKE}")
    if parts.path.strip("/") or parts.query or parts.fragment or not parts.hostname:
        raise ValueError(f"is more than scheme, host and port: write a URL such as {_LIKE}")
    return f"http://{_host(parts.hostname)}:{port}"


def _host(name: str) -> str:
    if ":" in name:
        raise ValueError("IPv6 is not supported yet: write a name or an IPv4 address")
    if is_number(name.rpartition(".")[2]):
        return checked_address(name)
    if len(name) > 253 or not all(map(LABEL.fullmatch, name.split("."))):
        raise ValueError("is not the name of a host: write labels of letters, digits and hyphens, joined by dots")
    return name


def _direct(value: str) -> str:
    """Return ``value``, a place that is reached past the proxy. Raises ValueError."""
    value = value.lower()
    if "://" in value:
        raise ValueError("has a scheme: write the name, the address or the network alone")
    if value == "*":
        raise ValueError("is everything, so that nothing would go to the proxy: leave proxy out")
    if "*" in value:
        raise ValueError("has a wildcard, which clients take for a letter: write a domain with a leading dot")
    if re.fullmatch(r"[0-9./]+", value) and "/" in value:
        try:
            return str(IPv4Network(value))
        except ValueError as error:
            raise ValueError("not an IPv4 network: write address/length such as 10.0.0.0/8") from error
    if "/" in value or ":" in value:
        raise ValueError("has a path, a port or an IPv6 address: write the name, the IPv4 address or the network alone")
    return "." + _host(value[1:]) if value.startswith(".") else _host(value)


ProxyUrl = Annotated[str, Field(max_length=512, json_schema_extra={"examples": [_LIKE]}), AfterValidator(_proxy)]
Direct = Annotated[
    str, Field(min_length=1, max_length=253, json_schema_extra={"examples": [".example.org"]}), AfterValidator(_direct)
]


class Proxy(Model):
    """The way to the internet, for what leaves the site. At least one of http and https."""

    http: ProxyUrl | None = Field(None, description="Proxy of http:// addresses. Default: that of https.")
    https: ProxyUrl | None = Field(None, description="Proxy of https:// addresses. Default: that of http.")
    no_proxy: list[Direct] = Field(
        default_factory=list,
        description="Names, domains (.example.org), IPv4 addresses and networks reached past the proxy, in addition "
        "to the site's own.",
    )
    login: bool = Field(
        False,
        description="Whether the proxy asks who comes. The login is the given secret proxy/login, as user:password.",
    )
    ca: Certificate | None = Field(
        None,
        description="Certificate (PEM) of the CA with which the proxy signs in place of servers, trusted by fetches of "
        "the control node, in addition to its own trust store.",
    )

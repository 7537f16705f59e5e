"""Base class of the site model, and its shared scalar types."""

from __future__ import annotations

import math
import re
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from ..layout.names import LABEL, host_name, is_number

# No host can have such an address. Loopback is not among them: a resolver may be the host's own.
_SPECIAL = {
    "this host alone (0.0.0.0/8)": IPv4Network("0.0.0.0/8"),
    "links without a network (169.254.0.0/16)": IPv4Network("169.254.0.0/16"),
    "groups (multicast, 224.0.0.0/4)": IPv4Network("224.0.0.0/4"),
    "later use, which kernels and routers refuse (240.0.0.0/4)": IPv4Network("240.0.0.0/4"),
}


# The seed keeps such files beside its copy of the site file: no name leads elsewhere, or to a file of another kind.
PEM_FILE = r"([A-Za-z0-9_][A-Za-z0-9._-]*/)*[A-Za-z0-9_][A-Za-z0-9._-]*\.pem"


class Model(BaseModel):
    """A part of the site file: unknown keys are refused, values are not converted, instances are frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _network(value: str) -> IPv4Network:
    try:
        network = IPv4Network(value)
    except (AddressValueError, NetmaskValueError, ValueError) as error:
        if ":" in value:
            raise ValueError("IPv6 is not supported yet: write an IPv4 network such as 10.0.0.0/24") from error
        try:
            network = IPv4Network(value, strict=False)
        except ValueError:
            raise ValueError("not an IPv4 network: write address/length such as 10.0.0.0/24") from error
        raise ValueError(f"has bits set below its prefix length: write {network}") from error
    if "/" not in value:
        raise ValueError("has no prefix length: write address/length such as 10.0.0.0/24")
    return network


def _source(value: str) -> str:
    """Return ``value``, from where somebody asks: a network of any size, or one address."""
    return str(_network(value))


def _cidr(value: str) -> str:
    network = _network(value)
    if network.prefixlen > 30 or network.prefixlen < 8:
        raise ValueError(f"/{network.prefixlen} is not a usable plane: write a length from /8 to /30")
    if special := next((name for name, one in _SPECIAL.items() if network.overlaps(one)), None):
        raise ValueError(f"holds addresses that are for {special}: write a network such as 10.0.0.0/24")
    return str(network)


def checked_address(value: str, *, own_link: bool = False) -> str:
    """Return the IPv4 address ``value`` in canonical form. Raises ValueError for anything else.

    ``own_link``: whether one of 169.254.0.0/16 is taken, at which clouds and their machines serve time and names.
    """
    try:
        address = IPv4Address(value)
    except AddressValueError as error:
        hint = "IPv6 is not supported yet" if ":" in value else "not an IPv4 address"
        raise ValueError(f"{hint}: write one such as 10.0.0.2") from error
    special = next((name for name, one in _SPECIAL.items() if address in one), None)
    if special and not (own_link and address.is_link_local):
        raise ValueError(f"is for {special}: write one such as 10.0.0.2")
    return str(address)


def _mac(value: str) -> str:
    """Return ``value``, a MAC address in any common notation, as six pairs, so that duplicates compare equal."""
    from netaddr import EUI, AddrFormatError, mac_unix_expanded  # only few sites write MAC addresses: import on use

    try:
        address = EUI(value, version=48, dialect=mac_unix_expanded)
    except AddrFormatError as error:
        raise ValueError("not a MAC address: write six pairs such as 52:54:00:12:34:56, in quotes") from error
    if value.isalnum() and len(value) != 12:
        raise ValueError("not a MAC address: without separators it has 12 hexadecimal digits")
    if address.words[0] & 1 or not int(address):
        raise ValueError("no port has this address, it is one for groups or for nobody: write the port's own")
    return str(address)


def unquoted(value: Any) -> Any:
    """Return ``value``. Raises ValueError for a number that should be text."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        raise ValueError(  # noqa: TRY004 - pydantic turns only ValueError into a finding about the field
            f'YAML reads {value} as a number, which drops digits: write it in quotes, "{value}"'
        )
    return value


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > 15:
        raise ValueError(
            "is longer than the 15 characters of an interface's name: write its name as ip link shows it, "
            "which is first on its line (an alternative name, altname, may be longer)"
        )
    if value == "lo":
        raise ValueError("is the host's own loopback, which no other machine reaches: write a port, bond or bridge")
    return value


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("holds characters that do not print: write one line of text")
    return value


def json_only(value: Any) -> Any:
    """Return ``value`` when it fits into JSON, which charts and kubelet take: YAML dates and bytes do not."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ValueError(f"the key {key!a} is not text: write a word")  # noqa: TRY004 - pydantic wants ValueError
            json_only(inner)
    elif isinstance(value, list):
        for inner in value:
            json_only(inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number JSON knows: write a finite one")
    elif not isinstance(value, str | int | float | bool | None):
        raise ValueError(f"YAML reads {value} as a {type(value).__name__}: write it in quotes")
    return value


def with_port(value: str) -> str:
    """Return ``value``, a URL or host:port. Raises ValueError for no host, an invalid port, or a user's name."""
    try:
        parts = urlsplit(value if "://" in value else f"//{value}")
    except ValueError:
        raise ValueError("its host cannot be read: write one such as files.example.org or 192.0.2.9") from None
    if not parts.hostname:
        raise ValueError("names no host: write one such as files.example.org or 192.0.2.9")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError("has no TCP port there: write one from 1 to 65535")
    if "@" in parts.netloc:
        raise ValueError("names a user: the plan is no secret, so write the address alone")
    return value


def _pem_file(value: str) -> str:
    if not re.fullmatch(PEM_FILE, value) or len(value) > 255:
        raise ValueError(
            "not the name of a PEM file beside the site file: write one such as tls/public.pem, without / in front "
            "and without .., and put a copy or a link there"
        )
    return value


def _domain(value: str) -> str:
    if len(value) > 200 or not all(map(LABEL.fullmatch, value.split("."))):
        raise ValueError("not a DNS domain: write lower-case labels joined by dots, such as cloud.example.org")
    if is_number(value.rpartition(".")[2]):
        raise ValueError("ends in a number, so names in it are read as addresses: write one such as cloud.example.org")
    if value.rpartition(".")[2] == "localhost":
        raise ValueError("resolvers answer every name in localhost with this host: write one such as cloud.example.org")
    return value


# Patterns for editors: the functions above say more, and why.
_QUAD = r"^([0-9]{1,3}\.){3}[0-9]{1,3}"
Cidr = Annotated[
    str,
    AfterValidator(_cidr),
    Field(json_schema_extra={"examples": ["10.0.0.0/24"], "pattern": rf"{_QUAD}/([89]|[12][0-9]|30)$"}),
]
Source = Annotated[
    str,
    AfterValidator(_source),
    Field(json_schema_extra={"examples": ["192.0.2.7/32"], "pattern": rf"{_QUAD}/([0-9]|[12][0-9]|3[0-2])$"}),
]
Address = Annotated[str, AfterValidator(checked_address), Field(json_schema_extra={"format": "ipv4"})]
PemFile = Annotated[
    str,
    AfterValidator(_pem_file),
    Field(json_schema_extra={"pattern": f"^{PEM_FILE}$", "examples": ["tls/public.pem"]}),
]
Mac = Annotated[str, BeforeValidator(unquoted), AfterValidator(_mac)]
# Of Keystone, as people type it at a login, and as URLs carry it: its database takes accents for nothing.
DomainName = Annotated[
    str,
    Field(
        max_length=64, pattern=r"^[A-Za-z0-9]([A-Za-z0-9._ -]*[A-Za-z0-9])?$", json_schema_extra={"examples": ["corp"]}
    ),
]
Name = Annotated[
    str, AfterValidator(host_name), Field(json_schema_extra={"maxLength": 63, "pattern": f"^{LABEL.pattern}$"})
]
Domain = Annotated[
    str, AfterValidator(_domain), Field(json_schema_extra={"pattern": rf"^{LABEL.pattern}(\.{LABEL.pattern})*$"})
]
Version = Annotated[
    str, BeforeValidator(unquoted), Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]*$")
]
Vlan = Annotated[int, Field(ge=1, le=4094)]
Mtu = Annotated[int, Field(ge=1280, le=9216)]
InterfaceName = Annotated[str, BeforeValidator(_short), Field(pattern=r"^[A-Za-z][A-Za-z0-9._-]{0,14}$")]
IdRange = Annotated[str, Field(pattern=r"^[0-9]{1,8}-[0-9]{1,8}$", json_schema_extra={"examples": ["100-3999"]})]
Text = Annotated[str, AfterValidator(_printable), Field(min_length=1, max_length=4096)]
Plain = Annotated[dict[str, Any], AfterValidator(json_only)]

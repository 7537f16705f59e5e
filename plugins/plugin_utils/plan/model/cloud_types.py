"""Scalar types of resources of the cloud: what their APIs take, said before they are asked."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from ...layers.mirror import ARTIFACT, OCI
from ..form import choose
from .base import unquoted, with_port


def _prefix(value: str) -> str:
    try:
        return str(ip_network(value))
    except ValueError:
        raise ValueError("not a network: write address/length such as 10.20.0.0/24 or fd00:20::/64") from None


def _ip(value: str) -> str:
    try:
        return str(ip_address(value))
    except ValueError:
        raise ValueError("not an address: write one such as 10.20.0.1 or fd00:20::1") from None


def _range(value: str) -> str:
    first, dash, last = value.partition("-")
    try:
        ends = ip_address(first.strip()), ip_address(last.strip())
    except ValueError:
        ends = None
    if not dash or ends is None or ends[0].version != ends[1].version or int(ends[0]) > int(ends[1]):
        raise ValueError("not a range of addresses: write first-last, such as 10.20.0.10-10.20.0.99")
    return f"{ends[0]}-{ends[1]}"


def _subnet(value: str) -> str:
    if _prefix(value).endswith("/0"):
        raise ValueError("holds every address: write a network such as 10.20.0.0/24")
    return _prefix(value)


def _source(value: str) -> str:
    if value.startswith(OCI) and not ARTIFACT.fullmatch(value.removeprefix(OCI)):
        raise ValueError(
            "no whole reference: write oci://HOST/PATH:TAG or oci://HOST/PATH@sha256:DIGEST, in lower case"
        )
    return value if value.startswith("/") else with_port(value)


def _protocol(value: str) -> str:
    if value not in _PROTOCOLS and not (value.isascii() and value.isdecimal() and int(value) < 256):
        raise ValueError(f"no protocol of Neutron: {choose(value, _PROTOCOLS)}, or a number up to 255, in quotes")
    return value


def _dscp(value: int) -> int:
    if value not in _DSCP:
        raise ValueError(f"no mark of Neutron: write one of {', '.join(map(str, _DSCP))}")
    return value


# Of neutron_lib.constants: what its API takes.
_PROTOCOLS = (
    "tcp", "udp", "icmp", "ipv6-icmp", "sctp", "vrrp", "ah", "esp", "gre", "ipip", "igmp", "ospf", "pgm", "rsvp",
    "dccp", "egp", "udplite", "ip", "icmpv6", "ipv6-encap", "ipv6-frag", "ipv6-nonxt", "ipv6-opts", "ipv6-route",
    "hopopt", "any",
)  # fmt: skip
WITH_PORTS = ("tcp", "udp", "sctp", "dccp", "udplite", "6", "17", "33", "132", "136")
ICMP = ("icmp", "icmpv6", "ipv6-icmp", "1", "58")  # ports: type and code
OF_IPV6 = (
    "icmpv6", "ipv6-icmp", "ipv6-encap", "ipv6-frag", "ipv6-nonxt", "ipv6-opts", "ipv6-route",
    "41", "43", "44", "58", "59", "60",
)  # fmt: skip
_DSCP = (0, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 44, 46, 48, 56)
ResourceName = Annotated[str, Field(max_length=255, pattern=r"^[!-~]([ -~]*[!-~])?$")]
CLOUD_FILE = r"([A-Za-z0-9_][A-Za-z0-9._-]*/)*[A-Za-z0-9_][A-Za-z0-9._-]*\.ya?ml"
CloudFile = Annotated[str, Field(max_length=255, pattern=f"^{CLOUD_FILE}$")]
Prefix = Annotated[str, AfterValidator(_prefix), Field(json_schema_extra={"examples": ["10.20.0.0/24"]})]
SubnetPrefix = Annotated[str, AfterValidator(_subnet), Field(json_schema_extra={"examples": ["10.20.0.0/24"]})]
Ip = Annotated[str, AfterValidator(_ip)]
Range = Annotated[str, AfterValidator(_range), Field(json_schema_extra={"examples": ["10.20.0.10-10.20.0.99"]})]
Limit = Annotated[int, Field(ge=-1, le=2**31 - 1)]
QuotaName = Annotated[str, Field(pattern=r"^[a-z][A-Za-z0-9_.-]{0,63}$")]
Spec = Annotated[str, BeforeValidator(unquoted), Field(max_length=255)]
Specs = dict[Annotated[str, Field(max_length=255, pattern=r"^[A-Za-z0-9_.:-]+$")], Spec]
Port = Annotated[int, Field(ge=0, le=65535)]  # or type and code of ICMP
Protocol = Annotated[str, BeforeValidator(unquoted), AfterValidator(_protocol)]
Dscp = Annotated[int, Field(ge=0, le=56), AfterValidator(_dscp)]
ImageSource = Annotated[str, Field(max_length=1024, pattern=r"^((https?|oci)://|/)[!-~]+$"), AfterValidator(_source)]

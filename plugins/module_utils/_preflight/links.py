"""Read interfaces and addresses from the kernel by netlink: a plain host may lack the program ip."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_LINK = struct.Struct("=BxHiII")  # struct ifinfomsg
_ADDRESS = struct.Struct("=BBBBI")  # struct ifaddrmsg
_ATTRIBUTE = struct.Struct("=HH")
_GET_LINK, _NEW_LINK, _GET_ADDRESS, _NEW_ADDRESS = 18, 16, 22, 20
_REQUEST_DUMP = 0x301
_DONE, _ERROR = 3, 2
_HARDWARE, _NAME, _MTU, _LOCAL = 1, 3, 4, 2
_PROPERTIES, _ALTNAME = 52, 53
_UP = 1


@dataclass
class Link:
    """A network interface."""

    mtu: int
    up: bool
    mac: str
    addresses: dict[str, int] = field(default_factory=dict)  # IPv4 address -> prefix length
    altnames: tuple[str, ...] = ()


def links() -> dict[str, Link]:
    """Return the interfaces of this network namespace, by name. Raises OSError."""
    found: dict[str, Link] = {}
    by_index: dict[int, Link] = {}
    for kind, body in _dump(_GET_LINK):
        if kind == _NEW_LINK:
            _, _, index, flags, _ = _LINK.unpack_from(body)
            values = _attributes(body[_LINK.size :])
            name = values[_NAME].rstrip(b"\0").decode()
            link = Link(
                mtu=struct.unpack("=I", values[_MTU])[0],
                up=bool(flags & _UP),
                mac=values.get(_HARDWARE, b"").hex(":"),
                altnames=tuple(_names(values.get(_PROPERTIES, b""))),
            )
            found[name] = by_index[index] = link
    for kind, body in _dump(_GET_ADDRESS):
        family, prefix, _, _, index = _ADDRESS.unpack_from(body)
        if kind == _NEW_ADDRESS and family == socket.AF_INET and index in by_index:
            local = _attributes(body[_ADDRESS.size :]).get(_LOCAL)
            if local:
                by_index[index].addresses[socket.inet_ntoa(local)] = prefix
    return found


def holder(found: dict[str, Link], address: str) -> str | None:
    """Return the interface that has ``address``; None when none has."""
    return next((name for name, link in found.items() if address in link.addresses), None)


def _dump(request: int) -> Iterator[tuple[int, bytes]]:
    body = _LINK.pack(0, 0, 0, 0, 0) if request == _GET_LINK else _ADDRESS.pack(socket.AF_INET, 0, 0, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.send(_HEADER.pack(_HEADER.size + len(body), request, _REQUEST_DUMP, 1, 0) + body)
        while True:
            data = kernel.recv(1 << 17)
            while len(data) >= _HEADER.size:
                length, kind, *_ = _HEADER.unpack_from(data)
                if kind in (_DONE, _ERROR):
                    return
                yield kind, data[_HEADER.size : length]
                data = data[(length + 3) & ~3 :]


def _names(data: bytes) -> Iterator[str]:
    """Yield the alternative names of a link's list of properties, which repeats one attribute."""
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if kind == _ALTNAME:
            yield data[_ATTRIBUTE.size : length].rstrip(b"\0").decode()
        data = data[max(4, (length + 3) & ~3) :]


def _attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        found[kind & 0x3FFF] = data[_ATTRIBUTE.size : length]
        data = data[max(4, (length + 3) & ~3) :]
    return found

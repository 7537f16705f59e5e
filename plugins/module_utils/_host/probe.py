"""Probe other hosts: an ICMP echo of full size that must not be fragmented, and a TCP connection."""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import time
from collections.abc import Iterable

_ECHO_REQUEST, _ECHO_REPLY = 8, 0
_IP_HEADER, _ICMP_HEADER = 20, 8  # bytes
_MTU_DISCOVER, _PROBE = 10, 3  # IP_MTU_DISCOVER, IP_PMTUDISC_PROBE: do not fragment, ignore cached path MTUs
SMALL = 64  # bytes: fits every network
ROUNDS, WAIT = 3, 1.0  # tries, seconds each: one lost packet is not a fault


class Echo:
    """Send ICMP echoes from one address; needs root."""

    def __init__(self, source: str) -> None:
        self._source = source

    def lost(self, hosts: Iterable[str], *, size: int) -> dict[str, str]:
        """Return the hosts that did not answer a packet of ``size`` bytes, each with what came instead."""
        waiting = dict.fromkeys(hosts, "no answer")
        identity = os.getpid() & 0xFFFF
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
            raw.setsockopt(socket.IPPROTO_IP, _MTU_DISCOVER, _PROBE)
            raw.bind((self._source, 0))
            for number in range(ROUNDS):
                for host in waiting:
                    try:
                        raw.sendto(_packet(identity, number, size), (host, 0))
                    except OSError as error:
                        large = error.errno == errno.EMSGSIZE
                        waiting[host] = "larger than the interface's MTU" if large else str(error.strerror)
                deadline = time.monotonic() + WAIT
                while waiting and (left := deadline - time.monotonic()) > 0:
                    if not select.select([raw], [], [], left)[0]:
                        break
                    data, (host, _) = raw.recvfrom(65535)
                    start = (data[0] & 15) * 4
                    if len(data) < start + _ICMP_HEADER:
                        continue
                    kind, _, _, whose, _ = struct.unpack_from("!BBHHH", data, start)
                    if kind == _ECHO_REPLY and whose == identity and len(data) >= size:
                        waiting.pop(host, None)
                if not waiting:
                    break
        return waiting


def connects(host: str, port: int) -> str:
    """Try a connection; return open, closed (refused by the host itself) or filtered.

    The kernel tries three times in four seconds: one lost packet is not a fault.
    """
    try:
        with socket.create_connection((host, port), timeout=4):
            return "open"
    except ConnectionRefusedError:
        return "closed"
    except OSError:
        return "filtered"


def _packet(identity: int, number: int, size: int) -> bytes:
    payload = bytes(max(0, size - _IP_HEADER - _ICMP_HEADER))
    head = struct.pack("!BBHHH", _ECHO_REQUEST, 0, 0, identity, number)
    return struct.pack("!BBHHH", _ECHO_REQUEST, 0, _checksum(head + payload), identity, number) + payload


def _checksum(data: bytes) -> int:
    even = data + bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(even) // 2}H", even))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF

"""Asks a DNS server for addresses of names: once, without a search list. Standard library only: pods run it, too.

Usage: ask_dns.py SERVER NAME...        prints one JSON object: name -> [code of the answer, number of answers, seconds]
"""

from __future__ import annotations

import json
import secrets
import socket
import struct
import sys
import time

A = 1


def ask(server: str, name: str, *, kind: int = A, patience: float = 8.0) -> tuple[int, int, float]:
    """Return the code (0 found, 2 SERVFAIL, 3 NXDOMAIN), number of answers and seconds. Raises OSError for silence."""
    began = time.monotonic()
    answer, _ = _answer(server, name, kind=kind, patience=patience)
    _, flags, _, answers = struct.unpack(">4H", answer[:8])
    return flags & 0x0F, answers, time.monotonic() - began


def address(server: str, name: str, *, patience: float = 8.0) -> str:
    """Return the address of a name, or "" without one. Raises OSError for silence."""
    answer, first = _answer(server, name, kind=A, patience=patience)
    found = struct.unpack(">4H", answer[:8])[3] and struct.unpack(">2sHHIH", answer[first : first + 12])[1] == A
    return socket.inet_ntoa(answer[first + 12 : first + 16]) if found else ""


def _answer(server: str, name: str, *, kind: int, patience: float) -> tuple[bytes, int]:
    """Return an answer, and where the records in it begin."""
    number, labels = secrets.randbelow(1 << 16), name.rstrip(".").split(".")
    asked = b"".join(bytes([len(label)]) + label.encode() for label in labels) + struct.pack(">BHH", 0, kind, 1)
    with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(patience)
        asking.connect((server, 53))
        asking.send(struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + asked)
        answer = asking.recv(4096)
    if struct.unpack(">H", answer[:2]) != (number,):
        raise OSError("an answer to another question")
    return answer, 12 + len(asked)


if __name__ == "__main__":
    print(json.dumps({name: ask(sys.argv[1], name) for name in sys.argv[2:]}))

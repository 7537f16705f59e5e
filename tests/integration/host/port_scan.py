"""Scans TCP ports of addresses; prints what answered as JSON.

Usage: port_scan.py SOURCE ADDRESS...
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import sys

AT_ONCE, PATIENCE = 400, 1.5
PORTS = (*range(1, 1025), *range(2300, 2400), *range(6400, 6700), 8080, *range(10200, 10300), *range(30400, 30600))


async def opens(source: str, address: str, port: int, slots: asyncio.Semaphore) -> str:
    """Return ``open`` or ``refused`` for a port that answers, nothing for one that is silent."""
    async with slots:
        one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        one.setblocking(False)
        try:
            one.bind((source, 0))
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(one, (address, port)), PATIENCE)
        except ConnectionRefusedError:
            return "refused"
        except OSError:  # TimeoutError, too
            return ""
        finally:
            one.close()
        return "open"


async def scan(source: str, address: str) -> dict[str, list[int]]:
    """Return the ports of ``address`` that answer, by how."""
    slots = asyncio.Semaphore(AT_ONCE)
    await opens(source, address, 1, slots)  # the kernel keeps few packets for a neighbour that it does not know yet
    said = await asyncio.gather(*(opens(source, address, port, slots) for port in PORTS))
    return {how: [port for port, one in zip(PORTS, said, strict=True) if one == how] for how in ("open", "refused")}


def main() -> None:
    """Scan."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    print(json.dumps({address: asyncio.run(scan(sys.argv[1], address)) for address in sys.argv[2:]}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""nova-novncproxy, which believes a console only by a certificate of the site's CA for the hypervisor's address.

Nova calls ssl.wrap_socket, which Python has no more since 3.12. What eventlet puts in its place verifies nothing.
"""

from __future__ import annotations

import sys
from typing import Any

from nova.cmd import novncproxy  # isort: skip  # first: it has eventlet change what is imported after it
import ssl


def verified(sock: Any, *, keyfile: str, certfile: str, ca_certs: str, **_: Any) -> Any:
    """Return the connection with TLS. Raises ssl.SSLError, which Nova expects."""
    context = ssl.create_default_context(cafile=ca_certs)
    context.load_cert_chain(certfile, keyfile)
    return context.wrap_socket(sock, server_hostname=sock.getpeername()[0])


ssl.wrap_socket = verified

if __name__ == "__main__":
    sys.exit(novncproxy.main())

"""Time-outs along the way of a request, in seconds. Whoever is further in gives up first, and says why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """One request's: client, edge, server of the API, service, queue, database."""

    handshake: int = 5  # edge: TLS
    headers: int = 10  # edge: a request's
    edge_client: int = 60  # edge: a client that neither reads nor sends
    edge_connect: int = 2  # edge: to a server, before it tries another
    edge_answer: int = 300  # edge: a server that neither answers nor reads
    tunnel: int = 3600  # edge: a console without a key or a picture
    server_client: int = 90  # uWSGI, Apache: as edge_client, for the edge itself
    service: int = 60  # a service's call to another
    identity: int = 20  # an API's question about a token to Keystone, asked twice
    queue: int = 60  # a call by the message queue; oslo.messaging's default
    database: int = 15  # a statement
    database_connect: int = 5


TIMEOUTS = Timeouts()

"""Asks each service whether it works. Running is not healthy (H6): no answer here comes from a pod's phase.

A verifier is a function of a Context that returns a Verification. A service that is unwell is an answer, not an error.
`VERIFIERS` names them as the plan does; a release whose verifier is "workloads" has no question of its own.
"""

from __future__ import annotations

from .context import Context, Verifier
from .keystone import verify as _keystone
from .mariadb import verify as _mariadb
from .memcached import verify as _memcached
from .rabbitmq import verify as _rabbitmq
from .workloads import verify as _workloads

VERIFIERS: dict[str, Verifier] = {
    "keystone": _keystone,
    "mariadb": _mariadb,
    "memcached": _memcached,
    "rabbitmq": _rabbitmq,
    "workloads": _workloads,
}

__all__ = ["VERIFIERS", "Context", "Verifier"]

"""Memcached: OpenStack-Helm's charts wait for it. No service keeps anything in it (parts.py, keystone.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import GroundupError
from ..health.verification import Check, Verification
from ..layers.scales import Scale
from .parts import anti_affinity, node_labels, resources
from .record import ServiceRecord, Values
from .secrets import secret
from .sizes import Sizes

if TYPE_CHECKING:
    from ..health.context import VerifierContext
    from ..plan.types import Plan

_PORT = 11211  # the chart's default
_LIMIT = 65536  # bytes; the answer to "stats" is about 2 kB

MEMORY: dict[Scale, int] = {"tiny": 64, "small": 256, "medium": 512, "large": 1024}  # MiB of items
_CONNECTIONS: dict[Scale, int] = {"tiny": 1024, "small": 4096, "medium": 4096, "large": 8192}


def endpoints(_plan: Plan, _sizes: Sizes, _client: str) -> Values:
    """Return the cache's endpoint. Without this key, charts generate one per render, which restarts every pod."""
    return {"oslo_cache": {"auth": {"memcache_secret_key": secret("memcached/secret-key")}}}


def values(plan: Plan, sizes: Sizes) -> Values:
    members, memory = sizes.members["memcached"], MEMORY[plan.openstack.scale]
    return {
        "labels": node_labels(("server",)),
        "conf": {"memcached": {"memory": memory, "max_connections": _CONNECTIONS[plan.openstack.scale]}},
        "pod": {
            "replicas": {"server": members},
            "affinity": anti_affinity(sizes, members=members, quorum=False),
            "resources": {
                "enabled": sizes.resources,
                "memcached": resources(memory=f"{memory + 64}Mi", limit=f"{memory * 2 + 128}Mi", cpu=sizes.cpu(100)),
            },
        },
    }


def verify(context: VerifierContext) -> Verification:
    """Verify that all instances answer the command ``stats``."""
    owner, wanted = context.workload()
    answered, silent = 0, []
    for pod in context.running():
        try:
            whole = int(_stats(context, pod).get("uptime", -1)) >= 0
            trouble = "" if whole else pod
        except (GroundupError, OSError) as error:
            trouble = f"{pod}: {error.what if isinstance(error, GroundupError) else error}"
        answered += not trouble
        silent += [trouble] if trouble else []
    ok = wanted > 0 and answered == wanted and not silent
    detail = f"{answered} of {wanted} instances answer" + "".join(f"; {line}" for line in silent)
    return Verification(checks=(Check(name="stats", ok=ok, detail=detail, object=owner),))


def parse(answer: str) -> dict[str, str]:
    """Parse the variables of a ``stats`` answer."""
    fields = (line.split(" ", 2) for line in answer.splitlines() if line.startswith("STAT "))
    return {parts[1]: parts[2] for parts in fields if len(parts) == 3}


def _stats(context: VerifierContext, pod: str) -> dict[str, str]:
    port = int(context.value("endpoints.oslo_cache.port.memcache.default") or _PORT)
    with context.connect(pod, port) as connection:
        connection.settimeout(10.0)
        connection.sendall(b"stats\r\nquit\r\n")
        answer = b""
        while b"END\r\n" not in answer and len(answer) < _LIMIT:
            part = connection.recv(4096)
            if not part:
                break
            answer += part
    return parse(answer.decode(errors="replace"))


SERVICE = ServiceRecord(
    name="memcached",
    kind="infrastructure",
    provides="cache",
    client_ports=(_PORT,),
    images={"memcached": "memcached"},
    secrets={"memcached/secret-key": "OpenStack-Helm's charts would generate one per render"},
    members="Memcached members",
    endpoints=endpoints,
    values=values,
    verify=verify,
)

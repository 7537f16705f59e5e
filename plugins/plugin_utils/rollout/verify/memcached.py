"""Memcached: does every instance answer its own protocol (H4)?"""

from __future__ import annotations

from ...kube.client import ApiError
from ..gate.consistency import at
from ..types import Check, Verification
from .context import Context, members, name_of, replicas, running

_PORT = 11211  # of the chart, when the values name no other
_LIMIT = 65536  # bytes; the answer to "stats" is about 2 kB


def verify(context: Context) -> Verification:
    """Return whether all instances answer ``stats``."""
    owner, wanted = replicas(context, "memcached")
    answered: list[str] = []
    silent: list[str] = []
    for pod in running(members(context, "memcached")):
        try:
            stats = _stats(context, name_of(pod))
        except (ApiError, OSError) as error:
            silent.append(f"{name_of(pod)}: {error.message if isinstance(error, ApiError) else error}")
        else:
            ok = int(stats.get("uptime", -1)) >= 0
            (answered if ok else silent).append(name_of(pod))
    ok = wanted > 0 and len(answered) == wanted and not silent
    detail = f"{len(answered)} of {wanted} instances answer" + "".join(f"; {line}" for line in silent)
    return Verification(checks=(Check(name="stats", ok=ok, detail=detail, object=owner),))


def parse(answer: str) -> dict[str, str]:
    """Return the variables of a ``stats`` answer."""
    fields = (line.split(" ", 2) for line in answer.splitlines() if line.startswith("STAT "))
    return {parts[1]: parts[2] for parts in fields if len(parts) == 3}


def _stats(context: Context, pod: str) -> dict[str, str]:
    port = int(at(context.values, "endpoints.oslo_cache.port.memcache.default") or _PORT)
    with context.api.connect(context.release.namespace, pod, port) as connection:
        connection.settimeout(10.0)
        connection.sendall(b"stats\r\nquit\r\n")
        answer = b""
        while b"END\r\n" not in answer and len(answer) < _LIMIT:
            part = connection.recv(4096)
            if not part:
                break
            answer += part
    return parse(answer.decode(errors="replace"))

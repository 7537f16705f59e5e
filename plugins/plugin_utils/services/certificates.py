"""List and check certificates of the site's CAs in pods, by the records of the deployed services."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..errors import GroundupError
from ..health.verification import Check
from ..layers import authorities
from . import RECORDS
from .record import PodCertificate

if TYPE_CHECKING:
    from socket import socket

    from ..health.context import VerifierContext
    from ..plan.types import Plan

_DAYS_FAIL, _DAYS_SOON = 7, 30


def certificates(plan: Plan) -> tuple[PodCertificate, ...]:
    """Return the certificate of each pod that needs one."""
    names = [release.name for release in plan.openstack.releases]
    return tuple(one for name in names if name in RECORDS for one in RECORDS[name].certificates(plan))


def served(context: VerifierContext, port: int, shown: PodCertificate, *, owner: str) -> Check:
    """Check that every running pod serves TLS at ``port`` with the certificate ``shown``."""
    days: dict[str, int] = {}
    silent: dict[str, str] = {}
    trust = ssl.create_default_context(cafile=str(context.authority.parent / authorities.file(shown.authority)))
    for pod in context.running():
        try:
            with context.connect(pod, port) as plain:
                plain.settimeout(10.0)
                days[pod] = _days(trust, plain, shown.names[0])
        except (GroundupError, OSError) as error:
            silent[pod] = error.what if isinstance(error, GroundupError) else str(error)
    return judge(days, silent, owner=owner)


def given(context: VerifierContext, secret: str, *, owner: str) -> Check:
    """Check the certificate in the Secret ``secret``, and its days left. Raises ApiError."""
    from cryptography import x509  # imported late: only this check needs them

    from ..kube.types import resource_path

    path = resource_path("v1", "secrets", namespace=context.release.namespace, name=secret)
    data = (context.api.find(path) or {}).get("data") or {}
    if "tls.crt" not in data:
        return judge({}, {}, owner=owner, nobody=f"there is no Secret {secret}")
    end = x509.load_pem_x509_certificate(base64.b64decode(data["tls.crt"])).not_valid_after_utc
    return judge({f"Secret {secret}": (end - datetime.now(UTC)).days}, {}, owner=owner)


def judge(days: Mapping[str, int], silent: Mapping[str, str], *, owner: str, nobody: str = "no member runs") -> Check:
    """Check the days left of certificates, by pod; ``silent``: pods without a valid one, and why."""
    least = min(days.values(), default=-1)
    faults = [f"{pod} serves none that the site's CA signed for its hosts: {why}" for pod, why in silent.items()]
    faults += [f"{pod}: {left} days left" for pod, left in days.items() if left < _DAYS_FAIL]
    soon = ": run groundup.cloud.site, which renews it" if least < _DAYS_SOON else ""
    return Check(
        name="certificate", ok=bool(days) and not faults, layer="credentials", object=owner,
        detail="; ".join(faults) or (f"{least} days left{soon}" if days else nobody),
    )  # fmt: skip


def _days(trust: ssl.SSLContext, plain: socket, name: str) -> int:
    """Return the days left of the peer's certificate on ``plain``. Raises OSError when ``trust`` rejects it."""
    # A forwarded connection is the Kubernetes library's socket replacement, without a file that ssl could wrap.
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trust.wrap_bio(incoming, outgoing, server_hostname=name)
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            plain.sendall(outgoing.read())
            if not (said := plain.recv(16384)):
                raise ConnectionResetError("closed during the handshake") from None
            incoming.write(said)
    end = str((tls.getpeercert() or {})["notAfter"])
    return int((ssl.cert_time_to_seconds(end) - time.time()) // 86400)

"""The object gateway (radosgw) of a storage host: configuration, start, removal, health check."""

from __future__ import annotations

import grp
import http.client
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.tls import check_pair, client_context
from .._base.wait import wait_until
from .._host import units
from .._plan.ceph import CephGateway, CephPlan
from . import configuration
from .model import ETC, LIB, USER

CONF = ETC / "rgw.conf"  # separate: a change of its options restarts no other daemon
HOME = LIB / "radosgw/ceph-rgw"
UNIT = "ceph-radosgw@rgw.service"
DROP_IN = Path(f"/etc/systemd/system/{UNIT}.d/groundup.conf")
_KEYRING, _PASSWORD, _CERTIFICATE, _KEY = (HOME / name for name in ("keyring", "password", "tls.crt", "tls.key"))
_PATIENCE, _ANSWER = 60.0, 5.0  # seconds for it to answer after a start, and for one answer
_OLD = "no_sslv2:no_sslv3:no_tlsv1:no_tlsv1_1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """The gateway of one host."""

    name: str  # of the host
    address: str
    ceph: CephPlan
    plan: CephGateway
    key: str = field(repr=False)
    password: str = field(repr=False)
    ca_certificate: str
    certificate: str
    private_key: str = field(repr=False)


def conf(gateway: Gateway) -> str:
    """Return the daemon's configuration. It holds no secret."""
    options = {
        "fsid": gateway.ceph.fsid,
        "mon_host": ",".join(one.address for one in gateway.ceph.monitors),
        "keyring": _KEYRING,
        "rgw_frontends": f"beast ssl_endpoint={gateway.address}:{gateway.plan.port} ssl_certificate={_CERTIFICATE} "
        f"ssl_private_key={_KEY} ssl_options={_OLD}",
        "rgw_keystone_admin_password_path": _PASSWORD,
        **gateway.plan.settings,
    }
    lines = "".join(f"{key} = {value}\n" for key, value in options.items())
    return f"{files.HEADER}[global]\n{lines}"


def start(client: str) -> str:
    """Return the command that starts the daemon."""
    return f"/usr/bin/radosgw -f -c {CONF} --name {client} --setuser {USER} --setgroup {USER}"


def converge(gateway: Gateway, changes: Changes, *, restart: bool) -> dict[str, Any]:
    """Configure and start the gateway; with ``restart``, restart it after a change. Raises GroundupError."""
    client = gateway.plan.client
    unit = units.Unit(changes, UNIT, healthy=lambda: answers(gateway))
    group = _group()
    private = {"mode": 0o640, "group": group, "secret": True}
    unit.place(_KEYRING, configuration.keyring({client: gateway.key}), **private)
    unit.place(_PASSWORD, f"{gateway.password}\n", **private)
    unit.place(_KEY, f"{gateway.private_key.rstrip()}\n", **private)
    unit.place(_CERTIFICATE, f"{gateway.certificate.rstrip()}\n", mode=0o644)
    if not changes.check:
        check_pair(_CERTIFICATE, user=f"rgw-{gateway.name}", key=_KEY)
    unit.place(CONF, conf(gateway))
    # Debian's unit would read ceph.conf, which all other daemons use.
    unit.generate(DROP_IN, f"[Service]\nExecStart=\nExecStart={start(client)}\n")
    due = unit.stale and unit.active and not restart
    if not due:
        unit.running()
    return {**changes.result(), "due": due}


def leave(changes: Changes) -> None:
    """Stop our gateway, and remove its files; its pools stay."""
    if not (files.read(CONF) or "").startswith(files.HEADER):
        return
    units.off(changes, [UNIT])
    files.remove(changes, DROP_IN)
    if HOME.exists() and changes.add(f"remove {HOME}"):
        shutil.rmtree(HOME)
    files.remove(changes, CONF)  # last: while it exists, a rerun continues the removal


def answers(gateway: Gateway) -> None:
    """Wait until the gateway answers, with a certificate of the site's CA. Raises GroundupError."""
    if reason := wait_until(lambda: _silent(gateway), timeout=_PATIENCE):
        raise GroundupError(
            f"the object gateway does not answer: {reason}",
            where=f"layer storage: host {gateway.name}, {UNIT}, https://{gateway.address}:{gateway.plan.port}",
            why="clients see: with every gateway like this one, Swift and S3 answer 503; with one of several, nothing",
            remedy=f"journalctl -u {UNIT} -n 50; /var/log/ceph/ceph-{gateway.plan.client}.log",
        )


def _silent(gateway: Gateway) -> str:
    """Return the error of a health request, "" when the gateway answers."""
    context = client_context(ca=gateway.ca_certificate)
    connection = http.client.HTTPSConnection(gateway.address, gateway.plan.port, timeout=_ANSWER, context=context)
    try:
        connection.request("GET", gateway.plan.health_path)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    finally:
        connection.close()
    return "" if status == http.client.OK else f"it answers {status}"


def _group() -> int:
    """Return the daemons' gid, 0 in a dry run before the packages are installed."""
    try:
        return grp.getgrnam(USER).gr_gid
    except KeyError:
        return 0

"""Converge Debian's node exporter: HTTPS on the host's own address, for monitoring's client certificate alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .._base import files, tls
from .._base.changes import Changes
from .._host import issued, packages, watched
from .._host.accounts import group_id
from .._host.clock import by_ptp
from .._host.units import Unit
from .units import answers, drop_in

ACCOUNT = "prometheus"  # of the Debian package
PORT = watched.EXPORTER_PORT
WEB, CERTIFICATE, KEY, READERS = (
    watched.HOME / name for name in ("exporter.yml", "exporter.crt", "exporter.key", "readers-ca.crt")
)
ENDS = "groundup_certificate_not_after_timestamp_seconds"
# What hosts have for pods and instances: it comes and goes with them, and takes most of the exporter's time. A dollar
# is written twice for systemd.
_PASSING = "^(lo|veth.*|lxc.*|cali.*|tap.*|qvo.*|qvb.*|ovs-.*|br-int)$$"
_VOLUMES = "var/lib/kubelet/pods/[^/]+/volumes/kubernetes.io~(configmap|empty-dir|projected|secret)"
_CAP_SYS_TIME = 25  # linux/capability.h
# By whom rules and panels are answered, a unit test says. All that Debian switches on cost 20 ms and 307 series more a
# scrape (docs/monitoring.md). `BESIDE` is for operators' own dashboards.
COLLECTORS = (
    "bonding", "conntrack", "cpu", "diskstats", "edac", "filesystem", "mdadm", "meminfo", "netdev", "netstat",
    "pressure", "stat", "textfile", "vmstat",
)  # fmt: skip
BESIDE = ("filefd", "hwmon", "loadavg", "uname")
CLOCK = "timex"
WEB_TEXT = f"""\
{files.HEADER}tls_server_config:
  cert_file: {CERTIFICATE.name}
  key_file: {KEY.name}
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: {READERS.name}
"""


def converge(changes: Changes, wanted: Mapping[str, Any]) -> None:
    """Install and run the node exporter as in ``wanted``. Raises GroundupError."""
    unit = Unit(changes, watched.EXPORTER, healthy=partial(answers, wanted["address"], PORT, watched.EXPORTER))
    # Before the package, which starts it: with Debian's settings anybody could read it. Without WEB it does not start.
    unit.place(watched.unit_file(watched.EXPORTER), unit_text(wanted["address"], clock=_keeps_clock()))
    packages.installed(changes, wanted["packages"])
    kept = (wanted["central"] or {}).get("kept_logs") or {}
    watched.GUARD.converge(changes, watched.rules(wanted["readers"], writers=kept.get("writers", ())))
    unit.place(CERTIFICATE, f"{wanted['certificate'].rstrip()}\n")
    unit.place(READERS, f"{wanted['ca_certificate'].rstrip()}\n")
    unit.place(
        KEY, f"{wanted['private_key'].rstrip()}\n", mode=0o640, group=group_id(ACCOUNT), secret=True,
        valid=partial(_check_pair, user=wanted["user"]),
    )  # fmt: skip
    unit.place(WEB, WEB_TEXT)
    unit.running()


def tell_certificates(changes: Changes) -> None:
    """Have the exporter tell when the certificates that layers wrote here end. Raises GroundupError, OSError."""
    lines = [f'{ENDS}{{path="{path}"}} {at}' for path, at in issued.ends().items()]
    head = [f"# HELP {ENDS} When the certificate of a file ends.", f"# TYPE {ENDS} gauge"]
    files.place(changes, watched.CERTIFICATES, "\n".join([*head, *lines, ""]))


def unit_text(address: str, *, clock: bool) -> str:
    """Return the drop-in of Debian's unit for a host with ``address``. ``clock``: the kernel says how its clock is."""
    collectors = (*COLLECTORS, *BESIDE, *([CLOCK] if clock else []))
    command = (
        "/usr/bin/prometheus-node-exporter", f"--web.listen-address={address}:{PORT}", f"--web.config.file={WEB}",
        "--collector.disable-defaults", *(f"--collector.{one}" for one in collectors),
        "--no-collector.cpu.guest", "--web.disable-exporter-metrics",
        f"--collector.textfile.directory={watched.TEXTS}", f"--collector.netdev.device-exclude={_PASSING}",
        # Debian's own, and those.
        f"--collector.filesystem.mount-points-exclude=^/(dev|proc|run|sys|mnt|media|{_VOLUMES})($$|/)",
    )  # fmt: skip
    # Not ProtectHome=yes, which would hide file systems from it. Garbage is collected twice as often as by default.
    return drop_in(command, needs=WEB, memory="128M", more="ProtectHome=read-only\nEnvironment=GOGC=50\n")


def _keeps_clock(status: Path = Path("/proc/1/status")) -> bool:
    """Return whether the kernel's word on the clock is the host's: of a container it is not, nor with PTP."""
    lines = dict(line.split(":", 1) for line in status.read_text(encoding="ascii").splitlines())
    return bool(int(lines["CapBnd"], 16) >> _CAP_SYS_TIME & 1) and not by_ptp()


def _check_pair(path: Any, *, user: str) -> None:
    tls.check_pair(CERTIFICATE, user=user, key=path)

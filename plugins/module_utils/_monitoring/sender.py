"""Converge what writes a host's logs to the monitoring host: vlagent, and systemd's journal upload into it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from .._base import tls
from .._base.changes import Changes
from .._base.files import HEADER
from .._host import accounts, packages, watched
from .._host.downloads import Download, install
from .._host.units import Unit
from .units import answers, service

ACCOUNT = "groundup-log-agent"
LOOPBACK = "127.0.0.1"
HOME = watched.HOME / "log-agent"
CERTIFICATE, KEY, CA = (HOME / name for name in ("agent.crt", "agent.key", "ca.crt"))
PROGRAM = watched.LOG_PROGRAMS / "vlagent"
BUFFER = "1GiB"  # compressed, in files of half of that; one more while the oldest is read
# Command lines may have a secret in them; the others tell an operator nothing, and are in every line.
DROPPED = (
    "_CMDLINE", "OBJECT_CMDLINE", "COREDUMP_CMDLINE", "COREDUMP_ENVIRON",
    "_BOOT_ID", "_MACHINE_ID", "_CAP_EFFECTIVE", "_SELINUX_CONTEXT", "_STREAM_ID", "_RUNTIME_SCOPE",
    "_SYSTEMD_CGROUP", "_SYSTEMD_SLICE", "_SYSTEMD_INVOCATION_ID", "INVOCATION_ID", "JOB_ID", "MESSAGE_ID",
)  # fmt: skip
# Of pods, as kubelet and containerd lay them out; the audit log of the API server, as a pattern: it may not be there.
FILES = ("/var/log/pods/*/*/*.log", "/var/log/kubernetes/audit.lo[g]")
CURSOR = watched.LOG_BUFFER / "journal"
# From now on: a journal of months at once would hold up what is written today.
_FROM_NOW = (
    f"ExecStartPre=/bin/sh -c 'test -e {CURSOR} || "
    f'journalctl --quiet --lines=0 --show-cursor | sed -n "s/^-- cursor: /LAST_CURSOR=/p" >{CURSOR}\'\n'
)
_STATE = f"StateDirectory={watched.LOG_BUFFER.name}\n"
_BEAT = "Line in the journal of a quiet host"


def converge(changes: Changes, wanted: Mapping[str, Any]) -> None:
    """Have this host write its logs as in ``wanted``. Raises GroundupError, OSError."""
    logs = wanted["logs"]
    packages.installed(changes, logs["packages"])
    group = accounts.ensure(changes, ACCOUNT, home="/nonexistent", login="/usr/sbin/nologin")
    agent = Unit(
        changes, watched.LOG_AGENT,
        healthy=partial(answers, LOOPBACK, watched.LOG_AGENT_PORT, watched.LOG_AGENT),
    )  # fmt: skip
    program = Download(url=f"{logs['programs_url']}/{PROGRAM.name}", path=str(PROGRAM), sha256=logs["sha256"])
    install(changes, program, PROGRAM, ca=wanted["files_ca"], reader=agent)
    agent.place(CERTIFICATE, f"{logs['certificate'].rstrip()}\n")
    agent.place(CA, f"{wanted['ca_certificate'].rstrip()}\n")
    agent.place(
        KEY, f"{wanted['logs_key'].rstrip()}\n", mode=0o640, group=group, secret=True,
        valid=lambda path: tls.check_pair(CERTIFICATE, user=logs["user"], key=path),
    )  # fmt: skip
    agent.place(watched.unit_file(watched.LOG_AGENT), agent_text(url=logs["url"], node=logs["node"]))
    agent.running()
    journal = Unit(changes, watched.LOG_JOURNAL)
    journal.place(watched.unit_file(watched.LOG_JOURNAL), journal_text())
    journal.running()
    beat = Unit(changes, watched.LOG_BEAT_TIMER)
    for name, text in beat_texts().items():
        beat.place(watched.unit_file(name), text)
    beat.running()


def agent_text(*, url: str, node: bool) -> str:
    """Return the unit of vlagent, which keeps what it cannot write yet. ``node``: it reads the logs of pods, too."""
    command = [
        str(PROGRAM), f"-httpListenAddr={LOOPBACK}:{watched.LOG_AGENT_PORT}", f"-tmpDataPath={watched.LOG_BUFFER}",
        f"-remoteWrite.url={url}", f"-remoteWrite.tlsCAFile={CA}", f"-remoteWrite.tlsCertFile={CERTIFICATE}",
        f"-remoteWrite.tlsKeyFile={KEY}", f"-remoteWrite.maxDiskUsagePerURL={BUFFER}", "-remoteWrite.queues=2",
        "-remoteWrite.maxBlockSize=1MiB",  # 200 of them, compressed, wait in memory before they wait on the disk
        "-journald.streamFields=_HOSTNAME,_SYSTEMD_UNIT", f"-journald.ignoreFields={','.join(DROPPED)}",
    ]  # fmt: skip
    more = _STATE
    if node:
        command += [f"-fileCollector.glob={one}" for one in FILES]
        # The audit log is of JSON, and those of pods are not: each line has the runtime's time first.
        command += [
            "-fileCollector.hostnameField=", "-fileCollector.timeField=requestReceivedTimestamp",
            "-fileCollector.msgField=requestURI",
        ]  # fmt: skip
        # They are root's alone: it may read all files, of which it is shown these.
        reads = "CAP_DAC_READ_SEARCH"
        more += f"CapabilityBoundingSet={reads}\nAmbientCapabilities={reads}\n"
        more += f"TemporaryFileSystem=/etc:ro /srv:ro /var/lib:ro\nBindReadOnlyPaths={HOME}\n"
        more += f"BindPaths={watched.LOG_BUFFER}\n"
    return service(command, what="Logs of this host (vlagent)", account=ACCOUNT, memory="256M", more=more)


def journal_text() -> str:
    """Return the unit that hands the journal to vlagent."""
    command = (
        "/usr/lib/systemd/systemd-journal-upload", f"--save-state={CURSOR}",
        f"--url=http://{LOOPBACK}:{watched.LOG_AGENT_PORT}/insert/journald",
    )  # fmt: skip
    more = f"SupplementaryGroups=systemd-journal\n{_STATE}{_FROM_NOW}"
    more += "Restart=always\nWatchdogSec=3min\nLimitNOFILE=65536\n"
    return service(command, what="Journal of this host, to vlagent", account=ACCOUNT, memory="128M", more=more)


def beat_texts() -> dict[str, str]:
    """Return the units that have every host write a line in five minutes: silence is then a fault."""
    return {
        watched.LOG_BEAT: f"{HEADER}[Unit]\nDescription={_BEAT}\n\n[Service]\nType=oneshot\nExecStart=/bin/true\n",
        watched.LOG_BEAT_TIMER: f"{HEADER}[Unit]\nDescription={_BEAT}\n\n"
        "[Timer]\nOnActiveSec=1\nOnUnitActiveSec=5min\nAccuracySec=1min\n\n[Install]\nWantedBy=timers.target\n",
    }

"""Converge the monitoring host: its programs, with the plan's files. All but where hosts write are on loopback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from .._base import files
from .._base.changes import Changes
from .._base.run import run
from .._host import accounts, ownership, packages, watched
from .._host.downloads import Download, install
from .._host.units import Unit, off
from . import asking, remote_write, texts
from .units import answers, drop_in, service

HOME = watched.HOME / "central"
LOOPBACK = "127.0.0.1"
STORE_PORT, RULES_PORT, ALERTS_PORT = watched.CENTRAL_PORTS
STORE_URL, RULES_URL, ALERTS_URL = (f"http://{LOOPBACK}:{port}" for port in watched.CENTRAL_PORTS)
AGENT_URL = f"http://{LOOPBACK}:{watched.METRICS_AGENT_PORT}"
LOGS_URL = f"http://{LOOPBACK}:{watched.LOG_STORE_PORT}"
ROUTING = "alertmanager.yml"
RUNS = "page/runs.json"  # no file of the plan: each run tells of itself
RECEIVERS = "receivers"  # secrets of those that get alerts, one a file
REMOTE = "remote-write"  # the secret by which metrics are written to another store
_FREE = "1GiB"  # disk that the store leaves to others: below it, it takes no more
_DELAY = "5s"  # of the store's answers, and of judging: docs/monitoring.md counts on it


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchProgram:
    """One program of the monitoring host."""

    unit: str
    account: str
    port: int
    reads: tuple[str, ...]  # its files below HOME, as the first part of their path
    program: str | None = None  # file of the supply; None: of a Debian package
    of_logs: bool = False  # whether it leaves with those of logs
    takes: Literal["reload", "restart"] = "reload"  # what has it read its files again

    @property
    def path(self) -> Path:
        """Return where its program is."""
        return (watched.LOG_PROGRAMS if self.of_logs else watched.PROGRAMS) / str(self.program)

    @property
    def group(self) -> int | None:
        """Its group, which reads its secrets; None in a dry run before there is one."""
        return accounts.group_id(self.account)

    def as_unit(self, changes: Changes, *, on_change: Literal["reload", "restart"] = "restart") -> Unit:
        """Return its unit, which is waited for whenever it starts."""
        return Unit(changes, self.unit, on_change=on_change, healthy=partial(answers, LOOPBACK, self.port, self.unit))


ALL = (
    WatchProgram(unit=watched.STORE, account="groundup-metrics", port=STORE_PORT,
                 reads=("targets", "vmui", "page", "scrape.yml"), program="victoria-metrics"),
    WatchProgram(unit=watched.ALERTS, account="groundup-alerts", port=ALERTS_PORT, reads=(RECEIVERS, ROUTING)),
    WatchProgram(unit=watched.RULES, account="groundup-rules", port=RULES_PORT, reads=("rules",), program="vmalert"),
)  # fmt: skip
AGENT = WatchProgram(unit=watched.METRICS_AGENT, account="groundup-metrics-agent", port=watched.METRICS_AGENT_PORT,
                     reads=("targets", "scrape.yml", REMOTE), program="vmagent")  # fmt: skip
LOGS = (
    WatchProgram(unit=watched.LOG_STORE, account="groundup-logs", port=watched.LOG_STORE_PORT, reads=(),
                 program="victoria-logs", of_logs=True),
    WatchProgram(unit=watched.LOG_DOOR, account="groundup-log-door", port=watched.DOOR_PORT, reads=("door",),
                 takes="restart"),
    WatchProgram(unit=watched.LOG_RULES, account="groundup-log-rules", port=watched.LOG_RULES_PORT,
                 reads=("log-rules",), program="vmalert", of_logs=True),
)  # fmt: skip


def programs_of(*, logs: bool, remote: bool) -> tuple[WatchProgram, ...]:
    """Return what the monitoring host runs; ``remote``: metrics go to another store, too, by who scrapes."""
    metrics = (AGENT, replace(ALL[0], reads=("vmui", "page")), *ALL[1:]) if remote else ALL
    return (*metrics, *(LOGS if logs else ()))


def converge(changes: Changes, wanted: Mapping[str, Any]) -> None:
    """Install and run all as in ``wanted``. Raises GroundupError, OSError."""
    kept, remote = wanted["kept_logs"], wanted["remote_write"]
    unit_files = unit_texts(days=wanted["retention_days"], hosts=wanted["hosts"], remote=remote)
    programs = programs_of(logs=bool(kept), remote=bool(remote))
    if kept:
        unit_files |= log_unit_texts(
            hosts=wanted["hosts"], days=kept["retention_days"], gib=kept["max_gib"], written_to=_written_to(remote)
        )
    tls = {programs[0].unit: ("tls", wanted["tls"]), watched.LOG_DOOR: ("door-tls", _door_tls(wanted))}
    for one in programs:
        accounts.ensure(changes, one.account, home="/nonexistent", login="/usr/sbin/nologin")
    # Before the package, which starts it: it would listen on all addresses. Without its routing it does not start.
    units = {one.unit: one.as_unit(changes) for one in programs}
    for name, unit in units.items():
        unit.place(watched.unit_file(name), unit_files[name])
    packages.installed(changes, wanted["central_packages"])
    off(changes, kept["off"] if kept else [])
    for one in programs:
        unit = units[one.unit]
        if one.program:
            url = kept["programs_url"] if one.unit == watched.LOG_STORE else wanted["programs_url"]
            place = Download(url=f"{url}/{one.program}", path=str(one.path), sha256=wanted["digests"].get(one.program))
            install(changes, place, one.path, ca=wanted["files_ca"], reader=unit)
        directory, credentials = tls.get(one.unit, ("", {}))
        for name, text in credentials.items():
            secret = not name.endswith(".crt")
            unit.place(HOME / directory / name, f"{text.rstrip()}\n", mode=0o640, group=one.group, secret=secret)
        reader = _configure(changes, one, wanted)
        (unit if unit.stale else reader).running()
    if not remote:
        watched.remove_metrics_agent(changes)  # the store scrapes again
    texts.ages(changes, wanted["backups"])
    asking.all_of(changes, wanted, tls=HOME / "tls")


def tell(changes: Changes, given: Mapping[str, Any]) -> dict[str, Any]:
    """Give those that are installed here the plan's files: a run that is limited to a new host has a target for it.

    Raises GroundupError, OSError.
    """
    ownership.refuse_other(given["site"])
    logs = any(path.startswith("door/") for path in given["files"])  # else a full run removes them
    for one in programs_of(logs=logs, remote=watched.unit_file(watched.METRICS_AGENT).exists()):
        if watched.unit_file(one.unit).exists():
            unit = one.as_unit(changes)  # stale, if a run was killed before its restart
            reader = _configure(changes, one, given)
            (unit if unit.stale else reader).running()
    return changes.result()


def _configure(changes: Changes, one: WatchProgram, wanted: Mapping[str, Any]) -> Unit:
    """Write the plan's files for ``one``, remove those that are no longer of it; return its unit, to be reloaded."""
    reader = one.as_unit(changes, on_change=one.takes)
    texts: dict[str, str] = {**wanted["receivers"], **wanted["files"]}
    own = {HOME / path: text for path, text in texts.items() if path.partition("/")[0] in one.reads}
    # The address of a webhook may let whoever knows it send messages.
    private = {HOME / path for path in (*wanted["receivers"], ROUTING)}
    for path, text in own.items():
        closed = path in private
        reader.place(path, text, mode=0o640 if closed else 0o644, group=one.group if closed else None, secret=closed,
                     valid=_takes_routing if path.name == ROUTING else None)  # fmt: skip
    kept = {*own, HOME / RUNS}
    for path in sorted(path for part in one.reads for path in (HOME / part).glob("*") if path not in kept):
        secret = path.parent.name in (RECEIVERS, REMOTE)
        if files.remove(changes, path, secret=secret, before=reader.mark):
            reader.replaced()
    return reader


def _written_to(remote: Mapping[str, Any] | None) -> str:
    """Return who takes what rules and counts find: with ``remote``, who writes it to both stores."""
    return AGENT_URL if remote else STORE_URL


def unit_texts(*, days: int, hosts: int, remote: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the unit files, by unit. ``hosts``: of the site; the store's memory follows from them.

    ``remote``: another store that gets all metrics.
    """
    scraping = f"-promscrape.config={HOME}/scrape.yml"
    store = (
        str(watched.PROGRAMS / "victoria-metrics"), f"-httpListenAddr={LOOPBACK}:{STORE_PORT}",
        *([] if remote else [scraping]), "-storageDataPath=/var/lib/groundup-metrics",
        f"-retentionPeriod={days}d", f"-storage.minFreeDiskSpaceBytes={_FREE}", f"-search.latencyOffset={_DELAY}",
        "-memory.allowedPercent=50", f"-vmui.customDashboardsPath={HOME}/vmui", f"-vmalert.proxyURL={RULES_URL}",
    )  # fmt: skip
    judge = (
        str(watched.PROGRAMS / "vmalert"), f"-httpListenAddr={LOOPBACK}:{RULES_PORT}", f"-rule={HOME}/rules/*.yml",
        f"-datasource.url={STORE_URL}", f"-remoteWrite.url={_written_to(remote)}", f"-remoteRead.url={STORE_URL}",
        f"-notifier.url={ALERTS_URL}", f"-rule.evalDelay={_DELAY}", "-rule.resendDelay=15s",
    )  # fmt: skip
    alerts = (
        "/usr/bin/prometheus-alertmanager", f"--web.listen-address={LOOPBACK}:{ALERTS_PORT}",
        "--cluster.listen-address=", f"--config.file={HOME}/{ROUTING}", "--storage.path=/var/lib/groundup-alerts",
    )  # fmt: skip
    accounts_of = {one.unit: one.account for one in ALL}
    agent = {watched.METRICS_AGENT: _agent_text(remote, scraping, hosts=hosts)} if remote else {}
    return agent | {
        watched.STORE: service(
            store, what="Metrics of the site (VictoriaMetrics)", account=accounts_of[watched.STORE],
            # 5,000 series a host take 9 MiB (docs/monitoring.md).
            memory=f"{512 + 10 * hosts}M", more="StateDirectory=groundup-metrics\nLimitNOFILE=65536\n",
        ),
        watched.RULES: service(
            judge, what="Alert rules of the site (vmalert)", account=accounts_of[watched.RULES],
            memory=f"{256 + hosts // 4}M",
        ),
        watched.ALERTS: drop_in(
            alerts, needs=HOME / ROUTING, memory="256M",
            more=f"User={accounts_of[watched.ALERTS]}\nGroup={accounts_of[watched.ALERTS]}\n"
                 "StateDirectory=groundup-alerts\nProtectHome=yes\nPrivateDevices=yes\n",
        ),
    }  # fmt: skip


def _agent_text(remote: Mapping[str, Any], scraping: str, *, hosts: int) -> str:
    """Return the unit of what scrapes and writes to ``remote`` and to the store of the site."""
    command = (
        str(AGENT.path), f"-httpListenAddr={LOOPBACK}:{AGENT.port}", scraping,
        *remote_write.arguments(remote, secret=HOME / REMOTE / "secret", own=f"{STORE_URL}/api/v1/write"),
        "-remoteWrite.tmpDataPath=/var/lib/groundup-metrics-agent", "-memory.allowedPercent=50",
    )  # fmt: skip
    return service(
        command, what="Metrics of the site, to two stores (vmagent)", account=AGENT.account,
        memory=f"{512 + 4 * hosts}M", more="StateDirectory=groundup-metrics-agent\nLimitNOFILE=65536\n",
    )  # fmt: skip


def log_unit_texts(*, hosts: int, days: int, gib: int, written_to: str = STORE_URL) -> dict[str, str]:
    """Return the unit files of what keeps logs, by unit. ``hosts``: of the site. Counts are ``written_to`` a store."""
    store = (
        str(LOGS[0].path), f"-httpListenAddr={LOOPBACK}:{watched.LOG_STORE_PORT}",
        "-storageDataPath=/var/lib/groundup-logs", f"-retentionPeriod={days}d",
        f"-retention.maxDiskSpaceUsageBytes={gib}GiB", f"-storage.minFreeDiskSpaceBytes={_FREE}",
        "-memory.allowedPercent=50",
    )  # fmt: skip
    # One process (-db): systemd sees it listen. It has no Debian unit: that one is the edge's.
    door = ("/usr/sbin/haproxy", "-db", "-f", f"{HOME}/door/haproxy.cfg")
    judge = (
        str(LOGS[2].path), f"-httpListenAddr={LOOPBACK}:{watched.LOG_RULES_PORT}", f"-rule={HOME}/log-rules/*.yml",
        "-rule.defaultRuleType=vlogs", f"-datasource.url={LOGS_URL}", f"-remoteWrite.url={written_to}",
        "-notifier.blackhole", "-evaluationInterval=60s", f"-rule.evalDelay={_DELAY}",
    )  # fmt: skip
    files_open = "LimitNOFILE=65536\n"
    return {
        watched.LOG_STORE: service(
            store, what="Logs of the site (VictoriaLogs)", account=LOGS[0].account, memory=f"{512 + 10 * hosts}M",
            more=f"StateDirectory=groundup-logs\n{files_open}",
        ),
        watched.LOG_DOOR: service(
            door, what="Where hosts write logs (HAProxy)", account=LOGS[1].account, memory=f"{256 + hosts}M",
            more=files_open,
        ),
        watched.LOG_RULES: service(
            judge, what="Lines of logs by host (vmalert)", account=LOGS[2].account, memory="256M"
        ),
    }  # fmt: skip


def _door_tls(wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return the host's own certificate, for those who write logs here."""
    return {
        "door.crt": wanted["certificate"], "door.crt.key": wanted["private_key"],
        "writers-ca.crt": wanted["ca_certificate"],
    }  # fmt: skip


def _takes_routing(path: Path) -> None:
    run(
        ["amtool", "check-config", str(path)],
        remedy="correct monitoring.webhook, pagerduty or mail; the old file is still in use",
    )

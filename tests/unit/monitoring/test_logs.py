"""Logs: bounded where they are kept and where they wait, written by the site's hosts alone, and gone when off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import accounts, packages, units, watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import central, sender, verify
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.layers import JOURNAL_UPLOAD
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.targets import expected
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki.users import users
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.tests.unit.certificates import issue
from ansible_collections.groundup.cloud.tests.unit.host.test_files_and_units import Systemd
from ansible_collections.groundup.cloud.tests.unit.plan.conftest import ROOT
from jinja2 import Environment

from .sites import planned
from .test_action import converged

URL = "https://10.0.0.2:9430/insert/native"


def with_logs(name: str = "lab", **changes: Any) -> Plan:
    """Return the plan of an example site that keeps logs."""
    return planned(name, monitoring__logs__enabled=True, **changes)


def test_a_site_that_does_not_ask_for_logs_has_nothing_of_them() -> None:
    plan = planned("ha")
    assert plan.monitoring
    assert plan.monitoring.logs is None
    assert "victoria-logs" not in plan.supply.chosen
    assert not [one for one in users(plan) if one.user.startswith("logs-")]
    assert not [path for path in files(plan) if "log" in path or "door" in path]
    assert not [one for one in expected(plan) if "log" in one["job"]]
    assert not {"9428/tcp", "9430/tcp"} & plan.preflight.monitoring_listens.keys()
    assert not [path for path, text in files(plan).items() if path.startswith("rules/") and "alert: Logs" in text]


def test_hosts_write_to_the_monitoring_host_under_a_certificate_of_their_own() -> None:
    plan = with_logs("ha")
    assert plan.monitoring
    assert plan.monitoring.logs
    assert plan.monitoring.logs.url == f"https://{plan.hosts[plan.monitoring.host].address}:9430/insert/native"
    assert "victoria-logs" in plan.supply.chosen
    own = {one.user: one for one in users(plan) if one.user.startswith("logs-")}
    assert own.keys() == {f"logs-{name}" for name in plan.hosts}
    assert {(one.authority, one.usage) for one in own.values()} == {("monitoring", "client")}
    written = files(plan)
    labels = dict(line.split() for line in written["door/hosts.map"].splitlines() if line[0] != "#")
    assert labels == {f"logs-{name}": f"host={name},rack={host.rack}" for name, host in plan.hosts.items()}
    assert f"bind {plan.hosts[plan.monitoring.host].address}:9430,127.0.0.1:9430 ssl " in written["door/haproxy.cfg"]
    assert "verify required" in written["door/haproxy.cfg"]


def test_each_host_must_write_but_those_that_are_set_aside() -> None:
    plan = with_logs()
    asked = {one["object"] for one in expected(plan, without=["worker-1"]) if one["job"] == verify.LOGS}
    assert asked == plan.hosts.keys() - {"worker-1"}


def test_the_store_is_bounded_by_age_size_free_disk_and_memory_and_answers_its_own_host_alone() -> None:
    texts = central.log_unit_texts(hosts=10, days=7, gib=50)
    store = texts[watched.LOG_STORE]
    for bound in ("-retentionPeriod=7d", "-retention.maxDiskSpaceUsageBytes=50GiB", "MemoryMax=612M",
                  "-storage.minFreeDiskSpaceBytes=1GiB", "-httpListenAddr=127.0.0.1:9428"):  # fmt: skip
        assert bound in store
    assert "-httpListenAddr=127.0.0.1:8881" in texts[watched.LOG_RULES]


def test_every_unit_of_logs_has_an_account_of_its_own_and_keeps_its_privileges_down() -> None:
    texts = central.log_unit_texts(hosts=10, days=7, gib=50) | central.unit_texts(days=7, hosts=10)
    accounts_of = [line for text in texts.values() for line in text.splitlines() if line.startswith("User=")]
    assert len(set(accounts_of)) == len(texts) == 6
    for text in (*texts.values(), sender.agent_text(url=URL, node=False), sender.journal_text()):
        assert {"NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="} <= {*text.splitlines()}
        assert "MemoryMax=" in text


def test_what_waits_on_a_host_is_bounded_and_goes_out_by_tls_alone() -> None:
    text = sender.agent_text(url=URL, node=False)
    assert "-remoteWrite.maxDiskUsagePerURL=1GiB" in text
    for given in (
        f"url={URL}",
        f"tlsCAFile={sender.CA}",
        f"tlsCertFile={sender.CERTIFICATE}",
        f"tlsKeyFile={sender.KEY}",
    ):
        assert f"-remoteWrite.{given}" in text
    assert "-httpListenAddr=127.0.0.1:9429" in text
    assert "_CMDLINE" in sender.DROPPED, "command lines may have a secret in them"


def test_files_of_root_are_read_on_nodes_alone_where_nothing_else_of_root_is_shown() -> None:
    node, other = (sender.agent_text(url=URL, node=node) for node in (True, False))
    assert "-fileCollector.glob=/var/log/pods/*/*/*.log" in node
    assert "AmbientCapabilities=CAP_DAC_READ_SEARCH\n" in node
    assert f"TemporaryFileSystem=/etc:ro /srv:ro /var/lib:ro\nBindReadOnlyPaths={sender.HOME}\n" in node
    assert "fileCollector" not in other
    assert "AmbientCapabilities" not in other


def test_the_journal_is_uploaded_to_a_written_port_from_now_on_and_tried_again() -> None:
    text = sender.journal_text()
    assert "--url=http://127.0.0.1:9429/insert/journald\n" in text, "else systemd 257 puts its own port behind the path"
    assert f"test -e {sender.CURSOR} || journalctl --quiet --lines=0 --show-cursor" in text
    assert [line for line in text.splitlines() if line.startswith("Restart=")][-1] == "Restart=always"


def test_the_door_is_open_to_the_site_s_networks_alone_and_closed_where_there_is_none() -> None:
    text = watched.rules(["10.0.0.2"], writers=["10.0.0.0/24", "10.1.0.0/24"])
    assert "ip saddr { 10.0.0.0/24, 10.1.0.0/24 } tcp dport { 9430 } accept" in text
    assert "tcp dport { 9100, 9101, 9283, 9430 } drop" in text
    assert "9430" not in watched.rules(["10.0.0.2"])


class Sender:
    """A host whose packages, account and program are there."""

    def __init__(self, systemd: Systemd) -> None:
        self.systemd = systemd
        authority = issue("monitoring", ca=True)
        self.certificate = issue("logs-worker-1", authority, client=True)
        self.ca = authority.pem

    def run(self, **logs: Any) -> list[str]:
        """Return what a run changes."""
        changes = Changes(check=False)
        given = {
            "packages": [JOURNAL_UPLOAD], "programs_url": "https://seed", "sha256": "0" * 64, "url": URL, "node": True,
            "user": "logs-worker-1", "certificate": self.certificate.pem,
        }  # fmt: skip
        wanted = {"logs": given | logs, "logs_key": self.certificate.key, "ca_certificate": self.ca, "files_ca": ""}
        sender.converge(changes, wanted)
        return changes.done


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sender:
    found = Sender(Systemd(SubState="running", ActiveState="active", UnitFileState="enabled"))
    monkeypatch.setattr(units, "run", found.systemd.run)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    moved(tmp_path, monkeypatch)
    monkeypatch.setattr(packages, "installed", lambda *_: False)
    monkeypatch.setattr(accounts, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(sender, "install", lambda *_, **__: None)
    monkeypatch.setattr(sender, "answers", lambda *_: None)
    for name in ("CERTIFICATE", "KEY", "CA"):
        monkeypatch.setattr(sender, name, tmp_path / "etc/monitoring/log-agent" / name)
    return found


def moved(place: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Put the files below ``place``; return the units that are stopped."""
    stopped: list[list[str]] = []
    for name, path in {"UNITS": "systemd", "HOME": "etc/monitoring", "PROGRAMS": "lib/monitoring",
                       "LOG_PROGRAMS": "lib/logs", "LOG_BUFFER": "var/agent"}.items():  # fmt: skip
        monkeypatch.setattr(watched, name, place / path)
    monkeypatch.setattr(watched, "off", lambda _, names: stopped.append(list(names)))
    return stopped


def test_a_second_run_changes_nothing_and_another_address_restarts_the_agent_alone(writer: Sender) -> None:
    first = writer.run()
    restarted = [line for line in first if line.startswith("restart")]
    assert restarted == [f"restart {name}" for name in (watched.LOG_AGENT, watched.LOG_JOURNAL, watched.LOG_BEAT_TIMER)]
    assert writer.run() == []
    assert [line for line in writer.run(url=URL.replace("0.2", "0.3")) if "restart" in line] == [
        f"restart {watched.LOG_AGENT}"
    ]


def test_logs_that_are_off_again_leave_the_host_and_what_is_kept_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = moved(tmp_path, monkeypatch)
    changes = Changes(check=False)
    watched.remove_logs(changes)
    assert changes.done == [], "of a host that never had them"
    theirs = [
        *(watched.unit_file(name) for name in (*watched.LOGS, *watched.LOG_SENDERS)), watched.LOG_PROGRAMS / "vlagent",
        watched.LOG_BUFFER / "journal", watched.HOME / "log-agent/agent.key", watched.HOME / "central/door/hosts.map",
        watched.HOME / "central/door-tls/door.crt.key", watched.HOME / "central/log-rules/logs.yml",
    ]  # fmt: skip
    others = [
        watched.unit_file(watched.STORE), watched.PROGRAMS / "vmalert", watched.HOME / "central/scrape.yml",
        tmp_path / "var/lib/groundup-logs/x",
    ]  # fmt: skip
    for path in (*theirs, *others):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    watched.remove_logs(changes)
    assert [name for name in stopped[-1] if name] == [*watched.LOGS, *watched.LOG_SENDERS]
    assert not [path for path in theirs if path.exists()]
    assert all(path.exists() for path in others)


def asked(monkeypatch: pytest.MonkeyPatch, *hosts: str) -> dict[str, str]:
    """Return who is silent when the store has lines of ``hosts``."""
    urls: list[str] = []

    def answer(url: str) -> Any:
        urls.append(url)
        return {
            "data": {"activeTargets": [], "result": [{"metric": {"host": host}, "value": [0, "7"]} for host in hosts]}
        }

    monkeypatch.setattr(verify, "_asked", answer)
    found = verify.silent(
        [{"job": verify.LOGS, "object": name, "one_answers": False} for name in ("worker-1", "seed-1")]
    )
    assert any("/select/logsql/stats_query?query=_time%3A10m" in url for url in urls)
    return found


def test_a_host_of_which_the_store_has_no_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, "worker-1") == {"logs of seed-1": "no line for ten minutes"}


def test_a_store_that_does_not_answer_is_the_reason_and_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> Any:
        raise OSError("refused")

    monkeypatch.setattr(verify, "_asked", refuse)
    found = verify.silent([{"job": verify.LOGS, "object": "worker-1", "one_answers": False}])
    assert found == {"logs of worker-1": "the store of logs does not answer: refused"}


def test_a_host_is_given_what_writes_its_logs_by_digest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    logs = {"programs": "other/1", "seed": "seed-1", "url": URL}
    given = converged(monkeypatch, dict, logs=logs)["given"]["logs"]
    assert given == {**logs, "sha256": None, "packages": [JOURNAL_UPLOAD]}
    assert converged(monkeypatch, dict)["given"]["logs"] == {}


@pytest.mark.parametrize(("plan", "idle"), [(with_logs(), ["haproxy.service"]),
                                            (with_logs(monitoring__host="control-1"), [])])  # fmt: skip
def test_debian_s_own_haproxy_stays_where_it_is_the_edge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plan: Plan, idle: list[str]
) -> None:
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path))
    own = converged(monkeypatch, dict, central=True, plan=plan)["given"]["central"]
    assert own["central_packages"] == ["prometheus-alertmanager", "haproxy"]
    assert own["kept_logs"]["off"] == idle
    assert own["kept_logs"]["writers"] == list(plan.supply.readers)
    assert (own["kept_logs"]["retention_days"], own["kept_logs"]["max_gib"]) == (14, 20)


def test_the_role_gives_a_host_the_site_s_values_and_its_own_or_nothing() -> None:
    wanted = yaml.safe_load((ROOT / "roles/monitoring/vars/main.yml").read_text())["monitoring_wanted"]
    environment = Environment(autoescape=False)  # noqa: S701  # as Ansible's
    environment.filters["combine"] = lambda first, second: first | second
    values: dict[str, Any] = {
        "groundup_host": {"node_labels": {"a": "b"}}, "monitoring_logs_user": "logs-x", "lookup": lambda *at: at[-1],
        "groundup_site": {"monitoring": {"logs": None}, "supply": {"files_url": "https://s:8080", "seed": "seed-1"}},
    }  # fmt: skip

    def rendered(name: str) -> Any:
        (inner,) = re.fullmatch(r"\{\{(.+)\}\}\s*", wanted[name], re.DOTALL).groups()  # type: ignore[union-attr]
        return environment.compile_expression(inner)(**values)

    assert (rendered("logs"), rendered("logs_key")) == ({}, "")
    values["groundup_site"]["monitoring"]["logs"] = {"url": URL, "programs": "victoria-logs/1"}
    assert rendered("logs") == {
        "url": URL, "programs": "victoria-logs/1", "programs_url": "https://s:8080/victoria-logs/1", "seed": "seed-1",
        "user": "logs-x", "certificate": "pki/logs-x.crt", "node": True,
    }  # fmt: skip
    assert rendered("logs_key") == "pki/logs-x-key"

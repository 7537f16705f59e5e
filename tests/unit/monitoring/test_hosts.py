"""What monitoring runs on hosts: bounded, on loopback or behind its certificate, and gone when the site has none."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host import issued, watched
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import central, exporter, verify
from ansible_collections.groundup.cloud.plugins.module_utils._status.host import _monitoring
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.status import hosts
from ansible_collections.groundup.cloud.tests.unit.certificates import issue
from cryptography import x509

from .sites import planned

NODE = {"job": "node", "object": "worker-1", "remedy": "look at it", "one_answers": False}
UP = {"health": "up", "lastError": ""}
MANAGERS = [
    {"job": "ceph", "object": f"storage-{number}", "remedy": "run it again", "one_answers": True} for number in (1, 2)
]


def test_the_store_is_bounded_in_time_disk_and_memory_and_nothing_listens_beyond_the_host() -> None:
    texts = central.unit_texts(days=7, hosts=10)
    store = texts[watched.STORE]
    assert "-retentionPeriod=7d" in store
    assert "-storage.minFreeDiskSpaceBytes=1GiB" in store
    assert "MemoryMax=612M" in store
    assert "MemoryMax=258M" in texts[watched.RULES]
    for name, port in zip((watched.STORE, watched.RULES, watched.ALERTS), watched.CENTRAL_PORTS, strict=True):
        assert f"isten-address=127.0.0.1:{port}" in texts[name] or f"-httpListenAddr=127.0.0.1:{port}" in texts[name]
    assert "--cluster.listen-address= " in texts[watched.ALERTS], "Alertmanager has no peers"


def test_every_unit_has_an_account_of_its_own_and_keeps_its_privileges_down() -> None:
    texts = central.unit_texts(days=7, hosts=10)
    users = [line for text in texts.values() for line in text.splitlines() if line.startswith("User=")]
    assert len(set(users)) == len(texts) == 3
    for text in (*texts.values(), exporter.unit_text("10.0.0.5", clock=True)):
        assert {"NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="} <= {*text.splitlines()}
        assert "MemoryMax=" in text


def test_the_end_of_each_certificate_that_a_layer_wrote_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = issue("one")
    wanted = {
        "etc/haproxy/tls/edge.pem": one.pem + one.key, "etc/ovn/tls/certificate.pem": one.pem,
        "etc/ovn/tls/key.pem": one.key, "etc/elsewhere/other.crt": one.pem,
    }  # fmt: skip
    for path, text in wanted.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    _moved(tmp_path, monkeypatch)
    monkeypatch.setattr(issued, "ends", partial(issued.ends, tmp_path))
    for changed in (1, 0):
        changes = Changes(check=False)
        exporter.tell_certificates(changes)
        assert len(changes.done) == changed
    told = [line.split() for line in watched.CERTIFICATES.read_text().splitlines() if line[0] != "#"]
    end = int(x509.load_pem_x509_certificate(one.pem.encode()).not_valid_after_utc.timestamp())
    paths = ("/etc/haproxy/tls/edge.pem", "/etc/ovn/tls/certificate.pem")
    assert told == [[f'{exporter.ENDS}{{path="{path}"}}', str(end)] for path in paths]
    assert exporter.ENDS in ALERTS["CertificateEnding"].expression(planned("lab"))


def test_the_exporter_never_starts_without_its_certificate() -> None:
    text = exporter.unit_text("10.0.0.5", clock=True)
    assert f"ConditionPathExists={exporter.WEB}" in text
    assert "--web.listen-address=10.0.0.5:9100" in text
    assert "client_auth_type: RequireAndVerifyClientCert" in exporter.WEB_TEXT


def test_ports_of_metrics_are_open_to_the_monitoring_host_alone() -> None:
    text = watched.rules(["10.0.0.2"])
    assert "ip saddr { 10.0.0.2 } tcp dport { 9100, 9101, 9283 } accept" in text
    assert "tcp dport { 9100, 9101, 9283 } drop" in text


@pytest.mark.parametrize("central_only", [True, False])
def test_a_host_that_never_had_monitoring_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, central_only: bool
) -> None:
    _moved(tmp_path, monkeypatch)
    changes = Changes(check=False)
    watched.remove(changes, central_only=central_only)
    assert changes.done == []


def test_what_an_earlier_run_left_is_removed_and_kept_metrics_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = _moved(tmp_path, monkeypatch)
    units = [watched.unit_file(watched.EXPORTER), watched.unit_file(watched.STORE)]
    own = [
        watched.HOME / "central/x",
        watched.HOME / "exporter.key",
        watched.PROGRAMS / "vmalert",
        watched.BACKUPS,
        watched.CERTIFICATES,
        watched.HOST_TOLD,
        watched.HOST_PROGRAM,
        watched.SMART_TOLD,
        watched.SMART.program,
    ]
    for path in (*units, *own, tmp_path / "var/lib/groundup-metrics/x"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    watched.HOST_METRICS.symlink_to(watched.HOST_TOLD)
    watched.SMART.metrics.symlink_to(watched.SMART_TOLD)
    dry = Changes(check=True)
    watched.remove(dry)
    assert watched.HOME.is_dir(), "a dry run removes nothing"
    changes = Changes(check=False)
    watched.remove(changes)
    assert stopped[-1] == [watched.STORE, watched.EXPORTER]
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == [
        "var/lib/groundup-metrics/x"
    ]
    assert changes.done == dry.done
    assert not watched.HOST_METRICS.is_symlink()
    assert not watched.SMART.metrics.is_symlink()
    again = Changes(check=False)
    watched.remove(again)
    assert again.done == []


def test_the_former_monitoring_host_keeps_its_exporter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _moved(tmp_path, monkeypatch)
    own = [watched.HOME / "exporter.key", watched.HOME / "central/x", watched.BACKUPS]
    for path in (watched.unit_file(watched.EXPORTER), *own):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    watched.remove(Changes(check=False), central_only=True)
    assert watched.unit_file(watched.EXPORTER).exists()
    assert [path.name for path in watched.HOME.iterdir()] == ["exporter.key"]
    assert not watched.BACKUPS.exists(), "it would grow old, and raise an alert"


def _moved(place: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Put the files below ``place``; return the units that are stopped. systemd is the host's, not the test's."""
    stopped: list[list[str]] = []
    monkeypatch.setattr(watched, "UNITS", place / "systemd")
    monkeypatch.setattr(watched, "HOME", place / "etc/monitoring")
    monkeypatch.setattr(watched, "PROGRAMS", place / "lib/monitoring")
    monkeypatch.setattr(watched, "BACKUPS", place / "node-exporter/groundup-backups.prom")
    monkeypatch.setattr(watched, "DRIFT", place / "node-exporter/groundup-drift.prom")
    monkeypatch.setattr(watched, "FAILURE", place / "node-exporter/groundup-hypervisor-failure.prom")
    monkeypatch.setattr(watched, "CAPACITY", place / "node-exporter/groundup-capacity.prom")
    monkeypatch.setattr(watched, "CERTIFICATES", place / "node-exporter/groundup-certificates.prom")
    monkeypatch.setattr(watched, "HOST_METRICS", place / "node-exporter/groundup-host.prom")
    monkeypatch.setattr(watched, "HOST_TOLD", place / "run/host.prom")
    monkeypatch.setattr(watched, "SMART_TOLD", place / "run/smart.prom")
    monkeypatch.setattr(watched, "TEXTS", place / "node-exporter")
    monkeypatch.setattr(watched, "LIBRARY", place / "lib")
    monkeypatch.setattr(watched, "HOST_PROGRAM", place / "lib/host-metrics/host-metrics.pyz")
    monkeypatch.setattr(watched, "off", lambda _, names: stopped.append(list(names)))
    return stopped


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Answer for store, rules and Alertmanager on one port of loopback, by path."""
    answers: dict[str, Any] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answers[self.path.partition("?")[0]]).encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        for name in ("STORE_URL", "AGENT_URL", "RULES_URL", "ALERTS_URL"):
            monkeypatch.setattr(verify, name, f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(verify, "PATIENCE", -2.0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        answers |= {
            "/api/v1/targets": _active(worker="up"), "/api/v2/alerts": [{"labels": {"alertname": watched.PROOF}}],
            "/api/v1/rules": {"data": {"groups": [{"rules": [{"name": watched.PROOF, "lastError": ""}]}]}},
        }  # fmt: skip
        yield answers
        server.shutdown()


def _active(**states: str) -> dict[str, Any]:
    found = [
        {"labels": {"job": "node", "object": f"{name}-1"}, "health": state, "lastError": "refused" * (state == "down")}
        for name, state in states.items()
    ]
    return {"data": {"activeTargets": found}}


def asked(*targets: dict[str, Any]) -> dict[str, Any]:
    return verify.verify(Changes(check=False), {"interval": 1, "targets": list(targets)})


def test_a_site_whose_targets_answer_and_whose_alert_arrives_is_well(served: dict[str, Any]) -> None:
    assert served
    assert asked(NODE) == {"changed": False, "targets": 1}


@pytest.mark.parametrize(("answer", "why"), [(_active(worker="down"), "refused"), (_active(), "no such target")])
def test_a_silent_target_is_named_with_host_and_remedy(served: dict[str, Any], answer: Any, why: str) -> None:
    served["/api/v1/targets"] = answer
    with pytest.raises(GroundupError, match="node of worker-1") as found:
        asked(NODE)
    assert why in found.value.where
    assert found.value.remedy == "look at it"


def test_where_an_agent_scrapes_it_is_asked_and_not_the_store(
    served: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = NODE | {"job": "agent", "object": "seed-1"}
    served["/api/v1/targets"]["data"]["activeTargets"].append({"labels": {"job": "agent", "object": "seed-1"}} | UP)
    monkeypatch.setattr(verify, "STORE_URL", "http://127.0.0.1:1")
    assert asked(NODE, agent)["targets"] == 2
    with pytest.raises(GroundupError, match="node of worker-1") as found:
        asked(NODE)
    assert "who scrapes does not answer" in found.value.where


def test_of_targets_of_which_one_is_enough_none_must_be_silent_for_a_fault(served: dict[str, Any]) -> None:
    def active(first: str, second: str) -> Any:
        states = _active(worker="up")["data"]["activeTargets"]
        for one, state in zip(MANAGERS, (first, second), strict=True):
            labels = {"job": one["job"], "object": one["object"]}
            states.append({"labels": labels, "health": state, "lastError": "refused"})
        return {"data": {"activeTargets": states}}

    for states in (("up", "down"), ("down", "up")):
        served["/api/v1/targets"] = active(*states)
        assert asked(NODE, *MANAGERS)["targets"] == 3
    served["/api/v1/targets"] = active("down", "down")
    with pytest.raises(GroundupError, match="ceph of storage-1, ceph of storage-2") as found:
        asked(NODE, *MANAGERS)
    assert found.value.remedy == "run it again"


def test_the_state_of_the_site_is_what_verification_asks(
    served: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned("lab")
    (asked_of,) = [name for name, host in plan.hosts.items() if "monitoring" in hosts.wanted(plan, host)]
    assert plan.monitoring
    assert asked_of == plan.monitoring.host
    _moved(tmp_path, monkeypatch)
    assert _monitoring({"targets": [NODE]}) == {"state": "not made"}
    watched.UNITS.mkdir()
    watched.unit_file(watched.STORE).touch()
    assert _monitoring({"targets": [NODE]}) == {"silent": [], "unjudged": ""}
    served["/api/v2/alerts"] = []
    served["/api/v1/targets"] = _active(worker="down")
    found = _monitoring({"targets": [NODE]})
    assert found["silent"] == ["node of worker-1"]
    assert "has not heard" in found["unjudged"]


@pytest.mark.parametrize(
    ("path", "answer", "why"),
    [
        ("/api/v2/alerts", [], "has not heard"),
        ("/api/v1/rules", {"data": {"groups": [{"rules": [{"name": "X", "lastError": "bad"}]}]}}, "X: bad"),
    ],
)
def test_alerts_that_do_not_arrive_are_a_fault(served: dict[str, Any], path: str, answer: Any, why: str) -> None:
    served[path] = answer
    with pytest.raises(GroundupError, match=why):
        asked(NODE)

"""Lines of journal, pods and audit log get into the store by the real programs, with the plan's files and units."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host import watched as on_host
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import central, sender
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.files import files
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.logs import ALL_LINES, LINES
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.unit.certificates import issue
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

from .watched import command

REQUEST = "req-3f0c2b1e-6d1b-4f0e-9a52-0c5a6c0a7c11"
POD = "/var/log/pods/openstack_nova-api-6d9f_0b1c/nova-api/0.log"
JOURNAL = "/var/log/journal/0123456789abcdef0123456789abcdef/system.journal"
STRANGER = Path("/etc/stranger")
LATER = 20.0  # seconds from a line to the store: files are looked for every ten


class Site:
    """A monitoring host and `worker-1` in one network, by the units' own arguments."""

    def __init__(self, host: HostRoot, plan: Plan) -> None:
        """Take the place and the plan."""
        self.host, self.plan = host, plan

    def ask(self, query: str) -> list[dict[str, Any]]:
        """Return the lines that the store has for ``query``."""
        url = f"http://127.0.0.1:{on_host.LOG_STORE_PORT}/select/logsql/query"
        said = self.host.run("curl", "-sf", url, "--data-urlencode", f"query={query}").stdout
        return [json.loads(line) for line in said.splitlines()]

    def metric(self, name: str) -> dict[str, float]:
        """Return what the store of metrics has of ``name``, by host."""
        url = f"http://127.0.0.1:{central.STORE_PORT}/api/v1/query?query={name}&nocache=1"
        said = json.loads(self.host.run("curl", "-sf", url).stdout or '{"data": {"result": []}}')
        return {one["metric"].get("host", ""): float(one["value"][1]) for one in said["data"]["result"]}

    def posted(self, path: str, *more: str) -> str:
        """Return the status that worker-1 gets for a request at the door."""
        (url,) = re.findall(r"https://[^/]+", self.plan.monitoring.logs.url)  # type: ignore[union-attr]
        return self.host.run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", str(sender.CA),
                             "-d", "x", *more, f"{url}{path}").stdout  # fmt: skip

    def journal(self, message: str) -> None:
        """Put a line of unit kubelet into the journal."""
        now = f"{time.time_ns() // 1000}"
        fields = {
            "__REALTIME_TIMESTAMP": now, "__MONOTONIC_TIMESTAMP": now, "_BOOT_ID": "0" * 31 + "1", "PRIORITY": "6",
            "_HOSTNAME": "worker-1", "_SYSTEMD_UNIT": "kubelet.service", "_CMDLINE": "kubelet --token=swordfish",
            "MESSAGE": message,
        }  # fmt: skip
        text = "".join(f"{name}={value}\n" for name, value in fields.items()) + "\n"
        added = self.host.run("/usr/lib/systemd/systemd-journal-remote", "-o", JOURNAL, "-", input=text)
        assert added.returncode == 0, added.stdout

    def pod(self, *lines: str) -> None:
        """Have a pod write ``lines``, as containerd keeps them."""
        self.host.at(POD).parent.mkdir(parents=True, exist_ok=True)
        with self.host.at(POD).open("a", encoding="ascii") as log:
            log.writelines(f"2026-11-29T18:00:00.000000001Z stdout F {line}\n" for line in lines)


@contextmanager
def site(place: Path, artifact: Callable[[str], Artifact], debian: Path) -> Iterator[Site]:
    """Run the monitoring host of `lab`, and put beside it what worker-1 has; `sent` starts that."""
    plan = planned("lab", monitoring__logs__enabled=True)
    assert plan.monitoring
    assert plan.monitoring.logs
    kept = plan.monitoring.logs
    address = plan.hosts[plan.monitoring.host].address
    with host_root(place / "host", f"{address}/32") as host:
        for name in ("upload", "remote"):
            shutil.copy(debian / f"usr/lib/systemd/systemd-journal-{name}", host.at("usr/lib/systemd"))
        libraries = host.at("usr/lib/x86_64-linux-gnu")
        for path in (debian / "usr/lib/x86_64-linux-gnu").glob("*.so*"):
            if not (libraries / path.name).is_symlink() and not (libraries / path.name).exists():
                shutil.copy(path, libraries, follow_symlinks=False)
        host.at("etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
        for path in (on_host.PROGRAMS, on_host.LOG_PROGRAMS, on_host.LOG_BUFFER, Path(JOURNAL).parent):
            host.at(path).mkdir(parents=True, exist_ok=True)
        for of, to, names in (
            ("victoria-metrics", on_host.PROGRAMS, ("victoria-metrics",)),
            ("victoria-metrics", on_host.LOG_PROGRAMS, ("vmalert",)),
            ("victoria-logs", on_host.LOG_PROGRAMS, ("victoria-logs", "vlagent")),
        ):
            for name in names:
                shutil.copy(artifact(of).path / name, host.at(to))
        _lay_out(host, plan, address)
        texts = central.unit_texts(days=1, hosts=4)
        texts |= central.log_unit_texts(hosts=4, days=kept.retention_days, gib=kept.max_gib)
        for unit in (on_host.STORE, on_host.LOG_STORE, on_host.LOG_DOOR, on_host.LOG_RULES):
            host.start(*command(texts[unit]))
        yield Site(host, plan)


def _lay_out(host: HostRoot, plan: Plan, address: str) -> None:
    """Write the plan's files, and the certificates of both hosts."""
    authority = issue("monitoring", ca=True)
    server = issue("metrics-seed-1", authority, names=[address])
    wanted = {central.HOME / path: text for path, text in files(plan).items()}
    tls = {"door.crt": server.pem, "door.crt.key": server.key, "writers-ca.crt": authority.pem}
    wanted |= {central.HOME / "door-tls" / name: text for name, text in tls.items()}
    for name, place in {"worker-1": sender.HOME, "stranger": STRANGER}.items():
        client = issue(f"logs-{name}", authority, client=True)
        wanted |= {place / sender.CERTIFICATE.name: client.pem, place / sender.KEY.name: client.key}
    wanted[sender.CA] = authority.pem
    for path, text in wanted.items():
        host.at(path).parent.mkdir(parents=True, exist_ok=True)
        host.at(path).write_text(text)


def sent(at: Site, *flags: str, query: str = "") -> None:
    """Start what writes the logs of worker-1; with more ``flags`` and a ``query`` of its own, as a stolen host may."""
    assert at.plan.monitoring
    assert at.plan.monitoring.logs
    at.host.start(*command(sender.agent_text(url=at.plan.monitoring.logs.url + query, node=True)), *flags)
    text = sender.journal_text()
    (before,) = re.findall(r"ExecStartPre=/bin/sh -c '(.+)'$", text, re.MULTILINE)
    assert at.host.run("sh", "-c", before).returncode == 0
    until(
        lambda: at.host.run("curl", "-s", f"127.0.0.1:{on_host.LOG_AGENT_PORT}/health").returncode == 0, seconds=LATER
    )
    at.host.start(*command(text))


@pytest.mark.long
def test_lines_of_a_host_are_stored_under_its_name_and_found_by_unit_pod_and_request(
    tmp_path: Path, artifact: Callable[[str], Artifact], root: Callable[[str], Path]
) -> None:
    with site(tmp_path, artifact, root("root-monitoring")) as at:
        at.journal("of an earlier month")
        at.journal("of yesterday")  # the last one is sent, where none is newer: the upload's own way
        audit = {"kind": "Event", "verb": "delete", "requestURI": "/api/v1/namespaces/default/pods/x",
                 "requestReceivedTimestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())}  # fmt: skip
        at.host.at("var/log/kubernetes").mkdir(parents=True)
        at.host.at("var/log/kubernetes/audit.log").write_text(json.dumps(audit) + "\n")
        at.pod(f"INFO nova.api [{REQUEST} None] GET /servers")
        sent(at)
        time.sleep(2)  # until it follows
        at.journal(f"scheduled for {REQUEST}")

        until(lambda: len(at.ask(f'"{REQUEST}"')) == 2, seconds=LATER)
        of_unit, of_pod = sorted(at.ask(f'"{REQUEST}"'), key=lambda one: "file" in one)
        assert (of_unit["host"], of_unit["_SYSTEMD_UNIT"], of_unit["level"]) == ("worker-1", "kubelet.service", "info")
        assert "_CMDLINE" not in of_unit, "command lines may have a secret in them"
        assert (of_pod["host"], of_pod["file"]) == ("worker-1", POD)
        assert at.ask("earlier") == [], "the upload begins from now"
        (of_audit,) = at.ask('verb:="delete"')
        assert (of_audit["host"], of_audit["_msg"]) == ("worker-1", audit["requestURI"])

        until(lambda: at.metric(LINES) == {"worker-1": float(len(at.ask("_HOSTNAME:*")))}, seconds=120)
        assert at.metric(ALL_LINES)[""] >= at.metric(LINES)["worker-1"]


@pytest.mark.long
def test_the_door_lets_hosts_of_the_site_write_under_their_own_name_and_nothing_else(
    tmp_path: Path, artifact: Callable[[str], Artifact], root: Callable[[str], Path]
) -> None:
    own, others = (("--cert", str(place / sender.CERTIFICATE.name), "--key", str(place / sender.KEY.name))
                   for place in (sender.HOME, STRANGER))  # fmt: skip
    with site(tmp_path, artifact, root("root-monitoring")) as at:
        until(lambda: at.posted("/", *own) == "403", seconds=LATER)
        assert at.posted("/insert/native?version=none", *own) == "400", "the store's own word"
        assert at.posted("/select/logsql/query?query=*", *own) == "403"
        assert at.posted("/insert/jsonline", *own) == "403"
        assert at.posted("/insert/native", *others) == "403", "of no host of the site"
        assert at.posted("/insert/native") == "000", "without a certificate"


@pytest.mark.long
def test_lines_of_an_hour_without_the_monitoring_host_are_kept_and_written_after_it(
    tmp_path: Path, artifact: Callable[[str], Artifact], root: Callable[[str], Path]
) -> None:
    with site(tmp_path, artifact, root("root-monitoring")) as at:
        sent(at)
        at.pod("before")
        until(lambda: len(at.ask("before")) == 1, seconds=LATER)
        assert at.host.run("sh", "-c", "kill $(pidof haproxy)").returncode == 0
        at.pod("while it was away")
        time.sleep(12)  # seen, and refused
        at.host.start("/usr/sbin/haproxy", "-db", "-f", f"{central.HOME}/door/haproxy.cfg")
        until(lambda: len(at.ask('"while it was away"')) == 1, seconds=60)
        assert len(at.ask("before")) == 1


@pytest.mark.long
def test_a_host_cannot_write_under_another_name_nor_out_of_sight(
    tmp_path: Path, artifact: Callable[[str], Artifact], root: Callable[[str], Path]
) -> None:
    claims = ("AccountID: 7", "VL-Extra-Fields: host=control-1", "VL-Ignore-Fields: host", "VL-Stream-Fields: x")
    with site(tmp_path, artifact, root("root-monitoring")) as at:
        sent(at, f"-remoteWrite.headers={'^^'.join(claims)}", query="?extra_fields=host=control-1&ignore_fields=host")
        at.pod("claimed")
        until(lambda: len(at.ask("claimed")) == 1, seconds=LATER)
        assert at.ask("claimed")[0]["host"] == "worker-1"
        direct = f"http://127.0.0.1:{on_host.LOG_AGENT_PORT}/insert/jsonline?_stream_fields=host"
        line = json.dumps({"_msg": "direct", "host": "control-1", "rack": "r9"})
        kind = "Content-Type: application/stream+json"
        assert at.host.run("curl", "-sf", "-H", kind, "-d", line, direct).returncode == 0
        until(lambda: len(at.ask("direct")) == 1, seconds=LATER)
        (told,) = at.ask("direct")
        assert told["host"] == "worker-1"
        assert at.ask('host:="control-1"') == at.ask('rack:="r9"') == []

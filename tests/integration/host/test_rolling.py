"""Control hosts restart one after the other behind HAProxy: real members of etcd, API servers and HAProxy."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import ensure, missing
from ansible_collections.groundup.cloud.tests.e2e.unavoidable import explained
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.edge import VIP, configured
from ansible_collections.groundup.cloud.tests.integration.host_root import host_root
from ansible_collections.groundup.cloud.tests.unit.certificates import issue

HOSTS = {f"control-{number}": f"10.9.1.{number}" for number in (1, 2, 3)}
PROGRAMS = {"kubernetes": "kube-apiserver", "etcd-programs-3.6.8": "etcd", "etcd-programs": "etcd"}
# What HAProxy had before: a busy API server was taken for a dead one.
FORMER = (("timeout check 5s", "timeout check 3s"), ("fall 3 rise 1", "fall 2 rise 1"))


def tried(place: Path, how: str) -> dict[str, Any]:
    """Return what a prober saw of a rolling restart."""
    if lacking := missing([*PROGRAMS]):
        pytest.skip(f"the cache lacks {', '.join(lacking)}: ci/supply build {' '.join(PROGRAMS)}")
    found, text = ensure([*PROGRAMS]), configured(place, control=HOSTS)
    edge, place = place, place / "hosts"
    for name in HOSTS:
        (place / name).mkdir(parents=True)
    for artifact, program in PROGRAMS.items():
        name = "etcd-next" if artifact == "etcd-programs" else program
        (place / name).symlink_to(found[artifact].path / program)
    ca = issue("test", ca=True)
    leaf = issue("test", ca, names=[VIP, "127.0.0.1", *HOSTS.values()])
    pki = place / "pki/etcd"
    pki.mkdir(parents=True)
    for path in (place / "ca.crt", pki / "ca.crt"):
        path.write_text(ca.pem)
    (pki / "healthcheck-client.crt").write_text(leaf.pem)
    (pki / "healthcheck-client.key").write_text(leaf.key)
    if how == "kill":
        for now, before in FORMER:
            assert now in text
            text = text.replace(now, before)
    # Of a machine that does more than this; what a check finds is not what is tried here.
    text = text.replace("timeout check 5s", "timeout check 30s")
    with host_root(edge / "root", f"{VIP}/32", *(f"{address}/32" for address in HOSTS.values())) as host:
        for directory in ("run/haproxy", "etc/haproxy/tls"):
            host.at(directory).mkdir(parents=True, exist_ok=True)
        shutil.copy(edge / "edge.pem", host.at("etc/haproxy/tls/edge.pem"))
        host.at("etc/haproxy/haproxy.cfg").write_text(text)
        host.start("haproxy", "-f", "/etc/haproxy/haproxy.cfg")
        socket = host.at("run/haproxy/admin.sock")
        until(socket.exists, seconds=60)
        trial = [str(Path(__file__).parent / "rolling_trial.py"), str(place), str(socket), how]
        said = host.run(sys.executable, *trial, outside=True, limit=1200)
    assert said.returncode == 0, said.stdout[-6000:]
    print(said.stdout.splitlines()[-1])
    seen: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return seen


@pytest.mark.long
def test_no_request_fails_while_control_hosts_restart_with_another_etcd(tmp_path: Path) -> None:
    seen = tried(tmp_path, "leave")
    for name, lane in seen["lanes"].items():
        assert explained(name, lane, servers=len(HOSTS)), (name, lane)
        assert lane["not_measured"] < lane["sent"] / 2, (name, lane)
    assert seen["watch"]["failed"] == []
    assert seen["watch"]["events"] > 0
    assert seen["etcd"] == ["3.6.16", "3.6.8"], "before, and after at all three"
    assert seen["out"] == []
    assert len(seen["handed"]) == 1, "the leader restarts last"


@pytest.mark.long
def test_the_prober_sees_what_it_costs_when_nobody_leaves_haproxy_before(tmp_path: Path) -> None:
    """The figure to compare with: as it was before."""
    seen = tried(tmp_path, "kill")
    assert sum(lane["failed"] + lane["unanswered"] for lane in seen["lanes"].values()) > 0

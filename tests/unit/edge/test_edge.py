"""The edge: what HAProxy and keepalived are told, and what is read back from them."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.filter.edge_faults import edge_faults
from ansible_collections.groundup.cloud.plugins.module_utils._base import tls
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._edge import admin, serve, verify
from ansible_collections.groundup.cloud.plugins.module_utils._host import interfaces, kernel, packages, units
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import LeafSpec, ensure_authority, ensure_leaf
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import SiteError, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

from .rendering import ADDRESSES, KEYSTONE, render, section


def test_the_api_goes_to_every_control_host_that_says_it_is_ready() -> None:
    text = render("haproxy.cfg.j2", control=["control-1", "control-2"])
    backend = section(text, "backend kubernetes")
    assert re.findall(r" {4}server (\S+) (\S+)", backend) == [
        ("control-1", "10.0.0.11:6444"),
        ("control-2", "10.0.0.12:6444"),
    ]
    assert "uri /readyz" in backend
    assert "bind 10.0.0.2:6443" in section(text, "frontend kubernetes")


def test_a_public_name_goes_to_its_service_on_every_node_and_another_name_nowhere() -> None:
    text = render("haproxy.cfg.j2", control=["control-1"])
    frontend = section(text, "frontend public")
    assert "use_backend identity if { var(txn.name) -m str identity.lab.test }" in frontend
    assert "default_backend unknown" in frontend
    assert "set-header X-Forwarded-Proto https" in frontend
    backend = section(text, "backend identity")
    assert "uri /v3/" in backend
    assert "default-server check " in backend
    checked = re.findall(r" {4}server \S+ (\S+)$", backend, flags=re.MULTILINE)
    assert checked == ["10.0.0.11:30500", "10.0.0.31:30500"]
    assert re.findall(r" {4}server \S+ (\S+) no-check backup$", backend, flags=re.MULTILINE) == checked


def test_a_name_that_hosts_serve_themselves_goes_to_them_with_tls_and_to_nobody_else() -> None:
    backend = section(render("haproxy.cfg.j2", control=["control-1"]), "backend s3")
    assert re.findall(r" {4}server (.+)", backend) == [
        "worker-1 10.0.0.31:8088 ssl verify required ca-file /ca.crt verifyhost worker-1.lab.test"
    ]


SITE = """\
plugin: groundup.cloud.site
site: s
domain: lab.test
profile: edge
networks: {management: {cidr: 10.0.0.0/24}, tunnel: {cidr: 10.0.1.0/24}, provider: {cidr: 203.0.113.0/24, vlan: 9}}
machines: {control: {count: 1}}
openstack: {services: [keystone, glance, placement, neutron, nova]}
"""


@pytest.mark.parametrize(
    ("edge", "placement"),
    [
        ({}, ()),
        ({"operators": []}, ("10.0.0.0/24",)),
        ({"operators": ["192.0.2.7/32", "198.51.100.0/24"]}, ("10.0.0.0/24", "192.0.2.7/32", "198.51.100.0/24")),
    ],
)
def test_what_no_user_needs_answers_the_sites_hosts_and_the_operators_it_names(
    edge: dict[str, Any], placement: tuple[str, ...]
) -> None:
    plan = make_plan(build_site({**yaml.safe_load(SITE), "edge": edge}))
    clients = {one.name: one.clients for one in plan.edge.endpoints}
    assert clients["placement.lab.test"] == placement
    assert clients["metadata.lab.test"] == ("10.0.0.0/24",)
    assert clients["identity.lab.test"] == clients["compute.lab.test"] == ()


def test_haproxy_refuses_everybody_else_at_that_name_alone() -> None:
    closed = {**KEYSTONE, "type": "placement", "name": "placement.lab.test", "clients": ["10.0.0.0/24", "192.0.2.7/32"]}
    text = render("haproxy.cfg.j2", control=["control-1"], endpoints=[KEYSTONE, closed])
    denied = [line.strip() for line in text.splitlines() if "deny_status 403" in line]
    said = "http-request deny deny_status 403 if { var(txn.name) -m str placement.lab.test }"
    assert denied == [f"{said} !{{ src 10.0.0.0/24 192.0.2.7/32 }}"]


@pytest.mark.parametrize(
    ("value", "said"), [("192.0.2.7", "no prefix length"), ("192.0.2.7/24", "192.0.2.0/24"), ("a", "IPv4")]
)
def test_an_operators_network_that_is_none_is_refused_at_its_key(value: str, said: str) -> None:
    with pytest.raises(SiteError, match=rf"edge\.operators.*{said}"):
        build_site({**yaml.safe_load(SITE), "edge": {"operators": [value]}})


def test_metrics_are_told_on_the_hosts_own_address_to_monitorings_certificate_alone() -> None:
    text = render("haproxy.cfg.j2", control=["control-1"], watched=True)
    metrics = section(text, "frontend metrics")
    assert f"bind {ADDRESSES['control-1']}:9101 ssl crt /etc/haproxy/tls/metrics.pem" in metrics
    assert "ca-file /etc/haproxy/tls/metrics-ca.pem verify required" in metrics
    frontends = [int(found) for found in re.findall(r"^    maxconn (\d+)$", text, re.MULTILINE)]
    assert frontends[0] == sum(frontends[1:]), "none can take a connection of another"
    assert "metrics" not in render("haproxy.cfg.j2", control=["control-1"])


def test_without_public_names_there_is_no_listener_for_them() -> None:
    text = render("haproxy.cfg.j2", control=["control-1"], public=False)
    assert ":443" not in text
    assert "keystone" not in text


def test_hosts_prefer_the_address_in_the_order_of_the_plan_and_know_each_other() -> None:
    control = ["control-1", "control-2", "control-3"]
    priorities = []
    for host in control:
        text = render("keepalived.conf.j2", control=control, host=host)
        found = re.search(r"priority (\d+)", text)
        assert found
        priorities.append(int(found[1]))
        peers = re.search(r"unicast_peer \{\n([^}]*)\}", text)
        assert peers
        assert peers[1].split() == [ADDRESSES[name] for name in control if name != host]
        assert "nopreempt" in text
        assert "10.0.0.2/32 dev @INTERFACE@" in text
    assert priorities == sorted(set(priorities), reverse=True)


def test_the_only_host_owns_the_address_from_the_start() -> None:
    text = render("keepalived.conf.j2", control=["control-1"])
    assert "priority 255" in text
    assert "unicast_peer" not in text
    assert "vrrp_script" not in text


def test_the_password_is_not_in_the_rendered_file() -> None:
    assert "auth_pass @PASSWORD@\n" in render("keepalived.conf.j2", control=["control-1"])


def test_haproxys_statistics_are_read_by_listener_and_server() -> None:
    text = (
        "# pxname,svname,qcur,status,weight,\n"
        "kubernetes,FRONTEND,,OPEN,,\n"
        "kubernetes,control-1,0,UP,1,\n"
        "kubernetes,control-2,0,DOWN,1,\n"
        "kubernetes,BACKEND,0,UP,1,\n\n"
    )
    assert admin.parse(text) == (
        {"kubernetes": "OPEN"},
        {"kubernetes": {"control-1": "UP", "control-2": "DOWN"}},
    )


def test_a_port_nobody_listens_on_is_an_error_that_names_it() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with pytest.raises(GroundupError, match=f"(?s)port {port}.*keepalived"):
        verify.wait_for_ports("127.0.0.1", [port], timeout=0.3)


@pytest.mark.parametrize(("name", "trusted"), [("identity.lab.test", True), ("volume.lab.test", False)])
def test_a_name_must_be_in_a_certificate_the_host_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, trusted: bool
) -> None:
    store = Store.open(tmp_path, PasswordSource(path=tmp_path / "password", ours=True))
    authority = ensure_authority(store, tmp_path, site="lab")
    leaf = ensure_leaf(authority, store, tmp_path, LeafSpec(user="edge", names=("identity.lab.test",)))
    (tmp_path / "server.pem").write_text(leaf.pem + store.get("pki/edge-key"))
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(tmp_path / "server.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            raw, _ = listener.accept()
            try:
                server.wrap_socket(raw, server_side=True).close()
            except OSError:
                raw.close()  # the client refused the certificate

        thread = threading.Thread(target=answer)
        thread.start()
        arguments = ("127.0.0.1", listener.getsockname()[1], name)
        if trusted:
            verify.check_certificate(*arguments, timeout=60)
        else:
            with pytest.raises(GroundupError, match="no trusted TLS connection to volume"):
                verify.check_certificate(*arguments, timeout=60)
        thread.join()


def test_the_virtual_ip_goes_to_the_interface_that_has_the_hosts_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    links = [
        {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}]},
        {"ifname": "enp1s0", "addr_info": [{"local": "fe80::1"}, {"local": "10.0.0.11"}]},
    ]
    monkeypatch.setattr(interfaces, "run", lambda _: json.dumps(links))
    wanted = {"keepalived_config": render("keepalived.conf.j2", control=["control-1"]), "password": "hush"}

    text = serve.keepalived_text(wanted | {"address": "10.0.0.11"})
    assert "interface enp1s0\n" in text
    assert "10.0.0.2/32 dev enp1s0\n" in text
    with pytest.raises(GroundupError, match=r"(?s)10\.0\.0\.12.*give the host 10\.0\.0\.12"):
        serve.keepalived_text(wanted | {"address": "10.0.0.12"})


def test_a_certificate_without_its_key_takes_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HAProxy keeps what it has when it is told to reload, and is not there after the next boot."""
    store = Store.open(tmp_path, PasswordSource(path=tmp_path / "password", ours=True))
    authority = ensure_authority(store, tmp_path, site="lab")
    for name in ("edge", "other"):
        ensure_leaf(authority, store, tmp_path, LeafSpec(user=name, names=("identity.lab.test",)))
    monkeypatch.setattr(serve, "PEM", tmp_path / "edge.pem")
    monkeypatch.setattr(packages, "installed", lambda *_: None)
    monkeypatch.setattr(kernel, "parameters", lambda *_, **__: None)
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    certificate = (tmp_path / "pki/edge.crt").read_text()
    wanted = {"packages": [], "certificate": certificate, "private_key": store.get("pki/other-key")}
    with pytest.raises(GroundupError, match="are no pair"):
        serve.converge(Changes(check=False), wanted)
    assert not (tmp_path / "edge.pem").exists()
    good = tmp_path / "good.pem"
    good.write_text(tls.with_key(certificate, store.get("pki/edge-key")))
    tls.check_pair(good, user="edge")


@pytest.mark.parametrize(
    ("holders", "others", "well"),
    [
        (["control-1"], [], True),
        ([], [], False),
        (["control-1", "control-2"], [], False),
        ([], ["control-2"], True),  # a run limited to a control host that was reinstalled
        (["control-1", "control-3"], ["control-2"], False),
    ],
)
def test_one_control_host_holds_the_virtual_ip_be_it_outside_this_run(
    holders: list[str], others: list[str], well: bool
) -> None:
    hosts = ["control-1", "control-2", "control-3"]
    states = {
        host: {"edge_state": {"holds_address": host in holders, "listeners": {"public": "OPEN"}}} for host in hosts
    }
    found = edge_faults(states, [host for host in hosts if host not in others], control=hosts, address="10.0.0.2")
    assert (found == []) is well, found


def test_a_listener_that_is_not_open_is_named_with_its_host_and_who_was_not_asked_is_not_judged() -> None:
    closed = {"holds_address": True, "listeners": {"kubernetes": "OPEN", "public": "STOP"}}
    states: dict[str, Any] = {"control-1": {"edge_state": closed}, "control-2": {}}
    hosts = list(states)
    (found,) = edge_faults(states, hosts, control=hosts, address="10.0.0.2")
    assert found == "control-1: HAProxy's listeners are not open: public"

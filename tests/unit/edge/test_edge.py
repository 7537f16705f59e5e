"""The edge: what HAProxy and keepalived are told, and what is read back from them."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.filter.edge_faults import edge_faults
from ansible_collections.groundup.cloud.plugins.module_utils._base import tls
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._edge import public, serve, verify
from ansible_collections.groundup.cloud.plugins.module_utils._host import interfaces, kernel, packages, units
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import LeafSpec, ensure_authority, ensure_leaf
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import SiteError, build_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

TEMPLATES = Path(__file__).parents[3] / "roles" / "edge" / "templates"
ADDRESSES = {"control-1": "10.0.0.11", "control-2": "10.0.0.12", "control-3": "10.0.0.13", "worker-1": "10.0.0.31"}
KEYSTONE = {
    "type": "identity", "name": "identity.lab.test", "node_port": 30500, "health_path": "/v3/", "servers": {},
}  # fmt: skip
OBJECTS = {
    "type": "s3", "name": "s3.lab.test", "node_port": 0, "health_path": "/health",
    "servers": {"worker-1": "10.0.0.31:8088"},
}  # fmt: skip


def render(
    template: str, *, control: list[str], host: str = "control-1", public: bool = True,
    endpoints: Sequence[dict[str, Any]] = (KEYSTONE, OBJECTS), users: dict[str, Any] | None = None, own: bool = True,
) -> str:  # fmt: skip
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - configuration files, not HTML
    )
    variables: dict[str, Any] = {
        "edge_public": public,
        "edge_own_address": own,
        "edge_users": users or {},
        "edge_users_address": (users or {}).get("address", ""),
        "edge_users_table": 143,
        "edge_control": control,
        "edge_nodes": [*control, "worker-1"],
        "groundup_host": {"name": host, "address": ADDRESSES[host]},
        "edge_trust": "/ca.crt",
        "groundup_site": {
            "edge": {"address": "10.0.0.2", "router_id": 7, "endpoints": endpoints},
            "kubernetes": {"endpoint_name": "kubernetes.lab.test", "endpoint_port": 6443, "api_port": 6444},
        },
        "hostvars": {
            name: {"groundup_host": {"address": address, "fqdn": f"{name}.lab.test"}}
            for name, address in ADDRESSES.items()
        },
    }
    return environment.get_template(template).render(variables)


def section(text: str, title: str) -> str:
    """Return the lines of a HAProxy section, up to the next one."""
    found = re.search(rf"^{title}\n(?:(?: |#).*\n|\n)*", text, re.MULTILINE)
    assert found, f"no section {title}"
    return found[0]


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
    assert re.findall(r" {4}server \S+ (\S+)", backend) == ["10.0.0.11:30500", "10.0.0.31:30500"]


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
    assert verify.parse(text) == (
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


USERS = {"address": "192.0.2.2", "network": "users", "cidr": "192.0.2.0/24", "gateway": "192.0.2.1", "router_id": 3}


def test_users_have_port_443_of_the_public_names_alone_at_an_address_of_their_own() -> None:
    endpoints = [
        {**KEYSTONE, "internal": False},
        {**KEYSTONE, "type": "placement", "name": "placement.lab.test", "internal": True},
    ]
    text = render("haproxy.cfg.j2", control=["control-1"], endpoints=endpoints, users=USERS)
    assert re.findall(r"bind 192\.0\.2\.2:(\d+)", text) == ["443"]
    assert "bind 10.0.0.2:443 " in section(text, "frontend public")
    (hidden,) = [line for line in text.splitlines() if "{ dst 192.0.2.2 }" in line]
    assert "placement.lab.test" in hidden
    assert "status 421" in hidden


def test_the_address_of_users_moves_by_itself_and_its_adverts_stay_among_the_hosts() -> None:
    text = render("keepalived.conf.j2", control=["control-1", "control-2"], users=USERS)
    instance = text.partition("vrrp_instance public {")[2]
    assert "    interface @INTERFACE@\n    virtual_router_id 3\n" in instance
    assert "track_interface {\n        @PUBLIC_INTERFACE@\n" in instance
    assert "unicast_peer {\n        10.0.0.12\n" in instance
    assert "default via 192.0.2.1 dev @PUBLIC_INTERFACE@ table 143\n" in instance
    assert text.count("vrrp_script haproxy") == 1
    assert "virtual_routes" not in render("keepalived.conf.j2", control=["control-1"], users=USERS | {"gateway": None})


def test_without_such_a_network_nothing_of_it_is_written() -> None:
    for template in ("haproxy.cfg.j2", "keepalived.conf.j2"):
        text = render(template, control=["control-1", "control-2"])
        assert "192.0.2" not in text
        assert "PUBLIC" not in text
        assert "vrrp_instance public" not in text


def test_a_host_whose_management_address_needs_no_keepalived_has_only_that_of_users() -> None:
    text = render("keepalived.conf.j2", control=["control-1"], users=USERS, own=False)
    assert re.findall(r"vrrp_instance (\w+)", text) == ["public"]
    assert "10.0.0.2/32" not in text


@pytest.mark.parametrize(
    ("addresses", "well"),
    [
        ({"pub0": ["192.0.2.11/24"]}, True),
        ({"pub0": ["192.0.2.11/24", "192.0.2.2/32"]}, True),  # it holds the virtual IP
        ({"pub0": ["192.0.2.11/24", "10.0.1.11/24"]}, False),
        ({"pub0": ["192.0.2.11/24", "10.0.0.11/24"]}, False),
    ],
)
def test_an_interface_that_users_share_with_another_network_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: dict[str, list[str]], well: bool
) -> None:
    every = {"mgmt0": ["10.0.0.11/24"]} | addresses
    links = [
        {"ifname": name, "addr_info": [dict(zip(("local", "prefixlen"), one.split("/"), strict=True)) for one in own]}
        for name, own in every.items()
    ]

    def said(argv: list[str]) -> str:
        return json.dumps([one for one in links if one["ifname"] == argv[-1]] if "dev" in argv else links[::-1])

    for module in (interfaces, public):
        monkeypatch.setattr(module, "run", said)
    if well:
        assert public.interface("192.0.2.11", management="10.0.0.11") == "pub0"
    else:
        with pytest.raises(GroundupError, match=r"pub0 is the interface of the public network, and has 10\.0\."):
            public.interface("192.0.2.11", management="10.0.0.11")


@pytest.mark.parametrize(("holders", "well"), [(["control-2"], True), ([], False), (["control-1", "control-2"], False)])
def test_one_control_host_holds_the_address_of_users(holders: list[str], well: bool) -> None:
    hosts = ["control-1", "control-2"]
    states = {
        host: {"edge_state": {"holds_address": host == "control-1", "holds_public": host in holders, "listeners": {}}}
        for host in hosts
    }
    found = edge_faults(states, hosts, control=hosts, address="10.0.0.2", public="192.0.2.2")
    assert (found == []) is well, found
    assert all("192.0.2.2" in one for one in found)


def test_a_host_of_a_site_without_such_a_network_any_more_keeps_no_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = replace(public.GUARD, rules=tmp_path / "public.nft", unit=tmp_path / "groundup-public.service")
    monkeypatch.setattr(public, "GUARD", guard)
    stopped: list[str] = []
    asked: list[list[str]] = []
    monkeypatch.setattr(units, "off", lambda _, names: stopped.extend(names))
    monkeypatch.setattr(public, "attempt", asked.append)
    never = Changes(check=False)
    public.converge(never, "")
    assert (never.done, stopped, asked) == ([], [], []), "a site that never had one asks nothing"
    for path in (guard.rules, guard.unit):
        path.write_text("x")
    foreseen = Changes(check=True)
    public.converge(foreseen, "")
    assert len(foreseen.done) == 2
    assert asked == []
    assert guard.rules.exists()
    public.converge(Changes(check=False), "")
    assert not guard.rules.exists()
    assert not guard.unit.exists()
    assert asked == [["nft", "delete", "table", "inet", "groundup_public"]]
    again = Changes(check=False)
    public.converge(again, "")
    assert again.done == []

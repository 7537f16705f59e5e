"""What a host says of its ports and packet filters, on a file tree that stands for one."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.checks import run

from .conftest import Host, faults, wanted


def test_a_port_of_the_plan_held_by_another_program_is_named_with_its_process(host: Host) -> None:
    host.listen(10250, "nginx")
    (fault,) = run(host, wanted())["faults"]
    assert fault["what"] == "port 10250/tcp is taken by nginx, and kubelet is to listen there"
    assert fault["where"] == "process 812"


def test_a_program_of_the_right_name_is_somebody_elses_before_the_site_wrote_anything(host: Host) -> None:
    host.listen(22, "sshd", inode=1, pid=300)
    host.listen(10250, "kubelet")
    said = "port 10250/tcp is taken by kubelet, and the site's own is to listen there"
    assert faults(host) == [("ports", "error", said)]
    host.write("/etc/ssh/sshd_config.d/20-groundup.conf")
    assert faults(host) == [], "an earlier run was killed"


def test_a_tunnels_port_is_the_kernels_and_no_programs(host: Host) -> None:
    host.listen(8472, "dnsmasq", protocol="udp")
    assert [one[2] for one in faults(host)] == ["port 8472/udp is taken by dnsmasq, and the kernel is to listen there"]


def test_ports_nobody_planned_are_nobodys_business(host: Host) -> None:
    host.listen(9100, "node_exporter")
    assert faults(host) == []


@pytest.mark.parametrize(
    "rules",
    [
        "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n\t}\n}\n",
        "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n"
        "\t\ttcp dport 22 accept\n\t\treject with icmpx admin-prohibited\n\t}\n}\n",
        "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n"
        '\t\tlog prefix "no, drop: " level info counter packets 3 bytes 180 drop comment "end"\n\t}\n}\n',
        "table inet filter {\n\tchain last {\n\t\tlog\n\t\tcounter reject\n\t}\n\tchain input {\n"
        "\t\ttype filter hook input priority filter; policy accept;\n\t\tct state established accept\n"
        "\t\tjump last\n\t}\n}\n",
    ],
    ids=["policy", "last rule", "log and drop", "a chain at the end"],
)
def test_a_filter_that_drops_what_it_does_not_name_is_named(host: Host, rules: str) -> None:
    host.programs["nft"] = rules
    (fault,) = run(host, wanted())["faults"]
    assert (fault["severity"], fault["where"]) == ("warning", "inet filter input")
    assert "10250/tcp" in fault["remedy"]


@pytest.mark.parametrize(
    "rules",
    [
        "-P INPUT ACCEPT\n-N LOGDROP\n-A INPUT -p tcp --dport 22 -j ACCEPT\n-A INPUT -j LOGDROP\n-A LOGDROP -j LOG\n"
        "-A LOGDROP -j DROP\n",
        '-P INPUT ACCEPT\n-A INPUT -m comment --comment "the rest" -j REJECT --reject-with icmp-port-unreachable\n',
    ],
)
def test_rules_of_the_legacy_iptables_are_seen_beside_nfts(host: Host, rules: str) -> None:
    host.programs = {"nft": "table inet empty {\n}\n", "iptables-legacy": rules}
    assert faults(host) == [("firewall", "warning", "a packet filter drops what it does not name")]


@pytest.mark.parametrize(
    ("rule", "drops"),
    [
        ('counter name "dropped" drop', True),
        ("meta nftrace set 1 drop", True),
        ("meta mark set 0x1 log group 2 drop", True),
        ("notrack drop", True),
        ('iifname != "lo" drop', True),
        ("meta nfproto ipv4 drop", True),
        ("ct state new drop", True),
        ("ct state { invalid, new } reject", True),
        ("ct state invalid drop", False),
        ("limit rate over 10/second drop", False),
        ("meta l4proto tcp tcp dport 23 drop", False),
        ('iifname "eth0" drop', False),
        ("-A INPUT ! -i lo -j DROP", True),
        ("-A INPUT -m conntrack --ctstate NEW -j DROP", True),
        ("-A INPUT -m state --state INVALID,NEW -j REJECT --reject-with icmp-port-unreachable", True),
        ("-A INPUT -j NFLOG --nflog-group 2\n-A INPUT -j DROP", True),
        ("-A INPUT -m conntrack --ctstate INVALID -j DROP", False),
        ("-A INPUT -i eth0 -j DROP", False),
    ],
)
def test_a_rule_that_every_new_connection_from_elsewhere_matches_drops(host: Host, rule: str, drops: bool) -> None:
    table = "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n\t\t"
    own = rule.startswith("-A")
    host.programs = {"iptables": f"-P INPUT ACCEPT\n{rule}\n"} if own else {"nft": f"{table}{rule}\n\t}}\n}}\n"}
    assert [one[0] for one in faults(host)] == (["firewall"] if drops else [])


def test_a_chain_that_accepts_first_drops_nothing(host: Host) -> None:
    host.programs = {"iptables": "-P INPUT ACCEPT\n-A INPUT -j ACCEPT\n-A INPUT -j DROP\n"}
    assert faults(host) == []


def test_filters_elsewhere_and_rules_with_conditions_are_none_of_it(host: Host) -> None:
    host.programs["nft"] = (
        "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority 0; policy accept;\n"
        "\t\tct state invalid drop\n\t}\n\tchain forward {\n\t\ttype filter hook forward priority 0; policy drop;\n"
        "\t\tdrop\n\t}\n}\n"
    )
    assert faults(host) == []
    host.programs = {"iptables": "-P INPUT DROP\n-A INPUT -i lo -j ACCEPT\n"}
    assert faults(host) == [("firewall", "warning", "a packet filter drops what it does not name")]


def test_a_port_of_a_control_host_that_answers_nothing_is_filtered(host: Host) -> None:
    host.filtered = {("10.0.0.2", 6444)}
    (fault,) = run(host, wanted())["faults"]
    assert (fault["check"], fault["severity"], fault["where"]) == ("firewall", "error", "10.0.0.2:6444")
    host.filtered.add(("10.0.0.2", 22))
    assert [one[0] for one in faults(host)] == ["firewall"], "it answers an echo: a filter keeps all ports"
    host.lost = {size: {"10.0.0.2": "no answer"} for size in (64, 1500)}
    assert [one[0] for one in faults(host)] == ["mtu"], "that host is down: it has a line of its own"
    host.lost = {}
    host.filtered = {("10.0.0.2", 22)}
    assert faults(host) == [], "hosts need no login to each other"
    host.found["ens3"].addresses["10.0.0.2"] = 24
    host.filtered = {("10.0.0.2", 6444)}
    assert faults(host) == [], "it is this host"

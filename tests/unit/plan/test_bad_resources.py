"""What the cloud's APIs would refuse of a resource is refused before they are asked, at its key."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import make_plan, parse_site
from ansible_collections.groundup.cloud.tests.unit.plan.refusal import LAB, refused

RULE = "cloud: {{projects: {{w: {{security_groups: {{g: {{rules: [{{{}}}]}}}}}}}}}}\n"
SUM = "0" * 64


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("protocol: tpc", "no protocol of Neutron"),
        ("protocol: '256'", "no protocol of Neutron"),
        ("protocol: 6", "YAML reads 6 as a number"),
        ("ports: [22]", "has ports, which a rule of all protocols has not"),
        ("protocol: gre, ports: [22]", "has ports, which gre has not"),
        ("protocol: tcp, ports: [90, 22]", "has no such ports"),
        ("protocol: udp, ports: [0, 53]", "has no such ports"),
        ("protocol: icmp, ports: [256]", "no such type or code of ICMP"),
        ("protocol: icmp, ports: [8, 300]", "no such type or code of ICMP"),
        ("protocol: ipv6-icmp", "is for IPv4, which has no ipv6-icmp"),
        ("protocol: '58', cidr: 10.0.0.0/8", "is for IPv4, which has no 58"),
        ("cidr: 10.0.0.0/8, group: g", "has cidr and group"),
    ],
)
def test_a_rule_that_neutron_refuses_is_refused(rule: str, reason: str) -> None:
    (problem,) = refused(LAB + RULE.format(rule)).problems
    assert problem.key.startswith("cloud.projects.w.security_groups.g.rules.0")
    assert reason in problem.reason


@pytest.mark.parametrize(
    "rule",
    ["protocol: tcp, ports: [22, 90]", "protocol: '17', ports: [53]", "protocol: icmp, ports: [8, 0]", "protocol: vrrp",
     "protocol: any, cidr: 10.0.0.0/8", "group: g", "protocol: icmp, ports: [0]", "protocol: icmpv6, ipv6: true",
     "protocol: ipv6-icmp, cidr: 'fd00::/8'"],
)  # fmt: skip
def test_a_rule_that_neutron_takes_is_taken(rule: str) -> None:
    parse_site((LAB + RULE.format(rule)).encode())


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("protocol: tcp, ports: [22]", ("IPv4", "tcp", 22, 22)),
        ("protocol: udp, ports: [1, 65535]", ("IPv4", "udp", None, None)),
        ("protocol: any", ("IPv4", None, None, None)),
        ("protocol: icmp, ports: [8]", ("IPv4", "icmp", 8, None)),
        ("protocol: icmp, ports: [8, 0]", ("IPv4", "icmp", 8, 0)),
        ("protocol: icmp, ipv6: true", ("IPv6", "ipv6-icmp", None, None)),
        ("protocol: icmpv6, cidr: 'fd00::/8'", ("IPv6", "ipv6-icmp", None, None)),
        ("protocol: '1', ipv6: true, ports: [128]", ("IPv6", "58", 128, None)),
    ],
)
def test_a_rule_is_planned_as_neutron_keeps_it(rule: str, kept: tuple[str | int | None, ...]) -> None:
    """Another form would be another rule in each run, and the first away until the second is made."""
    plan = make_plan(parse_site((LAB + RULE.format(rule)).encode()))
    (group,) = (one for one in plan.resources if one.kind == "security_group")
    (found,) = group.parts["rules"]
    assert tuple(found[key] for key in ("ethertype", "protocol", "port_range_min", "port_range_max")) == kept


def test_a_slip_of_the_pen_in_a_protocol_is_told_with_the_one_that_was_meant() -> None:
    assert "did you mean 'tcp'?" in refused(LAB + RULE.format("protocol: tpc")).problems[0].remedy


@pytest.mark.parametrize(
    ("written", "key", "reason"),
    [
        ("cloud: {projects: {w: {networks: {a: {subnets: {s: {cidr: 0.0.0.0/0}}}}}}}",
         "cloud.projects.w.networks.a.subnets.s.cidr", "holds every address"),
        ("cloud: {qos_policies: {q: {dscp: 3}}}", "cloud.qos_policies.q.dscp", "no mark"),
        (f"cloud: {{images: {{i: {{source: 'https://[', sha256: '{SUM}'}}}}}}", "cloud.images.i.source",
         "cannot be read"),
        *((f"cloud: {{images: {{i: {{source: 'oci://{name}', sha256: '{SUM}'}}}}}}", "cloud.images.i.source", said)
          for name, said in (
              ("r.example.org/i", "no whole reference"), ("debian:13", "no whole reference"),
              ("library/debian:13", "no whole reference"), ("r.example.org/I:1", "no whole reference"),
              ("me:word@r.example.org/i:1", "no whole reference"), (f"r.example.org/i:1@sha256:{SUM}", "no whole"),
              ("r.example.org:0/i:1", "no TCP port"), (f"r.example.org/i@sha256:{SUM[1:]}", "no whole reference"))),
        ("cloud: {images: {i: {source: 'oci://r.example.org/i:1'}}}", "cloud.images.i.sha256", "required"),
        ("monitoring: {webhook: 'https://['}", "monitoring.webhook", "cannot be read"),
        ("monitoring: {webhook: 'https://alerts.example.org:99999/x'}", "monitoring.webhook", "no TCP port"),
        ("backups: {s3: {endpoint: 'https://[', bucket: backups}}", "backups.s3.endpoint", "cannot be read"),
        ("backups: {s3: {endpoint: 'https://:9000', bucket: backups}}", "backups.s3.endpoint", "names no host"),
    ],
)  # fmt: skip
def test_a_value_that_only_looks_right_is_refused_at_its_key(written: str, key: str, reason: str) -> None:
    (problem,) = refused(f"{LAB}{written}\n").problems
    assert problem.key == key
    assert reason in problem.reason

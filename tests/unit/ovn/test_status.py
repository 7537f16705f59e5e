"""What members of OVN's databases say, read back: texts of ovsdb-server 3.1 and 3.5."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import configuration, converge, status, verify
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import DATABASES, NB, SB
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.ports import PORTS

CLUSTER = "b99d2509-07c7-43f6-a59f-9c1e7ed805e9"
FOLLOWER = f"""\
3318
Name: OVN_Southbound
Cluster ID: b99d ({CLUSTER})
Server ID: 3318 (3318945f-58fe-4d85-9c8e-3388caa3a376)
Address: ssl:10.0.0.12:6644
Status: cluster member
Role: follower
Term: 2
Leader: fbcd
Vote: unknown

Last Election started 563 ms ago, reason: timeout
Election timer: 4000
Log: [2, 7]
Entries not yet committed: 0
Entries not yet applied: 3
Connections: ->0000 <-fbcd
Disconnections: 0
Servers:
    fbcd (fbcd at ssl:10.0.0.11:6644) last msg 980 ms ago
    3318 (3318 at ssl:10.0.0.12:6644) (self)
"""
JOINING = """\
458b
Name: OVN_Southbound
Cluster ID: not yet known
Server ID: 458b (458b945f-58fe-4d85-9c8e-3388caa3a376)
Address: ssl:10.0.0.13:6644
Status: joining cluster
Remotes for joining: ssl:10.0.0.11:6644 ssl:10.0.0.12:6644
Role: follower
Term: 0
Leader: unknown
Vote: unknown

Election timer: 1000
"""
CENTRAL = converge.Central(
    packages=(), step="verify", name="control-2", address="10.0.0.12", peers=("10.0.0.11",), create=(), nodes=(),
    clusters={"sb": CLUSTER}, northbound=("ssl:10.0.0.11:6641",), southbound=("ssl:10.0.0.11:16642",),
    election_timer=4000, inactivity_probe=60000, certificate="", private_key="", ca_certificate="", hypervisor_ca="",
)  # fmt: skip


def test_a_member_says_who_leads_who_else_there_is_and_how_far_behind_it_is() -> None:
    found = status.parse(FOLLOWER)
    assert found == status.Status(
        cluster=CLUSTER,
        state="cluster member",
        role="follower",
        leader="fbcd",
        election_timer=4000,
        behind=3,
        servers={"ssl:10.0.0.11:6644": "fbcd", "ssl:10.0.0.12:6644": "3318"},
        own="ssl:10.0.0.12:6644",
        term=2,
        next=7,
    )
    assert found.works


def test_one_that_joins_knows_no_cluster_yet() -> None:
    found = status.parse(JOINING)
    assert (found.cluster, found.state, found.works) == ("", "joining cluster", False)


def test_a_member_the_others_went_on_without_does_not_work() -> None:
    """Its own file still says it is one: only the leader it does not hear tells."""
    assert not status.parse(FOLLOWER.replace("Leader: fbcd", "Leader: unknown")).works


def test_the_cluster_of_a_member_elsewhere_counts_when_it_is_in_touch_with_it() -> None:
    answer = '[{"rows":[{"cid":["uuid","%s"],"connected":%s}]}]'
    assert status.parse_answer(answer % (CLUSTER, "true")) == CLUSTER
    assert status.parse_answer(answer % (CLUSTER, "false")) == ""
    assert status.parse_answer('[{"rows":[{"cid":["set",[]],"connected":true}]}]') == ""
    assert status.parse_answer('[{"rows":[]}]') == ""


def test_listeners_are_read_with_role_and_probe_where_the_database_has_them() -> None:
    text = (
        '{"data":[["pssl:16642","",60000],["pssl:6642","ovn-controller",["set",[]]]],'
        '"headings":["target","role","inactivity_probe"]}'
    )
    assert status.parse_listeners(text) == {("pssl:16642", "", 60000), ("pssl:6642", "ovn-controller", -1)}
    text = '{"data":[["pssl:6641",60000]],"headings":["target","inactivity_probe"]}'
    assert status.parse_listeners(text) == CENTRAL.listeners(NB)


def test_ports_are_those_of_the_one_list() -> None:
    listed = {one.port for name, one in PORTS.items() if name.startswith("ovn-")}
    assert listed == {port for one in DATABASES for port in (one.raft_port, *(own.port for own in one.listeners))}
    roles = {own.port: own.role for own in SB.listeners}
    assert roles == {PORTS["ovn-sb-chassis"].port: "ovn-controller", PORTS["ovn-sb"].port: ""}


@pytest.mark.parametrize(
    ("now", "wanted", "steps"),
    [
        (4000, 4000, []), (1000, 16000, [2000, 4000, 8000, 16000]), (4000, 6000, [6000]), (16000, 1000, [1000]),
        (0, 4000, []),
    ],
)  # fmt: skip
def test_the_election_timer_at_most_doubles_in_a_step(now: int, wanted: int, steps: Sequence[int]) -> None:
    assert converge.steps(now, wanted) == steps


def test_servers_are_given_no_member_to_join_by_themselves() -> None:
    text = configuration.options("10.0.0.12")
    (line,) = (line for line in text.splitlines() if not line.startswith("#"))
    assert line.startswith('OVN_CTL_OPTS="')
    assert line.endswith('"')
    for word in (
        "--db-nb-cluster-local-addr=10.0.0.12", "--db-sb-cluster-local-port=6644", "--db-sb-cluster-local-proto=ssl",
        "--ovn-sb-db-ssl-key=/etc/ovn/tls/member.pem", "--ovn-northd-ssl-ca-cert=/etc/ovn/tls/ca.pem",
    ):  # fmt: skip
        assert f" {word} " in line.replace('"', " ")
    assert "cluster-remote" not in line, "ovn-ctl would join with it where data are lost"


def test_northd_calls_every_member_and_the_listener_without_a_role() -> None:
    text = configuration.northd(northbound=("ssl:10.0.0.11:6641", "ssl:10.0.0.12:6641"), southbound=CENTRAL.southbound)
    assert text == "--ovnnb-db=ssl:10.0.0.11:6641,ssl:10.0.0.12:6641 --ovnsb-db=ssl:10.0.0.11:16642\n"


def test_a_unit_does_not_start_without_data() -> None:
    assert "AssertPathExists=/var/lib/ovn/ovnsb_db.db\n" in configuration.drop_in(SB)


def test_verification_names_what_is_wrong_with_a_member() -> None:
    works = status.parse(FOLLOWER)
    assert list(verify.judge(CENTRAL, SB, works)) == []
    (cut_off,) = verify.judge(CENTRAL, SB, works._replace(leader="unknown"))
    assert "cut off" in cut_off
    (other,) = verify.judge(CENTRAL, SB, works._replace(cluster="another"))
    assert f"the cluster another, the site's is {CLUSTER}" in other
    (missing,) = verify.judge(CENTRAL, SB, works._replace(servers={"ssl:10.0.0.12:6644": "3318"}))
    assert missing == "OVN_Southbound: no members: ssl:10.0.0.11:6644"
    (more,) = verify.judge(CENTRAL, SB, works._replace(servers={**works.servers, "ssl:10.0.0.9:6644": "aaaa"}))
    assert "no control hosts of the site: ssl:10.0.0.9:6644" in more
    (timer,) = verify.judge(CENTRAL, SB, works._replace(role="leader", election_timer=1000))
    assert "1000 ms, not 4000" in timer

"""What OVN and the kernel say of many ports, as figures."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.tests.e2e.tenant_ports import program, spent

SYNC = """Time spent on processing nb_cfg 7:
\tovn-northd delay before processing:\t3ms
\tovn-northd completion:\t\t\t160ms
\tovn-controller(s) completion:\t\t1390ms
"""


def test_ovns_own_words_give_the_seconds_until_all_chassis_followed() -> None:
    assert spent(SYNC) == {"northd": 0.16, "chassis": 1.39}
    assert spent("ovn-nbctl: unknown\n") == {"cause": "not understood: ovn-nbctl: unknown"}


@pytest.mark.parametrize(
    ("user", "words", "name"),
    [("ovsdb-server", ["ovsdb-server", "--unixctl=/var/run/ovn/ovnnb_db.ctl"], "ovsdb-server NB"),
     ("ovsdb-server", ["ovsdb-server", "--unixctl=/var/run/ovn/ovnsb_db.ctl"], "ovsdb-server SB"),
     ("ovsdb-server", ["ovsdb-server", "/etc/openvswitch/conf.db"], ""),
     ("neutron-server", ["uwsgi"], "neutron-server"), ("ovn-northd", ["ovn-northd"], "ovn-northd"),
     ("nova-api", ["uwsgi"], "")],
)  # fmt: skip
def test_neutrons_and_ovns_processes_are_weighed(user: str, words: list[str], name: str) -> None:
    assert program(user, words) == name

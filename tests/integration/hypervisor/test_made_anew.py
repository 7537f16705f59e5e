"""OVN's databases made anew where all data were lost, by the real ovsdb-server, northd and ovn-controller of a host.

They run by Debian's ovn-ctl; a script stands for systemd.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins import module_utils
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import pki as placed
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.converge import Central
from ansible_collections.groundup.cloud.plugins.module_utils._ovn.databases import NB, SB
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.authorities import USES, file
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import LeafSpec, ensure_authority, ensure_leaf
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root

ADDRESS, CHASSIS = "10.90.0.41", "hypervisor-1"
_SYSTEMCTL = r"""#!/bin/sh
verb=$1; shift
while [ $# -gt 1 ]; do shift; done
case $1 in
  *-nb.service) name=ovnnb_db run=run_nb_ovsdb options=ovn-central ;;
  *-sb.service) name=ovnsb_db run=run_sb_ovsdb options=ovn-central ;;
  ovn-northd.*) name=ovn-northd run=start_northd options=ovn-central ;;
  ovn-controller.*) name=ovn-controller run=start_controller options=ovn-host ;;
  *) name= ;;
esac
pid=/run/ovn/$name.pid
runs() { [ -z "$name" ] || { [ -e $pid ] && kill -0 "$(cat $pid)"; } 2>/dev/null; }
start() {
  [ -n "$name" ] || return
  . /etc/default/$options
  case $run in start_*) OVN_CTL_OPTS="--ovn-manage-ovsdb=no --no-monitor $OVN_CTL_OPTS" ;; esac
  setsid /usr/share/ovn/scripts/ovn-ctl $run $OVN_CTL_OPTS </dev/null >>/tmp/ctl.log 2>&1 &
  for i in $(seq 100); do runs && break; sleep 0.2; done
}
stop() { runs && [ -n "$name" ] && kill -9 "$(cat $pid)" && rm -f $pid; }  # ovn-ctl would wait for somebody to reap it
case $verb in
  show) runs && state=active || state=inactive
    echo "ActiveState=$state"; echo UnitFileState=enabled; echo NeedDaemonReload=no ;;
  start) runs || start ;;
  stop) stop ;;
  restart) stop; start ;;
esac
exit 0
"""
_ACT = """\
import json, sys
from dataclasses import replace
sys.path.insert(0, "/srv")
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host.guard import Guard
from ansible_collections.groundup.cloud.plugins.module_utils._host.units import Unit
from ansible_collections.groundup.cloud.plugins.module_utils._ovn import northd
Guard.converge, Guard.in_force = (lambda *_: None), (lambda *_: True)
what, given = sys.argv[1], json.load(sys.stdin)
changes, northd.RECONNECTS = Changes(check=False), 10.0
if what == "control":
    from ansible_collections.groundup.cloud.plugins.module_utils._ovn.converge import Central, converge
    result = converge(Central(**given), changes)
elif what == "faults":
    from ansible_collections.groundup.cloud.plugins.module_utils._ovn.converge import Central
    from ansible_collections.groundup.cloud.plugins.module_utils._ovn.verify import faults
    result = {"faults": list(faults(Central(**given)))}
else:
    from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import ovn
    ovn.CONNECTED = 10.0
    agent = Unit(changes, "neutron-ovn-agent.service")
    ovn.accept(changes, Unit(changes, ovn.UNIT), agent)
    result = {"fault": ovn.disconnected(), "agent": agent.stale}
    agent.refreshed()
print(json.dumps({**result, "changes": changes.done, "warnings": changes.warnings}))
"""


class Cloud:
    """A host that is control host and hypervisor."""

    def __init__(self, host: HostRoot, central: Central) -> None:
        """Take the host, and what its databases are to be; `create` and `step` are those of each call."""
        self.host, self.central = host, asdict(central)

    def say(self, *argv: str) -> str:
        done = self.host.run(*argv)
        assert done.returncode == 0, f"{argv}: {done.stdout}"
        return done.stdout.strip()

    def act(self, what: str, **more: Any) -> dict[str, Any]:
        done = self.host.run("python3", "/srv/act.py", what, input=json.dumps({**self.central, **more}))
        assert done.returncode == 0, done.stdout
        return dict(json.loads(done.stdout.splitlines()[-1]))

    def network(self, name: str) -> None:
        """Make a network in NB, and wait for nothing."""
        self.say("ovn-nbctl", "--no-leader-only", f"--db={NB.socket}", "--timeout=20", "ls-add", name)

    def flows(self) -> int:
        """Return of how many networks SB has flows."""
        listed = ("--bare", "--columns=_uuid", "list", "Datapath_Binding")
        return len(self.say("ovn-sbctl", "--no-leader-only", f"--db={SB.socket}", "--timeout=20", *listed).split())

    def has_flows(self, number: int) -> None:
        assert not wait_until(lambda: self.flows() != number, timeout=60.0), self.flows()

    def form(self) -> dict[str, Any]:
        """Go through the role's steps: a host without data says so, then makes what it lacks."""
        waits = self.act("control", step="maintain")["waits"]
        return self.act("control", step="form", create=waits) if waits else {}

    def lose(self, *short: str) -> None:
        """End the servers of databases without a farewell, and take their data away."""
        for one in short:
            self.say("sh", "-c", f"kill -9 $(cat /run/ovn/ovn{one}_db.pid); rm -f /var/lib/ovn/ovn{one}_db.db")

    def registers(self) -> None:
        """Write what Neutron's agent writes."""
        row = ("Chassis_Private", CHASSIS, "external_ids:neutron\\:ovn-neutron-agent-id=one")
        self.say("ovn-sbctl", "--no-leader-only", f"--db={SB.socket}", "--timeout=20", "set", *row)


def _place(host: HostRoot, directory: Path) -> dict[str, str]:
    """Give the host programs and certificates; return those of its databases."""
    store = Store.open(directory, PasswordSource(path=directory / "password", ours=True))
    signing = {use: ensure_authority(store, directory, site="test", use=use) for use in USES}
    pem = {use: (directory / file(use)).read_text() for use in USES}
    member = LeafSpec(user="ovn-control-1", authority="ovn", names=("control-1",), usage="both")
    chassis = LeafSpec(user=CHASSIS, authority="hypervisor", names=(CHASSIS,), usage="both")
    leaf = {one.user: ensure_leaf(signing[one.authority], store, directory, one).pem for one in (member, chassis)}
    room = Path("/srv/ansible_collections/groundup/cloud/plugins/module_utils")
    shutil.copytree(Path(next(iter(module_utils.__path__))), host.at(room))
    options = " ".join(
        f"--ovn-controller-ssl-{name}={placed.OURS}/{pem}.pem"
        for name, pem in {"key": "key", "cert": "certificate", "ca-cert": "ca"}.items()
    )
    for path, text in {
        Path("/usr/bin/systemctl"): _SYSTEMCTL,
        Path("/srv/act.py"): _ACT,
        Path("/etc/default/ovn-host"): f'OVN_CTL_OPTS="{options}"\n',
        placed.OURS / "certificate.pem": leaf[CHASSIS],
        placed.OURS / "key.pem": store.get(chassis.key_name),
        placed.OURS / "ca.pem": pem["ovn"],
    }.items():
        host.at(path).parent.mkdir(parents=True, exist_ok=True)
        host.at(path).unlink(missing_ok=True)
        host.at(path).write_text(text)
    host.at("/usr/bin/systemctl").chmod(0o755)
    key = store.get(member.key_name)
    return {
        "certificate": leaf[member.user], "private_key": key, "ca_certificate": pem["ovn"],
        "hypervisor_ca": pem["hypervisor"],
    }  # fmt: skip


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """A host with two networks, whose ovn-controller and Neutron's agent know the databases."""
    with host_root(tmp_path, f"{ADDRESS}/24") as host:
        found = Cloud(host, Central(
            packages=(), step="maintain", create=(), name="control-1", address=ADDRESS, peers=(), nodes=(), clusters={},
            northbound=(f"ssl:{ADDRESS}:6641",), southbound=(f"ssl:{ADDRESS}:16642",), election_timer=1000,
            inactivity_probe=60000, **_place(host, tmp_path),
        ))  # fmt: skip
        found.say("sh", "-c", "mkdir -p /run/ovn /run/openvswitch /var/log/ovn /var/log/openvswitch")
        found.say("ovsdb-tool", "create", "/srv/conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
        host.start("ovsdb-server", "--remote=punix:/run/openvswitch/db.sock", "--unixctl=/srv/conf.ctl", "/srv/conf.db")
        assert not wait_until(lambda: not host.at("/run/openvswitch/db.sock").exists(), timeout=60.0)
        found.form()
        ids = {"system-id": CHASSIS, "ovn-remote": f"ssl:{ADDRESS}:6642", "ovn-encap-type": "geneve"}
        words = [f"external_ids:{name}={value}" for name, value in {**ids, "ovn-encap-ip": ADDRESS}.items()]
        found.say("ovs-vsctl", "--no-wait", "--timeout=20", "set", "Open_vSwitch", ".", *words)
        found.say("ovs-vsctl", "--no-wait", "--timeout=20", "add-br", "br-int")
        found.say("systemctl", "start", "ovn-controller.service")
        for name in ("blue", "green", "red", "white", "black", "grey"):
            found.network(name)
        found.has_flows(6)
        assert found.act("chassis")["fault"] == ""
        found.registers()
        yield found


def test_who_knew_lost_databases_takes_new_ones_and_flows_stay_until_these_are_filled(cloud: Cloud) -> None:
    assert cloud.act("chassis") == {"fault": "", "agent": False, "changes": [], "warnings": []}, "nothing to do"
    cloud.lose("nb", "sb")
    cloud.form()
    assert cloud.act("faults")["faults"] == []
    again = cloud.act("control")
    assert (again["changes"], again["warnings"]) == ([], [])
    empty = cloud.act("chassis")
    assert "the southbound database is empty, and not the former one" in empty["fault"]
    assert empty["changes"] == []
    cloud.network("blue")
    cloud.has_flows(1)
    took = cloud.act("chassis")
    assert (took["fault"], took["agent"]) == ("", True)
    assert took["changes"][0] == "have ovn-controller forget the former southbound database"
    cloud.registers()
    assert cloud.act("chassis") == {"fault": "", "agent": False, "changes": [], "warnings": []}


def test_northd_deletes_no_flows_while_a_northbound_database_made_anew_is_empty(cloud: Cloud) -> None:
    cloud.lose("nb")
    cloud.say("systemctl", "restart", "ovn-northd.service")  # else it would refuse the new one by itself
    said = cloud.form()
    assert said["warnings"] == [
        "northd: OVN_Northbound is empty, and it would delete the flows of 6 networks and routers: fill OVN_Northbound "
        "first (docs/network.md, All data lost)"
    ]
    (fault,) = cloud.act("faults")["faults"]
    assert fault.startswith("northd is silent: OVN_Northbound is empty")
    assert cloud.act("control")["changes"] == [], "it stays so"
    assert cloud.flows() == 6
    cloud.network("blue")
    assert cloud.act("control")["changes"][-1] == "start ovn-northd.service"
    cloud.has_flows(1)
    assert cloud.act("faults")["faults"] == []

"""What happens to the cloud of test_ha_cloud, on the same machines, and who notices: a line of figures each.

Nothing that was acknowledged may be lost, and the cloud is whole again by itself within five minutes of each.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest
from ansible_collections.groundup.cloud.tests.e2e import ha
from ansible_collections.groundup.cloud.tests.e2e.operating import Operator
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="making hosts needs root")

OBSERVED = (
    75.0  # seconds after a fault: Kubernetes lists the pods of a dead host for 40, and who waits for them does for 30
)
BRIEF = 30.0
SETTLED = 300.0
APIS = ("keystone-api", "glance-api", "neutron-server", "nova-api-osapi", "placement-api")


@pytest.fixture
def operator() -> Operator:
    """The operator of a cloud that is whole."""
    operator = ha.operator()
    until(lambda: ha.whole(operator), seconds=SETTLED)
    return operator


@pytest.mark.parametrize("held", [False, True], ids=["another", "holder"])
@pytest.mark.parametrize("fault", ["power_off", "cut", "deafen", "freeze"])
def test_a_control_host_is_away(operator: Operator, fault: str, held: bool) -> None:
    rack, holder = operator.rack, ha.holder(operator)
    name = holder if held else next(name for name in ha.CONTROL if name != holder)
    machine = ha.MACHINES[name]
    again = {"power_off": rack.power_on, "cut": rack.mend, "deafen": rack.mend, "freeze": rack.thaw}[fault]
    with ha.probed(operator, f"{fault} of {name}" + (", which had the virtual IP" if held else "")):
        getattr(rack, fault)(machine)
        time.sleep(OBSERVED)
        again(machine)
        time.sleep(BRIEF)


def killed(program: str, count: int) -> Callable[[Operator], None]:
    def kill(operator: Operator) -> None:
        for name in ha.CONTROL[:count]:
            operator.rack.run(ha.MACHINES[name], "pkill", "-KILL", "-x", program)

    return kill


def memcached_gone(operator: Operator) -> None:
    operator.kubectl("-n", "openstack", "delete", "pod", "--wait=false", "-l", "application=memcached")


def each_killed(operator: Operator) -> None:
    pods = operator.kubectl("-n", "openstack", "get", "pods", "-o", "name").split()
    for name in APIS:
        for pod in pods:
            if pod.startswith(f"pod/{name}-"):
                operator.kubectl("-n", "openstack", "delete", "--grace-period=0", "--force", pod)
                operator.kubectl("-n", "openstack", "rollout", "status", f"deployment/{name}", "--timeout=300s")


def each_replaced(operator: Operator) -> None:
    for name in APIS:
        operator.kubectl("-n", "openstack", "rollout", "restart", f"deployment/{name}")
        operator.kubectl("-n", "openstack", "rollout", "status", f"deployment/{name}", "--timeout=300s")


def writer_ends(operator: Operator) -> None:
    labels = "application=mariadb,openstack.groundup.cloud/writer=true"
    operator.kubectl("-n", "openstack", "delete", "pod", "--wait=false", "-l", labels)


def galera_replaced(operator: Operator) -> None:
    members = "statefulset/mariadb-server"
    operator.kubectl("-n", "openstack", "rollout", "restart", members)
    operator.kubectl("-n", "openstack", "rollout", "status", members, "--timeout=900s")


MEMBERS: dict[str, Callable[[Operator], None]] = {
    "a member of Galera killed": killed("mariadbd", 1),
    "two members of Galera killed": killed("mariadbd", 2),
    "Galera's writer told to end": writer_ends,
    "the members of Galera replaced": galera_replaced,
    "a member of RabbitMQ killed": killed("beam.smp", 1),
    "two members of RabbitMQ killed": killed("beam.smp", 2),
    "all of memcached gone": memcached_gone,
    "the pods of each API replaced": each_replaced,
    "every API process of a host killed": killed("uwsgi", 1),
    "the pods of each API killed one after another": each_killed,
}


@pytest.mark.parametrize("fault", MEMBERS)
def test_members_are_away(operator: Operator, fault: str) -> None:
    with ha.probed(operator, fault):
        MEMBERS[fault](operator)
        time.sleep(OBSERVED)


def test_a_member_of_galera_has_no_room_for_its_copy(operator: Operator) -> None:
    """Its volume is covered by an empty one that is too small: the state transfer from another member fails."""
    name = ha.CONTROL[0]
    machine, pods = ha.MACHINES[name], ("-n", "openstack", "get", "pods", "-l", "application=mariadb,component=server")
    pod = operator.kubectl(*pods, "--field-selector", f"spec.nodeName={name}", "-o", "name").strip().split("/")[1]
    claim = f"{{.items[?(@.spec.claimRef.name=='mysql-data-{pod}')].spec.hostPath.path}}"
    volume = operator.kubectl("get", "pv", "-o", f"jsonpath={claim}").strip()
    again = ("-n", "openstack", "delete", "pod", "--wait=false", pod)
    with ha.probed(operator, "a member of Galera with a full disk: its state transfer fails"):
        operator.rack.run(machine, "mount", "-t", "tmpfs", "-o", "size=64M", "tmpfs", volume)
        try:
            operator.kubectl(*again)
            time.sleep(OBSERVED)
            assert "True" not in operator.kubectl(
                "-n", "openstack", "get", "pod", pod, "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].status}"
            )
        finally:
            operator.rack.run(machine, "umount", "--lazy", volume)
        operator.kubectl(*again)
        time.sleep(BRIEF)


def test_a_rack_is_away(operator: Operator) -> None:
    rack = [ha.MACHINES[name] for name in ("control-1", "storage-1", "hypervisor-1")]
    with ha.probed(operator, "power of a rack cut: a control, a storage and a hypervisor host"):
        for machine in rack:
            operator.rack.power_off(machine)
        time.sleep(OBSERVED)
        for machine in rack:
            operator.rack.power_on(machine)
        time.sleep(BRIEF)


def test_after_all_a_run_goes_through(operator: Operator) -> None:
    operator.play()  # and the instance answers

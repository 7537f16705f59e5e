"""Octavia's real API with OVN's driver, before real OVN databases, Neutron, Keystone and queue: a balancer is made."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact

from .balancer import ADDRESSES
from .conftest import Image
from .stage import Part, Stage

_OVN = """
cd /tmp
export LD_LIBRARY_PATH=/opt/ovn/usr/lib/x86_64-linux-gnu OVN_RUNDIR=/tmp OVS_RUNDIR=/tmp
port=6641
for db in nb sb; do
  /opt/ovn/usr/bin/ovsdb-tool create $db.db /opt/ovn/usr/share/ovn/ovn-$db.ovsschema
  /opt/ovn/usr/sbin/ovsdb-server --remote=ptcp:$port:127.0.0.1 --unixctl=/tmp/$db.ctl $db.db > $db.log 2>&1 &
  wait_for answers $port; port=16642
done
/opt/ovn/usr/bin/ovn-nbctl --db=tcp:127.0.0.1:6641 init
/opt/ovn/usr/bin/ovn-sbctl --db=tcp:127.0.0.1:16642 init
touch /mnt/ovn.done
/opt/ovn/usr/bin/ovn-northd --unixctl=/tmp/northd.ctl --ovnnb-db=tcp:127.0.0.1:6641 --ovnsb-db=tcp:127.0.0.1:16642 2>&1
"""
_NEUTRON = """
cd /tmp
wait_for answers 3306
neutron-db-manage --config-file /etc/neutron/neutron.conf --config-file /etc/neutron/plugins/ml2/ml2_conf.ini \\
  upgrade head > log 2>&1 || cat log
wait_for test -e /mnt/identity.done
wait_for test -e /mnt/ovn.done
wait_for answers 5672
uwsgi --ini /etc/neutron/neutron-api-uwsgi.ini 2>&1
"""
_OCTAVIA = """
cd /tmp
wait_for answers 3306
octavia-db-manage upgrade head > log 2>&1 || cat log
wait_for test -e /mnt/identity.done
wait_for test -e /mnt/ovn.done
uwsgi --ini /etc/octavia/octavia-api-uwsgi.ini > /mnt/api.log 2>&1 &
wait_for answers 9876
wait_for test -S /run/octavia/status.sock
wait_for answers 9696
python3 /mnt/balancer.py 2>&1
PYTHONPATH=/collections python3 /mnt/visitor.py octavia 2>&1
"""


@pytest.mark.long  # its image is for sites that name its services: `make test` does not build it
def test_a_balancer_is_made_in_ovn_becomes_active_and_goes_away(
    image: Callable[[str], Image], artifact: Callable[[str], Artifact], tmp_path: Path
) -> None:
    more, mariadb, openstack, rabbitmq = map(image, ("openstack-more", "mariadb", "openstack", "rabbitmq"))
    artifact("rootfs-host")
    stage = Stage(tmp_path, "neutron", "octavia", absent=("placement", "glance", "nova"))
    shutil.copy(Path(__file__).parent / "balancer.py", stage.shared)
    ovn = {"/opt/ovn": supply.unpacked("rootfs-host")}
    etc = {
        "neutron": stage.etc("neutron", "neutron-api-uwsgi.ini", "plugins/ml2/ml2_conf.ini"),
        "octavia": stage.etc("octavia", "octavia-api-uwsgi.ini"),
    }
    for conf in (etc["octavia"] / "octavia.conf", etc["neutron"] / "plugins/ml2/ml2_conf.ini"):
        conf.write_text(re.sub(r"ssl:[0-9.]+:", "tcp:127.0.0.1:", conf.read_text()))
    locks = {"/run/lock": stage.folder("locks")}
    parts = [
        stage.queue(rabbitmq),
        *stage.shared_parts(mariadb, openstack),
        Part(name="ovn", root=more.root, script=_OVN, env=more.env, mounts=ovn),
        Part(
            name="neutron", root=openstack.root, script=_NEUTRON, env=openstack.env,
            mounts={"/etc/neutron": etc["neutron"], "/var/lib/neutron": stage.folder("state"), **locks},
        ),
        Part(
            name="octavia", root=more.root, script=_OCTAVIA, env=more.env,
            mounts={"/etc/octavia": etc["octavia"], "/run/octavia": stage.folder("sockets"), **ovn, **locks},
        ),
    ]  # fmt: skip
    said = stage.run(*parts).strip().splitlines()
    why = "\n".join(said) + stage.said(*parts) + (stage.shared / "api.log").read_text()[-6000:]
    assert len(said) == 2, why
    made, verified = map(json.loads, said)
    assert made["states"] == ["ACTIVE"] * 5, why
    (row,) = made["made"]
    assert row["protocol"] == "tcp", why
    assert row["vips"] == {f"{made['address']}:80": ",".join(f"{address}:8080" for address in ADDRESSES)}, why
    assert (made["left"], made["ports"]) == ([], []), why
    assert all(ok for ok, _ in verified["checks"].values()), why
    assert set(verified["checks"]) == {"provider", "balancer"}, why

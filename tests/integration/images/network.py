"""What a part of a stage runs to be OVN's databases, or Neutron's API."""

from __future__ import annotations

import re
from pathlib import Path

OVN = """
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
NEUTRON = """
cd /tmp
wait_for answers 3306
neutron-db-manage --config-file /etc/neutron/neutron.conf --config-file /etc/neutron/plugins/ml2/ml2_conf.ini \\
  upgrade head > log 2>&1 || cat log
wait_for test -e /mnt/identity.done
wait_for test -e /mnt/ovn.done
wait_for answers 5672
uwsgi --ini /etc/neutron/neutron-api-uwsgi.ini 2>&1
"""


def local(*files: Path) -> None:
    """Have configuration ask OVN's databases on the loopback, which need no certificate there."""
    for conf in files:
        conf.write_text(re.sub(r"ssl:[0-9.]+:", "tcp:127.0.0.1:", conf.read_text()))

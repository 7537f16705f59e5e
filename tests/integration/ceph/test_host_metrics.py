"""What a host's program tells of a real monitor and of real managers, one of which stands by."""

from __future__ import annotations

import re

from ansible_collections.groundup.cloud.plugins.module_utils._base import bundle
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import program
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

from .loopback import PATIENCE, Loopback
from .test_metrics import CAPS, STANDS_BY

OSDS = 1


def told(ceph: Loopback) -> dict[str, int]:
    """Return which daemons answer, after one run."""
    text = ceph.run("python3 -I -S /srv/program /tmp/host.prom; cat /tmp/host.prom")
    assert program.LAST_RUN in text, "a part failed"
    return {
        name: int(value) for name, value in re.findall(r'^ceph_daemon_socket_up{ceph_daemon="(.+)"} (\d)$', text, re.M)
    }


def test_a_host_tells_of_its_own_monitor_and_manager_also_when_no_manager_tells_metrics(ceph: Loopback) -> None:
    ceph.put("/srv/program", bundle.program(program))
    ceph.run(STANDS_BY, ceph.key("mgr.y", CAPS))
    until(lambda: bool(ceph.ask("mgr", "dump")["standbys"]), seconds=PATIENCE)
    well = {"mgr.x": 1, "mgr.y": 1, "mon.m1": 1}
    assert told(ceph) == well, "one that stands by answers, too"
    ceph.run("pkill -STOP -f 'ceph-mgr -i [x]'")
    assert told(ceph) == well | {"mgr.x": 0}, "one that hangs takes connections"
    ceph.run("pkill -KILL -f 'ceph-mgr -i [xy]'; pkill -KILL -f 'ceph-mon -i m[1]'")
    assert told(ceph) == dict.fromkeys(well, 0)

"""Slow clients through HAProxy and uWSGI as a site has them: all bytes arrive, and nobody else waits."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.tests.integration.edge import configured
from ansible_collections.groundup.cloud.tests.integration.host_root import ROOTFS

from .conftest import Image
from .slow import SIZE
from .stage import Stage

_RUN = """
ip address add 10.9.0.2/32 dev lo
mkdir /tmp/run
mount -t tmpfs tmpfs /host/run; mount -t tmpfs tmpfs /host/etc/haproxy; mount --rbind /dev /host/dev
mkdir -p /host/run/haproxy /host/etc/haproxy/tls
cp /mnt/edge.pem /host/etc/haproxy/tls/; cp /mnt/haproxy.cfg /host/etc/haproxy/
chroot /host haproxy -f /etc/haproxy/haproxy.cfg > /tmp/haproxy.log 2>&1 &
cd /mnt
uwsgi --ini /mnt/uwsgi.ini > /tmp/uwsgi.log 2>&1 &
python3 -W ignore /mnt/slow.py || { cat /tmp/*.log; exit 1; }
"""


def test_a_client_that_pauses_gets_and_sends_every_byte_and_nobody_waits_for_it(
    image: Callable[[str], Image], tmp_path: Path
) -> None:
    if supply.missing([ROOTFS]):
        pytest.skip(f"{ROOTFS} is not built on this machine")
    openstack = image("openstack")
    (tmp_path / "stage").mkdir()
    stage = Stage(tmp_path / "stage", "glance")
    (place := tmp_path / "mnt").mkdir()
    (port,) = {one.node_port for one in stage.plan.edge.endpoints if one.type == "image"}
    ini = stage.file("glance", "glance-api-uwsgi.ini").replace(":9292", f":{port}")
    assert "\nprocesses = 1\n" in ini
    (place / "uwsgi.ini").write_text(re.sub(r"(?m)^module = .*$", "module = slow:application", ini))
    text = configured(place)
    (name,) = {one.name for one in stage.plan.edge.endpoints if one.type == "image"}
    (place / "haproxy.cfg").write_text(text.replace(name, "image.cloud.test"))
    shutil.copy(Path(__file__).parent / "slow.py", place)
    mounts = {"/mnt": place, "/host": supply.unpacked(ROOTFS)}
    said = openstack.run("bash", "-euc", _RUN, uid=0, mounts=mounts).stdout
    found = json.loads(said.splitlines()[-1])
    assert found == {"read": SIZE, "kept": str(SIZE), "meanwhile": 200}, said

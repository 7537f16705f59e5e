"""Octavia's real API with OVN's driver before OVN's databases, as the built-in chart configures it; without Neutron."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact

from .conftest import Image
from .stage import Part, Stage

_OCTAVIA = """
cd /tmp
ovn() { LD_LIBRARY_PATH=/opt/ovn/usr/lib/x86_64-linux-gnu "$@"; }
port=6641
for db in nb sb; do
  ovn /opt/ovn/usr/bin/ovsdb-tool create $db.db /opt/ovn/usr/share/ovn/ovn-$db.ovsschema
  ovn /opt/ovn/usr/sbin/ovsdb-server --remote=ptcp:$port:127.0.0.1 --unixctl=/tmp/$db.ctl $db.db > $db.log 2>&1 &
  wait_for answers $port; port=16642
done
ovn /opt/ovn/usr/bin/ovn-nbctl --db=tcp:127.0.0.1:6641 init
wait_for answers 3306
octavia-db-manage upgrade head > log 2>&1 || cat log
wait_for test -e /mnt/identity.done
uwsgi --ini /etc/octavia/octavia-api-uwsgi.ini > /mnt/api.log 2>&1 &
wait_for answers 9876
PYTHONPATH=/mnt:/collections python3 - 2>&1 <<end || tail -n 60 /mnt/api.log
from visitor import context
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import octavia, probing
print(*probing.probed(context(), "octavia", lambda client: [octavia.ask_provider(client)], path="/v2/lbaas").checks)
end
wait_for test -S /run/octavia/status.sock
echo agent
"""


@pytest.mark.long  # its image is for sites that name its services: `make test` does not build it
def test_the_api_has_ovns_driver_and_the_agent_listens(
    image: Callable[[str], Image], artifact: Callable[[str], Artifact], tmp_path: Path
) -> None:
    more, mariadb, openstack = image("openstack-more"), image("mariadb"), image("openstack")
    artifact("rootfs-host")
    stage = Stage(tmp_path, "placement", "glance", "nova", "neutron", "octavia")
    for name in stage.services[:-1]:  # the others' accounts are for nobody here
        (stage.shared / f"{name}.identity.json").unlink()
    etc = stage.etc("octavia", "octavia-api-uwsgi.ini")
    conf = etc / "octavia.conf"
    conf.write_text(re.sub(r"ssl:[0-9.]+:", "tcp:127.0.0.1:", conf.read_text()))
    parts = [
        *stage.shared_parts(mariadb, openstack),
        Part(
            name="octavia", root=more.root, script=_OCTAVIA, env=more.env,
            mounts={
                "/etc/octavia": etc, "/run/octavia": stage.folder("sockets"),
                "/opt/ovn": supply.unpacked("rootfs-host"),
            },
        ),
    ]  # fmt: skip
    said = stage.run(*parts)
    assert "OVN's driver is loaded" in said, said + stage.said(*parts)
    assert said.endswith("agent\n"), said

"""Octavia's real API with OVN's driver, before real OVN databases, Neutron, Keystone and queue: a balancer is made."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact

from .balancer import ADDRESSES
from .conftest import Image
from .network import NEUTRON, OVN, local
from .stage import Part, Stage

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
    local(etc["octavia"] / "octavia.conf", etc["neutron"] / "plugins/ml2/ml2_conf.ini")
    locks = {"/run/lock": stage.folder("locks")}
    parts = [
        stage.queue(rabbitmq),
        *stage.shared_parts(mariadb, openstack),
        Part(name="ovn", root=more.root, script=OVN, env=more.env, mounts=ovn),
        Part(
            name="neutron", root=openstack.root, script=NEUTRON, env=openstack.env,
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

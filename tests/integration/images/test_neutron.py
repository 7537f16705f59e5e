"""Neutron's real API with the plan's plugins, before real OVN databases: it lists what is promised, and OVN gets it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact

from .conftest import Image
from .network import NEUTRON, OVN, local
from .stage import Part, Stage

_ASK = """
wait_for answers 9696
PYTHONPATH=/collections python3 /mnt/ports.py 2>&1
PYTHONPATH=/collections python3 /mnt/visitor.py neutron 2>&1
"""


@pytest.mark.long  # the tier `cloud` asks the same of a real cloud
def test_neutron_lists_and_ovn_gets_what_tenants_are_promised(
    image: Callable[[str], Image], artifact: Callable[[str], Artifact], tmp_path: Path
) -> None:
    openstack, mariadb, rabbitmq = map(image, ("openstack", "mariadb", "rabbitmq"))
    artifact("rootfs-host")
    stage = Stage(tmp_path, "neutron", absent=("placement", "glance", "nova"))
    shutil.copy(Path(__file__).parent / "ports.py", stage.shared)
    ovn = {"/opt/ovn": supply.unpacked("rootfs-host")}
    etc = stage.etc("neutron", "neutron-api-uwsgi.ini", "plugins/ml2/ml2_conf.ini")
    local(etc / "plugins/ml2/ml2_conf.ini")
    own = {"/etc/neutron": etc, "/var/lib/neutron": stage.folder("state"), "/run/lock": stage.folder("locks")}
    parts = [
        stage.queue(rabbitmq),
        *stage.shared_parts(mariadb, openstack),
        Part(name="ovn", root=openstack.root, script=OVN, env=openstack.env, mounts=ovn),
        Part(name="neutron", root=openstack.root, script=NEUTRON, env=openstack.env, mounts=own),
        Part(name="tenant", root=openstack.root, script=_ASK, env=openstack.env, mounts=ovn),
    ]
    said = stage.run(*parts).strip().splitlines()
    why = "\n".join(said)[-6000:] + stage.said(*parts)[-6000:]
    assert len(said) == 2, why
    made, verified = map(json.loads, said)
    assert made["pool"]["done"] == [["create subnet pool tenants 10.128.0.0/16"], [], ["change subnet pool tenants"]]
    assert [cidr.startswith(("10.128.", "10.129.")) and cidr.endswith("/24") for cidr in made["pool"]["cidrs"]] == [
        True
    ]
    assert made["qos"] == [["dscp=26"], ["burst=2000 rate=20000"]], made["qos"]
    assert made["trunk"] == [True, ["101"]]
    assert made["forwarded"]
    assert made["log"] == [201, True]
    assert made["segments"] == 1
    assert {name: ok for name, (ok, _) in verified["checks"].items()} == dict.fromkeys(
        ("extensions", "network", "agents"), True
    ), verified

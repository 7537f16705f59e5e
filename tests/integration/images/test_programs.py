"""Every program that the services' wheels name in a call is installed where they run, or nothing of ours calls it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.runtime import (
    EVERYWHERE,
    HYPERVISOR,
    IN_PODS,
    NOT_CALLED,
    ON_HYPERVISORS,
)

from .conftest import Image

PACKAGES = ("nova", "cinder", "glance", "glance_store", "neutron", "os_brick", "os_vif")
CALLS = {"execute", "_execute", "trycmd", "Popen", "check_output", "check_call", "run", "execute_root"}
# Of drivers that the plan has no option for, and of agents that OVN replaces.
OTHERS = (
    "cinder/volume/drivers/", "cinder/volume/targets/", "cinder/privsep/targets/", "cinder/zonemanager/",
    "nova/virt/ironic/", "nova/virt/vmwareapi/", "nova/virt/zvm/", "nova/virt/libvirt/volume/",
    "os_brick/initiator/connectors/", "os_brick/initiator/windows/", "os_brick/remotefs/",
    "neutron/plugins/ml2/drivers/openvswitch/", "neutron/plugins/ml2/drivers/linuxbridge/",
    "neutron/plugins/ml2/drivers/macvtap/", "neutron/plugins/ml2/drivers/mech_sriov/", "neutron/agent/linux/dhcp",
    "neutron/agent/l3/",
)  # fmt: skip
OURS = ("cinder/volume/drivers/rbd.py", "os_brick/initiator/connectors/rbd.py", "nova/virt/libvirt/volume/net.py")


def leading(items: list[ast.expr]) -> str:
    """Return the program of a command's first words, "" when the code makes it up."""
    words = []
    for item in items:
        if not (isinstance(item, ast.Constant) and isinstance(item.value, str)):
            break
        words.append(item.value)
    return next((word for word in words if word != "env" and "=" not in word), "")


def commands(tree: ast.AST) -> Iterator[str]:
    """Yield the program of every call that runs one, and of every list that is called a command."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in CALLS:
                first = node.args[0]
                yield leading(first.elts if isinstance(first, ast.List | ast.Tuple) else node.args)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Tuple):
            target = node.targets[0]
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
            if any(word in name.lower() for word in ("cmd", "command", "args")):
                yield leading(node.value.elts)


@pytest.fixture(scope="module")
def found(image: Callable[[str], Image]) -> dict[str, str]:
    """Programs that the wheels in the image call, each with one file that does."""
    (place,) = (image("openstack").root / "var/lib/openstack/lib").glob("python3*/site-packages")
    files = {str(path.relative_to(place)): path for name in PACKAGES for path in (place / name).rglob("*.py")}
    kept = {name: path for name, path in files.items() if name in OURS or not name.startswith(OTHERS)}
    assert len(kept) > 1000
    return {
        word: name
        for name, path in sorted(kept.items())
        for word in commands(ast.parse(path.read_bytes()))
        if word and not word.startswith("-") and (word.islower() or "/" in word) and " " not in word.strip()
    }


def test_every_program_that_a_service_calls_has_a_place_or_a_reason(found: dict[str, str]) -> None:
    known = set(" ".join((EVERYWHERE, ON_HYPERVISORS, IN_PODS, *NOT_CALLED.values())).split())
    assert {word: file for word, file in found.items() if word not in known} == {}, (
        "into plugin_utils/layers/runtime.py"
    )
    assert known - set(found) - {Path(path).name for path in HYPERVISOR} == set(), "nothing calls these any more"


def test_what_is_called_in_pods_is_in_their_image(image: Callable[[str], Image]) -> None:
    root = image("openstack").root
    places = ("usr/bin", "usr/sbin", "var/lib/openstack/bin")
    missing = [
        name
        for name in f"{IN_PODS} {EVERYWHERE}".split()
        if not any((root / place / name).exists() for place in places)
    ]
    assert missing == []

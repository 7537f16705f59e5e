"""What is asked of the kernel itself, without a program: interfaces, packets, connections."""

from __future__ import annotations

import ast
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._host.probe import connects
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.links import holder, links
from ansible_collections.groundup.cloud.tests.unit.wire import said_on_a_wire

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / "plugins/module_utils/_preflight"
ASK = """
import json
import subprocess
from ansible_collections.groundup.cloud.plugins.module_utils._preflight.links import links
from ansible_collections.groundup.cloud.plugins.module_utils._host.probe import Echo, connects
echo, others = Echo("192.0.2.1"), ["192.0.2.2", "192.0.2.3"]
subprocess.run("ip link property add dev near altname enP3s1f0 altname enx020000000001".split(), check=True)
print(json.dumps({
    "altnames": sorted(links()["near"].altnames),
    "large": echo.lost(others, size=1500), "fits": echo.lost(others, size=1400), "small": echo.lost(others, size=64),
    "huge": echo.lost(others[:1], size=9000), "mtu": links()["near"].mtu, "closed": connects("192.0.2.2", 22),
}))
"""


def test_the_loopback_has_its_address() -> None:
    found = links()
    assert found["lo"].addresses["127.0.0.1"] == 8
    assert found["lo"].up
    assert holder(found, "127.0.0.1") == "lo"
    assert holder(found, "192.0.2.77") is None


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_closed_port_is_told_from_an_open_one(listening: int) -> None:
    assert connects("127.0.0.1", listening) == "open"
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    assert connects("127.0.0.1", port) == "closed"


@pytest.mark.root
def test_a_wire_that_carries_less_than_both_ends_believe_is_found_out() -> None:
    assert json.loads(said_on_a_wire(ASK)) == {
        "altnames": ["enP3s1f0", "enx020000000001"],
        "large": {"192.0.2.2": "no answer", "192.0.2.3": "no answer"},
        "fits": {"192.0.2.3": "no answer"},
        "small": {"192.0.2.3": "no answer"},
        "huge": {"192.0.2.2": "larger than the interface's MTU"},
        "mtu": 1500,
        "closed": "closed",
    }


def test_every_file_is_python_3_9() -> None:
    rooms = HOME.parent
    base = [rooms / f"_base/{name}.py" for name in ("changes", "errors", "files", "module", "run", "text")]
    for path in (
        *HOME.glob("[!_]*.py"),
        *base,
        rooms / "_host/access.py",
        rooms / "_host/network_owner.py",
        rooms / "_plan/preflight.py",
    ):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, feature_version=(3, 9))
        for node in ast.walk(tree):
            for keyword in getattr(node, "keywords", ()):
                assert keyword.arg not in ("slots", "kw_only", "strict"), (
                    f"{path.name}: {keyword.arg} is of Python 3.10"
                )
        values = "".join(ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign))
        assert " | None" not in values, f"{path.name}: as a value, a union of types is of Python 3.10"
        assert "from __future__ import annotations" in text, path.name

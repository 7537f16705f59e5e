"""Ports: what listens there already, and whether that is this site's."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._preflight import ports

from .conftest import SOCKETS, Host, wanted


def test_a_socket_of_no_process_is_the_kernels_tunnel(host: Host) -> None:
    """A node's VXLAN socket has an inode like any other, and belongs to nobody."""
    host.write("/etc/groundup/site", "unit x\n")
    host.listen(8472, "", inode=3727920, protocol="udp")
    assert not list(ports.taken(host, wanted()))
    host.listen(10250, "", inode=3727921)
    assert [fault.what for fault in ports.taken(host, wanted())] == [
        "port 10250/tcp is taken by the kernel, and kubelet is to listen there"
    ]


def test_a_program_that_ends_while_it_is_looked_for_is_not_the_kernel(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.write("/etc/groundup/site", "unit x\n")
    host.listen(10250, "", inode=3727921)

    def ended(*_: object) -> dict[str, tuple[str, str]]:
        host.write("/proc/net/tcp", SOCKETS)
        return {}

    monkeypatch.setattr(ports, "_holders", ended)
    assert not list(ports.taken(host, wanted()))

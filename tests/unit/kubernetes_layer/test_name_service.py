"""Whom CoreDNS asks on a node."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.name_service import files, resolvers

STUB = "# systemd-resolved\nnameserver 127.0.0.53\noptions edns0\n"


@pytest.mark.parametrize(
    ("texts", "servers"),
    [
        (["search site.test\nnameserver 10.0.0.2\nnameserver 2001:db8::2\n"], ("10.0.0.2",)),
        (["nameserver 2001:db8::1\nnameserver 2001:db8::2\n"], ()),  # pods have IPv4 alone: they could ask neither
        ([STUB, "nameserver 10.0.0.2\n"], ("10.0.0.2",)),
        (["nameserver 10.0.0.3\n", "nameserver 10.0.0.2\n"], ("10.0.0.3",)),
        ([STUB, ""], ()),
        (["nameserver ::1\nnameserver 0.0.0.0\nnameserver fe80::1%eth0\nnameserver 10.96.0.10\nnameserver 1.2\n"], ()),
        (["; nameserver 10.0.0.9\nnameserver 10.0.0.2 # main\n"], ("10.0.0.2",)),
        (["nameserver 10.0.0.2\n" * 2 + "".join(f"nameserver 10.0.0.{n}\n" for n in (3, 4, 5))],
         ("10.0.0.2", "10.0.0.3", "10.0.0.4")),
    ],
)  # fmt: skip
def test_a_pod_asks_what_it_can_reach_and_never_itself(texts: list[str], servers: tuple[str, ...]) -> None:
    assert resolvers(texts, service_cidr="10.96.0.0/16") == servers


def test_without_a_resolver_nobody_is_asked() -> None:
    assert "forward" not in files(())["upstream.conf"]
    assert files(("10.0.0.2",))["upstream.conf"].startswith("forward . 10.0.0.2 {")

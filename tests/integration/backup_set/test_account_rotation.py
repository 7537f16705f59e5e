"""RabbitMQ itself: a second account of a service, and the first one refused."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.accounts import Login
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.rabbitmq import PORT, Queue
from ansible_collections.groundup.cloud.tests.integration.images.conftest import Image

from .containers import Namespaces, container
from .test_mariadb import _owned

_START = """
set -eu
export HOME=/var/lib/rabbitmq RABBITMQ_NODENAME=rabbit@localhost
setsid rabbitmq-server </dev/null >/tmp/log 2>&1 &
rabbitmqctl --quiet wait --timeout 300 --pid $! || { cat /tmp/log >&2; exit 1; }
rabbitmqctl --quiet await_startup --timeout 300
rabbitmqctl --quiet add_vhost no/va
"""
_NET = 0x40000000  # CLONE_NEWNET


def _inside(found: Namespaces, port: int) -> closing[socket.socket]:
    """Return a connection to ``port`` in a container: its thread enters the network, and leaves it by ending."""
    made: list[socket.socket] = []

    def connect() -> None:
        with Path(f"/proc/{found.pid}/ns/net").open("rb") as place:
            assert ctypes.CDLL(None, use_errno=True).setns(place.fileno(), _NET) == 0, os.strerror(ctypes.get_errno())
        made.append(socket.create_connection(("127.0.0.1", port), timeout=10))

    thread = threading.Thread(target=connect)
    thread.start()
    thread.join()
    return closing(made[0])


@pytest.fixture(scope="module")
def member(image: Callable[[str], Image], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespaces]:
    place = tmp_path_factory.mktemp("queue")
    etc, data = _owned(place / "etc"), _owned(place / "data")
    (etc / "enabled_plugins").write_text("[rabbitmq_management].")
    (data / ".erlang.cookie").write_text("cookie-of-a-test")
    (data / ".erlang.cookie").chmod(0o600)
    os.chown(data / ".erlang.cookie", 999, 999)
    mounts = {"/var/lib/rabbitmq": data, "/etc/rabbitmq": etc, "/var/log/rabbitmq": _owned(place / "log")}
    with container(image("rabbitmq"), "pod rabbitmq-rabbitmq-0", mounts) as found:
        done = found.run(["bash", "-c", _START])
        assert done.code == 0, done.stderr
        yield found


def test_a_second_account_takes_the_place_of_the_first(member: Namespaces) -> None:
    queue = Queue(lambda: _inside(member, PORT), Login("guest", "guest"), member.name)
    old, new = Login("nova", "before"), Login("nova-b", "af/ter:")
    queue.make(old, "no/va")
    assert queue.accepts(old)
    assert not queue.accepts(new)
    assert not queue.accepts(Login("nova", "af/ter:"))
    queue.make(new, "no/va")
    assert queue.accepts(new)
    assert queue.accepts(old)
    assert queue.accepts(queue.admin)
    assert queue.peers("nova") == []
    queue.delete("nova")
    queue.delete("nova")
    assert not queue.accepts(old)
    assert queue.accepts(new)


def test_a_virtual_host_that_is_not_there_is_an_error_without_a_password(member: Namespaces) -> None:
    queue = Queue(lambda: _inside(member, PORT), Login("guest", "guest"), member.name)
    with pytest.raises(GroundupError, match="RabbitMQ: PUT permissions/away/other: 400") as refused:
        queue.make(Login("other", "pass-word"), "away")
    assert "pass-word" not in str(refused.value)

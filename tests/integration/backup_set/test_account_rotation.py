"""RabbitMQ itself: a second account of a service, and the first one refused."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets import rabbitmq
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.accounts import Credential
from ansible_collections.groundup.cloud.plugins.plugin_utils.rotate.rabbitmq import PORT, Queue
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import rabbitmq as servers
from ansible_collections.groundup.cloud.tests.integration.images.conftest import Image

from .containers import Namespaces, connected, container
from .test_mariadb import _owned

_START = """
set -eu
export HOME=/var/lib/rabbitmq RABBITMQ_NODENAME=rabbit@localhost
setsid rabbitmq-server </dev/null >/tmp/log 2>&1 &
rabbitmqctl --quiet wait --timeout 300 --pid $! || { cat /tmp/log >&2; exit 1; }
rabbitmqctl --quiet await_startup --timeout 300
rabbitmqctl --quiet add_vhost no/va
"""

_ACCOUNT = "export HOME=/var/lib/rabbitmq RABBITMQ_NODENAME=rabbit@localhost"
_BOSS = f"""
{_ACCOUNT}
rabbitmqctl --quiet add_user boss before
rabbitmqctl --quiet set_user_tags boss administrator
"""


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
    queue = Queue(lambda: connected(member, PORT), Credential("guest", "guest"), member.name)
    old, new = Credential("nova", "before"), Credential("nova-b", "af/ter:")
    queue.make(old, "no/va")
    assert queue.accepts(old)
    assert not queue.accepts(new)
    assert not queue.accepts(Credential("nova", "af/ter:"))
    queue.make(new, "no/va")
    assert queue.accepts(new)
    assert queue.accepts(old)
    assert queue.accepts(queue.admin)
    assert queue.peers("nova") == []
    queue.delete("nova")
    queue.delete("nova")
    assert not queue.accepts(old)
    assert queue.accepts(new)


@pytest.mark.parametrize("killed", [1, 2, 3])
def test_an_account_is_let_in_once_it_has_its_rights_wherever_a_run_was_killed(
    member: Namespaces, monkeypatch: pytest.MonkeyPatch, killed: int
) -> None:
    """A rotation that goes on takes an account that is let in for a whole one."""
    queue = Queue(lambda: connected(member, PORT), Credential("guest", "guest"), member.name)
    login, done, real = Credential(f"glance-{killed}", "word"), list[str](), Queue._do

    def do(self: Queue, method: str, path: str, body: Any) -> None:
        real(self, method, path, body)
        done.append(path)
        if len(done) == killed:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(Queue, "_do", do)
        queue.make(login, "no/va")
    if not queue.accepts(login):
        queue.make(login, "no/va")
    assert queue.accepts(login)
    status, rights = queue._ask("GET", f"permissions/no%2Fva/{login.user}", login=queue.admin)
    assert (status, rights["write"]) == (200, ".*")


def test_a_member_says_versions_and_which_stable_feature_flags_are_not_enabled(member: Namespaces) -> None:
    done = member.run(["bash", "-euc", f"{_ACCOUNT}\n{shlex.join(servers._ARGV)}"])
    status = servers.parse(done.stdout)
    found = servers.members(status, ["localhost", "other"])
    assert found.versions["localhost"].startswith("4."), done.stderr
    assert found.silent == ("other is not in the cluster",)
    assert found.disabled == (), "khepri_db of 4.0 is experimental"
    flags = {one["name"]: one for one in status["feature_flags"]}
    assert flags["khepri_db"]["state"] == "disabled"
    stable = next(one for one in flags.values() if one["stability"] == "stable")
    stable["state"] = "disabled"
    assert servers.members(status, ["localhost"]).disabled == (stable["name"],)


def test_definitions_bring_lost_accounts_back_and_leave_the_administrators_password(member: Namespaces) -> None:
    done = member.run(["bash", "-euc", _BOSS.replace("boss", rabbitmq.ACCOUNT)])
    assert done.code == 0, done.stderr
    admin, login, kept = Credential(rabbitmq.ACCOUNT, "before"), Credential("cinder", "word"), list[bytes]()
    pod = {"metadata": {"name": "rabbitmq-0"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    api: Any = SimpleNamespace(get=lambda *_, **__: {"items": [pod]}, connect=lambda *_: connected(member, PORT))
    queue = Queue(lambda: connected(member, PORT), admin, member.name)
    queue.make(login, "no/va")
    queue._do("PUT", f"permissions/no%2Fva/{admin.user}", {"configure": ".*", "write": ".*", "read": ".*"})
    queue._do("PUT", "queues/no%2Fva/lasting", {"durable": True, "arguments": {"x-queue-type": "quorum"}})
    about = rabbitmq.take(api, "openstack", password="before", write=kept.append)
    queue.replace(Credential(rabbitmq.ACCOUNT, "after"))
    later = Queue(queue.connect, Credential(rabbitmq.ACCOUNT, "after"), member.name)
    later.delete("cinder")
    later._do("DELETE", "vhosts/no%2Fva", None)
    for _ in range(2):  # a run that was killed does it again
        rabbitmq.put(api, "openstack", kept[0], password="after")
        assert later.accepts(login)
        assert rabbitmq.parse(json.dumps(rabbitmq.read(api, "openstack", password="after")).encode()) == about
    assert [one["name"] for one in later.queues()] == ["lasting"]
    later._do("DELETE", "queues/no%2Fva/lasting", None)
    with pytest.raises(GroundupError, match="/api/definitions: 400"):
        rabbitmq.put(api, "openstack", json.dumps({"users": [{"name": "x", "tags": 5}]}).encode(), password="after")


def test_a_virtual_host_that_is_not_there_is_an_error_without_a_password(member: Namespaces) -> None:
    queue = Queue(lambda: connected(member, PORT), Credential("guest", "guest"), member.name)
    with pytest.raises(GroundupError, match="RabbitMQ: PUT permissions/away/other: 400") as refused:
        queue.make(Credential("other", "pass-word"), "away")
    assert "pass-word" not in str(refused.value)


def test_an_administrator_sets_its_own_next_password(member: Namespaces) -> None:
    done = member.run(["bash", "-euc", _BOSS])
    assert done.code == 0, done.stderr
    old, new = Credential("boss", "before"), Credential("boss", "after")
    queue = Queue(lambda: connected(member, PORT), old, member.name)
    assert queue.accepts(old)
    queue.replace(new)
    assert not queue.accepts(old)
    assert queue.accepts(new)
    later = Queue(lambda: connected(member, PORT), new, member.name)
    assert later.queues() == [], "it still administers"

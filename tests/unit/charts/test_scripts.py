"""The other scripts the built-in charts run in pods."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import threading
import urllib.error
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from ansible_collections.groundup.cloud.tests.unit.oslo import read
from hypothesis import given
from hypothesis import strategies as st

from .conftest import CHARTS, script

keys = script("keystone/files/keys.py")
domains = script("keystone/files/domains.py")


def test_a_new_key_is_a_fernet_key() -> None:
    assert len(base64.urlsafe_b64decode(keys.new_key())) == 32
    assert keys.new_key() != keys.new_key()


def test_setup_makes_a_key_to_sign_with_and_the_next_one_and_leaves_a_repository_alone() -> None:
    assert set(keys.setup({})) == {0, 1}
    assert keys.setup({0: "a", 5: "b"}) == {0: "a", 5: "b"}


def test_rotation_signs_with_the_staged_key_and_stages_a_new_one() -> None:
    rotated = keys.rotate({0: "staged", 1: "old"}, keep=7)
    assert rotated[2] == "staged"
    assert rotated[1] == "old"
    assert rotated[0] not in ("staged", "old")


@given(rotations=st.integers(1, 30), keep=st.integers(3, 9))
def test_rotation_keeps_the_newest_keys_and_never_more_than_asked_for(rotations: int, keep: int) -> None:
    repository = keys.setup({})
    for _ in range(rotations):
        repository = keys.rotate(repository, keep=keep)
    assert len(repository) == min(keep, rotations + 2)
    used = sorted(number for number in repository if number)
    assert used == list(range(max(used) - len(used) + 1, max(used) + 1))


def test_a_conflicting_change_is_taken_in_and_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two setups at once: the one that comes second finds keys, and leaves them."""
    state: dict[str, Any] = {"version": "1", "data": {}}

    def call(method: str, *_: object) -> dict[str, Any]:
        if method == "GET":
            return {"metadata": {"resourceVersion": state["version"]}, "data": dict(state["data"])}
        if state["version"] == "1":
            state.update(version="2", data={"0": base64.b64encode(b"theirs").decode()})
            raise urllib.error.HTTPError("", 409, "conflict", None, None)  # type: ignore[arg-type]  # no headers are read
        raise AssertionError("keys of another writer were overwritten")

    monkeypatch.setattr(keys, "call", call)
    assert keys.change("keystone-fernet-keys", "setup") is False


def test_rotation_removes_old_keys_from_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    old = {str(n): base64.b64encode(b"k").decode() for n in range(4)}
    sent: list[Any] = []

    def call(_method: str, _secret: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        sent.append(body)
        return {"metadata": {"resourceVersion": "7"}, "data": old}

    monkeypatch.setattr(keys, "call", call)
    monkeypatch.setenv("MAX_ACTIVE_KEYS", "3")
    assert keys.change("keystone-fernet-keys", "rotate") is True
    assert sent[-1]["metadata"] == {"resourceVersion": "7"}
    assert sent[-1]["data"]["1"] is sent[-1]["data"]["2"] is None
    assert set(sent[-1]["data"]) == {"0", "1", "2", "3", "4"}


def test_stored_credentials_outlive_rotations_that_are_cut_short(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The job is repeated by Kubernetes: rotating once more each time would drop the credential's key.

    The database is away for three runs. The kubelet brings a changed Secret into the pod by and by.
    """
    kept: dict[str, Any] = {"data": {str(n): base64.b64encode(f"key{n}".encode()).decode() for n in (0, 1)}}
    stored, down = {"with": "key1"}, [3]

    def call(method: str, _secret: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        if method == "PATCH" and body is not None:
            kept["data"] = {name: key for name, key in ({**kept["data"], **body["data"]}).items() if key}
        return {"metadata": {"resourceVersion": "1"}, "data": dict(kept["data"])}

    def kubelet(_seconds: float) -> None:
        for file in tmp_path.iterdir():
            file.unlink()
        for number, key in keys.keys_in({"data": kept["data"]}).items():
            (tmp_path / str(number)).write_text(key)

    def migrate(*_: object, **__: object) -> None:
        if down[0]:
            down[0] -= 1
            raise subprocess.CalledProcessError(1, "keystone-manage")
        present = keys.mounted(tmp_path)
        assert stored["with"] in present.values(), "no key is left for the stored credential"
        stored["with"] = present[max(present)]

    kubelet(0)
    monkeypatch.setattr(keys, "call", call)
    monkeypatch.setattr(keys.time, "sleep", kubelet)
    monkeypatch.setattr(keys.subprocess, "run", migrate)
    monkeypatch.setattr(keys.sys, "argv", ["keys.py", "rotate", "keystone-credential-keys"])
    monkeypatch.setenv("KEY_REPOSITORY", str(tmp_path))
    for _ in range(3):
        with pytest.raises(subprocess.CalledProcessError):
            keys.main()
    keys.main()
    assert stored["with"] == keys.keys_in({"data": kept["data"]})[max(map(int, kept["data"]))]


def test_credentials_are_not_migrated_with_keys_that_are_not_mounted_yet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "0").write_text("staged")
    data = {str(n): base64.b64encode(b"newer").decode() for n in range(2)}
    monkeypatch.setattr(keys, "call", lambda *_: {"data": data})
    monkeypatch.setattr(keys, "MOUNT_WAIT", 0.0)
    monkeypatch.setattr(keys.subprocess, "run", lambda *_, **__: pytest.fail("with keys of yesterday"))
    with pytest.raises(SystemExit, match="does not show the keys of keystone-credential-keys"):
        keys.migrate("keystone-credential-keys", tmp_path)


def test_keystone_answers_to_the_end_before_its_container_is_told_to_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`graceful-stop` only asks, and the kubelet sends SIGTERM, which Apache obeys at once, when the hook returns."""
    pid, order, asked = tmp_path / "pid", tmp_path / "order", tmp_path / "asked"
    serve = f"until [ -e {asked} ]; do sleep 0.1; done; sleep 1; echo answered >> {order}"
    for name, text in {
        "apache2": f'[ "$*" = "-k graceful-stop" ] && echo asked >> {order} && touch {asked}',
        "sleep": f'[ "$1" != 5 ] || {{ echo paused >> {order}; exit 0; }}; exec {shutil.which("sleep")} "$1"',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("APACHE_PID_FILE", str(pid))
    server = subprocess.Popen(["bash", "-c", serve])
    pid.write_text(f"{server.pid}\n")
    reaper = threading.Thread(target=server.wait)
    reaper.start()
    subprocess.run(["bash", str(CHARTS / "groundup-lib/files/apache.sh"), "stop"], check=True, timeout=120)
    seen = order.read_text().split()
    reaper.join(timeout=120)
    assert seen == ["paused", "asked", "answered"]


class Identity(BaseHTTPRequestHandler):
    """As much of Keystone as domains.py talks to."""

    known: ClassVar[dict[str, Any]] = {}
    configured: ClassVar[dict[str, Any]] = {}
    users: ClassVar[list[dict[str, str]]] = []

    def answer(self, code: int, body: Any, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def handle_any(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        what = (self.command, self.path.split("?")[0])
        if what == ("POST", "/v3/auth/tokens"):
            self.answer(201, {}, X_Subject_Token="token")
        elif self.headers["X-Auth-Token"] != "token":
            self.answer(401, {})
        elif what == ("GET", "/v3/domains"):
            name = self.path.partition("name=")[2]
            self.answer(200, {"domains": [self.known[name]] if name in self.known else []})
        elif what == ("POST", "/v3/domains"):
            self.known[body["domain"]["name"]] = {"id": "id-" + body["domain"]["name"], "name": body["domain"]["name"]}
            self.answer(201, {"domain": self.known[body["domain"]["name"]]})
        elif what == ("GET", "/v3/users"):
            self.answer(200, {"users": self.users})
        elif self.command == "GET":
            self.answer(200 if self.path in self.configured else 404, {})
        else:
            self.configured[self.path] = (self.command, body["config"])
            self.answer(200, {})

    do_GET = do_POST = do_PUT = do_PATCH = handle_any  # noqa: N815 - names http.server looks for

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@given(st.text())
def test_keystone_reads_the_options_of_a_domain_as_they_are_given(text: str) -> None:
    assert read(domains.literal("password", text)) == text
    # In other texts, Keystone puts the password first, as Python's % does.
    assert read(domains.literal("user_filter", text) % {"password": "word"}) == text


def test_domains_are_made_once_and_their_configuration_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = HTTPServer(("127.0.0.1", 0), Identity)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("USERNAME", "PASSWORD", "USER_DOMAIN_NAME", "PROJECT_NAME", "PROJECT_DOMAIN_NAME"):
        monkeypatch.setenv(f"OS_{name}", "x")
    monkeypatch.setenv("OS_AUTH_URL", f"http://127.0.0.1:{server.server_port}/v3")
    path = tmp_path / "domains.json"
    path.write_text('{"corp": {"identity": {"driver": "ldap"}}}')
    monkeypatch.setattr(domains.sys, "argv", ["domains.py", str(path)])
    for driver in ("ldap", "sql"):
        options = {"password": "a$b%c", "user_filter": "(cn=100%)", "page_size": 500}
        path.write_text(json.dumps({"corp": {"identity": {"driver": driver}, "ldap": options}}))
        domains.main()
        found = {"password": r"a\$b%c", "user_filter": "(cn=100%%)", "page_size": 500}
        wanted = {"identity": {"driver": driver}, "ldap": found}
        assert Identity.configured["/v3/domains/id-corp/config"] == ("PUT", wanted)
    assert set(Identity.known) == {"corp"}
    # A domain of users of its own: a directory would hide them.
    monkeypatch.setattr(Identity, "users", [{"name": "ada"}])
    path.write_text('{"own": {"identity": {"driver": "ldap"}}}')
    with pytest.raises(SystemExit, match="domain own has 1 users of its own, such as ada"):
        domains.main()
    Identity.known["staff"] = {"id": "theirs", "name": "stáff"}  # the database takes accents for nothing
    path.write_text('{"staff": {"identity": {"driver": "ldap"}}}')
    with pytest.raises(SystemExit, match="Keystone has a domain stáff, which it takes for staff"):
        domains.main()
    assert set(Identity.configured) == {"/v3/domains/id-corp/config"}
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("chart", ["mariadb", "rabbitmq"])
def test_a_member_that_waits_ends_when_it_is_told_to(chart: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signals the first process of a container has no handler for are dropped: it would take its whole grace period."""
    member = script(f"{chart}/files/start.py")
    before = signal.getsignal(signal.SIGTERM)

    def told(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(member, "write_member" if chart == "mariadb" else "private_file", told)
    monkeypatch.setattr(member, "WAITING" if chart == "mariadb" else "COOKIE", Path("/dev/null"), raising=True)
    try:
        with pytest.raises(SystemExit, match="told to end"):
            member.main()
    finally:
        signal.signal(signal.SIGTERM, before)

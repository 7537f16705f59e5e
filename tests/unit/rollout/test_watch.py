"""The picture of the cluster goes on after whatever breaks a stream, and says so only as long as it is true."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api, ApiError, Executed
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.apply.watch import ClusterView
from kubernetes import client, config, stream


class OneStream:
    """An API whose watches break as told, then stay open until the test ends."""

    def __init__(self, *breaks: Exception) -> None:
        self.breaks = list(breaks)
        self.broken, self.open = threading.Event(), threading.Event()
        self.ended = threading.Event()
        self.lock = threading.Lock()

    def get(self, _path: str, **_query: str) -> Mapping[str, Any]:
        return {"items": [], "metadata": {"resourceVersion": "7"}}

    @contextmanager
    def watch(self, path: str, **_query: str) -> Iterator[Iterator[Mapping[str, Any]]]:
        with self.lock:
            error = self.breaks.pop() if self.breaks and path.endswith("/jobs") else None
        if error is not None:
            self.broken.set()
            raise error
        yield self._events(path)

    def _events(self, path: str) -> Iterator[Mapping[str, Any]]:
        if path.endswith("/jobs"):
            self.open.set()
        self.ended.wait(30)
        yield from ()


@pytest.mark.parametrize(
    "error",
    [ApiError("connection refused", where="https://api", status=0), ValueError("half a line of JSON")],
    ids=["no answer", "nobody thought of it"],
)
def test_a_broken_stream_is_told_opened_again_and_then_no_longer_told(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    retry = threading.Event()
    api = OneStream(error)
    view = ClusterView(api)  # type: ignore[arg-type]  # a stand-in
    monkeypatch.setattr(view._stopping, "wait", lambda _seconds: retry.wait(30))
    with view.running():
        assert api.broken.wait(30)
        until(lambda: str(error).splitlines()[0] in view.trouble)
        retry.set()
        assert api.open.wait(30)
        assert view.trouble == ""
        api.ended.set()


def until(condition: Callable[[], bool]) -> None:
    for _ in range(300):
        if condition():
            return
        threading.Event().wait(0.1)
    pytest.fail("it did not come to that")


class EndedStream:
    """What the library gives for a command that has ended, with what came on each channel."""

    def __init__(self, status: str) -> None:
        self._status = status

    def run_forever(self, timeout: float) -> None:
        """End at once."""

    def is_open(self) -> bool:
        return False

    def read_channel(self, channel: int, **_timeout: int) -> str:
        return self._status if channel == 3 else ""

    def read_stdout(self, **_timeout: int) -> str:
        return "said"

    read_stderr = read_stdout


def execute(monkeypatch: pytest.MonkeyPatch, status: str) -> Executed:
    core = type("Core", (), {"connect_get_namespaced_pod_exec": 0})
    monkeypatch.setattr(config, "new_client_from_config", lambda **_options: None)
    monkeypatch.setattr(client, "CoreV1Api", lambda _own: core)
    monkeypatch.setattr(stream, "stream", lambda *_arguments, **_options: EndedStream(status))
    api = Api.__new__(Api)
    api._path = None  # type: ignore[assignment]  # nothing reads it here
    return api.execute("openstack", "mariadb-server-0", ["mariadb"])


def test_a_command_whose_stream_breaks_off_is_an_error_of_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ApiError, match="lost mariadb while it ran"):
        execute(monkeypatch, "")


def test_a_command_that_cannot_be_started_is_an_error_of_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "Internal error occurred: error executing command in container: container is not running"
    status = {"status": "Failure", "reason": "InternalError", "code": 500, "message": said}
    with pytest.raises(ApiError, match="cannot run mariadb: Internal error") as caught:
        execute(monkeypatch, json.dumps({**status, "details": {"causes": [{"message": said}]}}))
    assert caught.value.status == 500


def test_the_code_a_command_ends_with_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {"status": "Failure", "reason": "NonZeroExitCode", "message": "command terminated with exit code 7"}
    causes = {"causes": [{"reason": "ExitCode", "message": "7"}]}
    assert execute(monkeypatch, json.dumps({**failed, "details": causes})).code == 7
    assert execute(monkeypatch, json.dumps({"status": "Success"})) == Executed(code=0, stdout="said", stderr="said")

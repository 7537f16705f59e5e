"""Programs in pods take and give streams of any size, byte for byte."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube import opening
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api, ApiError
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.piped import PodContainer
from kubernetes import stream

from .websocket_pods import kubeconfig


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[PodContainer]:
    with kubeconfig(tmp_path) as path:
        api: Any = SimpleNamespace(_path=path)
        api.streams = lambda *pod, **said: Api.streams(api, *pod, **said)
        yield PodContainer(api=api, namespace="openstack", pod="mariadb-server-1", container="mariadb")


def test_output_is_streamed_byte_for_byte(pod: PodContainer) -> None:
    digest, sizes = hashlib.sha256(), list[int]()

    def sink(data: bytes) -> None:
        digest.update(data)
        sizes.append(len(data))

    script = "head -c 5000000 /dev/zero | tr '\\0' '\\377'; echo done >&2; exit 7"
    done = pod.run(["sh", "-c", script], sink=sink)
    assert (done.code, done.stdout, done.stderr) == (7, "", "done\n")
    assert digest.digest() == hashlib.sha256(b"\xff" * 5_000_000).digest()
    assert max(sizes) < 1 << 16


def test_input_is_streamed_to_a_program_that_knows_how_much_it_reads(pod: PodContainer) -> None:
    pieces = [os.urandom(100_001) for _ in range(20)]
    done = pod.run(["sh", "-c", f"head -c {sum(map(len, pieces))} | sha256sum"], source=pieces)
    assert done.stdout.split()[0] == hashlib.sha256(b"".join(pieces)).hexdigest()


def test_a_program_that_the_server_never_answers_for_is_given_up(
    pod: PodContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_OPENING", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel accepts, and nobody reads
        path = pod.api._path
        path.write_text(re.sub(r"127.0.0.1:\d+", f"127.0.0.1:{silent.getsockname()[1]}", path.read_text()))
        with pytest.raises(ApiError, match="cannot run sh: Connection timed out"):
            pod.run(["sh", "-c", "echo never"])


def test_a_program_that_is_silent_for_longer_is_waited_for(pod: PodContainer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_OPENING", 0.3)
    with pod.api.streams("mariadb-server-1", cannot="", lost="") as pods:
        running = stream.stream(
            pods.connect_get_namespaced_pod_exec, "mariadb-server-1", "openstack", command=["sh", "-c", "echo now"],
            stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False,
        )  # fmt: skip
        assert running.sock.gettimeout() is None


def test_a_stream_that_is_refused_has_the_servers_status(pod: PodContainer) -> None:
    with pytest.raises(ApiError) as refused:
        PodContainer(api=pod.api, namespace="refused", pod="none", container="").run(["sh"])
    assert refused.value.status == 403


def test_a_connection_that_is_lost_is_no_end(pod: PodContainer) -> None:
    with pytest.raises(ApiError, match="lost sh while it ran"):
        pod.run(["sh", "-c", "echo half; exit 99"])

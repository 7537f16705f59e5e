"""A service that runs in one of several pods at a time, against a real API server, with the rights the chart gives."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.kube.client import Api, ApiError

from .conftest import Site
from .control_plane import TOKEN, free_port

ROOT = Path(__file__).resolve().parents[3]
TOY, LIBRARY = ROOT / "tests/contract/charts/toy", ROOT / "charts/groundup-lib"
NAME = "toy-scheduler"  # the component of the chart that is made single here
LASTS, LOOK = 10.0, 2.0  # seconds: of the Lease, and between looks of a copy that waits
# elected.py itself, with other places for what a pod has at fixed ones.
POD = """
import pathlib, sys
files, place = sys.argv[1:3]
sys.path.insert(0, files)
import elected, shared_object
shared_object.ACCOUNT = pathlib.Path(place)
elected.ALIVE, elected.RUNNING = (pathlib.Path(place) / name for name in ("alive", "running"))
sys.argv = sys.argv[2:]
elected.main()
"""
# A service that does not heed SIGTERM when it is "deaf"; it ends with its elector, as all do in a container.
SERVICE = """
import os, pathlib, signal, sys, time
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(600)
"""


class Wire:
    """A way to the API server that can be cut: connections stay open, and nothing comes through."""

    def __init__(self, to: int) -> None:
        self._to, self.port, self.cut = to, free_port(), threading.Event()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near = self._listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self._to))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError), near, far:
            while data := near.recv(65536):
                while self.cut.is_set():
                    time.sleep(0.05)
                far.sendall(data)

    def close(self) -> None:
        self._listener.close()


class Copy:
    """A pod's one container: the elector and, where it holds the Lease, the service."""

    def __init__(self, name: str, *, site: Site, place: Path, token: str, kind: str = "heeds") -> None:
        config = yaml.safe_load(site.control_plane.kubeconfig.read_text())
        self.wire = Wire(int(config["clusters"][0]["cluster"]["server"].rpartition(":")[2]))
        self.place = place / name
        self.place.mkdir()
        (self.place / "token").write_text(token)
        shutil.copy(site.control_plane.directory / "certificates/apiserver.crt", self.place / "ca.crt")
        service = ["setpriv", "--pdeathsig", "KILL", "--", sys.executable, "-c", SERVICE, f"{self.place}/pid", kind]
        with (self.place / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-B", "-c", POD, str(LIBRARY / "files"), str(self.place), *service],
                stdout=log, stderr=subprocess.STDOUT,
                env={
                    "PATH": os.environ["PATH"], "KUBERNETES_SERVICE_HOST": "127.0.0.1", "LEASE": NAME, "GRACE": "25",
                    "KUBERNETES_SERVICE_PORT": str(self.wire.port), "NAMESPACE": site.namespace, "POD_NAME": name,
                },
            )  # fmt: skip

    @property
    def service(self) -> int:
        """The pid of the service that runs here; 0 when none does."""
        try:
            pid = int((self.place / "pid").read_text() or 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return 0
        return 0 if state == "Z" else pid

    def send(self, number: int, *, service: bool = False) -> None:
        """Send a signal to the elector, and to the service as well."""
        if service and self.service:
            os.kill(self.service, number)
        self.process.send_signal(number)

    def end(self) -> None:
        for number in (signal.SIGCONT, signal.SIGKILL):
            with suppress(ProcessLookupError):
                self.send(number, service=True)
        self.process.wait()
        self.wire.close()


def until(condition: Callable[[], bool], *copies: Copy, limit: float = 120.0) -> float:
    """Wait for ``condition`` and return for how long; no two services run meanwhile, but what is stopped."""
    begun = time.monotonic()
    while not condition():
        assert len([one for one in copies if one.service]) <= 1
        assert time.monotonic() < begun + limit, [(one.place / "log").read_text() for one in copies]
        time.sleep(0.02)
    return time.monotonic() - begun


@pytest.fixture
def chart(site: Site, tmp_path: Path) -> Path:
    """What the library makes for a single component, but its pods, as a chart; each revision changes the Lease."""
    toy = tmp_path / "toy"
    shutil.copytree(TOY, toy)
    (toy / "charts").mkdir()
    (toy / "charts/groundup-lib").symlink_to(LIBRARY)
    profile = (toy / "profile.yaml").read_text()
    (toy / "profile.yaml").write_text(profile.replace("[toy-scheduler]\n", "[toy-scheduler]\n    single: true\n"))
    text = subprocess.run(
        [site.control_plane.helm, "template", "toy", toy, "--namespace", site.namespace,
         "--set", "pod.replicas.scheduler=3"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    kinds = ("ServiceAccount", "Role", "RoleBinding", "Lease")
    made = [one for one in yaml.safe_load_all(text) if one and one["kind"] in kinds and one["metadata"]["name"] == NAME]
    assert sorted(one["kind"] for one in made) == sorted(kinds)
    for one in made:
        if one["kind"] == "Lease":
            one["metadata"]["labels"]["revision"] = "r{{ .Release.Revision }}"
    chart = tmp_path / "single"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: single, version: 1.0.0}\n")
    (chart / "templates/all.yaml").write_text(yaml.safe_dump_all(made))
    return chart


def install(site: Site, chart: Path) -> None:
    """Install or upgrade as the rollout does."""
    subprocess.run(
        [site.control_plane.helm, "upgrade", "--install", "single", chart, "--namespace", site.namespace,
         "--force-conflicts", "--server-side=true", "--hide-notes"],
        env={**os.environ, "KUBECONFIG": str(site.control_plane.kubeconfig)}, capture_output=True, check=True,
    )  # fmt: skip


@pytest.fixture
def token(site: Site, chart: Path) -> str:
    """A token of the copies' own service account."""
    install(site, chart)
    path = f"/api/v1/namespaces/{site.namespace}/serviceaccounts/{NAME}/token"
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    return str(site.api.request("POST", path, body=wanted)["status"]["token"])


@pytest.fixture
def start(site: Site, token: str, tmp_path: Path) -> Iterator[Callable[..., Copy]]:
    with ExitStack() as stack:

        def started(name: str, kind: str = "heeds") -> Copy:
            copy = Copy(name, site=site, place=tmp_path, token=token, kind=kind)
            stack.callback(copy.end)
            return copy

        yield started


def lease(site: Site) -> Any:
    return site.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{site.namespace}/leases/{NAME}")


@contextmanager
def three(start: Callable[..., Copy], kind: str = "heeds") -> Iterator[list[Copy]]:
    """Three copies; the first of the list runs the service."""
    first = start("a", kind)
    until(lambda: bool(first.service), first)
    yield [first, start("b"), start("c")]


def test_one_copy_runs_the_service_and_an_upgrade_by_helm_leaves_it_the_lease(
    site: Site, chart: Path, start: Callable[..., Copy]
) -> None:
    with three(start) as copies:
        before = copies[0].service
        install(site, chart)
        found = lease(site)
        assert found["metadata"]["labels"]["revision"] == "r2", "Helm changed it"
        assert found["spec"]["holderIdentity"] == "a"
        end = time.monotonic() + LASTS + 5
        until(lambda: time.monotonic() > end, *copies)
        assert copies[0].service == before
        assert lease(site)["spec"]["leaseTransitions"] == 1


def test_a_copy_that_is_told_to_end_hands_over_at_once_and_a_dead_one_is_followed_in_seconds(
    start: Callable[..., Copy],
) -> None:
    with three(start) as (first, *others):
        first.send(signal.SIGTERM)
        took = until(lambda: any(one.service for one in others), first, *others)
        assert first.process.wait(10) == 0
        assert took < LASTS - LOOK, "it did not wait for the Lease to end"
        second = next(one for one in others if one.service)
        (third,) = set(others) - {second}
        second.send(signal.SIGKILL)  # the power goes
        took = until(lambda: bool(third.service), second, third)
        assert LASTS - 4 < took < LASTS + LOOK + 10, "ten seconds, and what a busy machine takes"


def test_a_copy_whose_requests_get_no_answer_ends_its_service_before_another_starts_it(
    start: Callable[..., Copy],
) -> None:
    """Its service does not heed SIGTERM, and its connections stay open."""
    with three(start, "deaf") as copies:
        first, *others = copies
        first.wire.cut.set()
        until(lambda: any(one.service for one in others), *copies)
        first.wire.cut.clear()
        end = time.monotonic() + 5
        until(lambda: time.monotonic() > end, *copies)
        assert first.process.poll() is None, "it waits with the others"
        assert not first.service


def test_a_frozen_copy_kills_its_service_when_it_goes_on(start: Callable[..., Copy]) -> None:
    with three(start, "deaf") as (first, *others):
        first.send(signal.SIGSTOP, service=True)
        until(lambda: any(one.service for one in others), *others)
        first.send(signal.SIGCONT, service=True)
        assert until(lambda: not first.service) < 5
        end = time.monotonic() + 5
        until(lambda: time.monotonic() > end, first, *others)


def test_the_account_of_a_copy_reaches_its_own_lease_alone(site: Site, token: str, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(site.control_plane.kubeconfig.read_text().replace(TOKEN, token))
    as_copy = Api(kubeconfig)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{site.namespace}/leases"
    assert as_copy.get(f"{leases}/{NAME}")["metadata"]["name"] == NAME
    for method, path in (("GET", leases), ("GET", f"{leases}/other"), ("POST", leases), ("DELETE", f"{leases}/{NAME}")):
        body = {"metadata": {"name": "other"}} if method == "POST" else None
        with pytest.raises(ApiError, match="forbidden"):
            as_copy.request(method, path, body=body)

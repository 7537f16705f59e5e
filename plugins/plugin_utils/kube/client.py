"""The controller's client of the Kubernetes API. Objects stay plain mappings."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3

from ..errors import GroundupError
from .access import read
from .answers import lines, message
from .types import Discovery, Object, Resource, resource_path

PATIENCE = 120.0  # seconds that a request waits for an API that is away: a control host died, or etcd elects
ERROR_CHANNEL = 3  # of an exec: the command's exit status
_CONNECTIONS = 32
_PASSING = {0, 429, 503, 504}  # no answer; too many requests; an API server that starts or stops; etcd too slow
_PAUSE = 1.0  # seconds before a request is repeated
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class ApiError(GroundupError):
    """The API server returned an error, or did not answer.

    ``status``: the HTTP code, 0 without an answer. ``message``: the server's own text.
    """

    def __init__(self, message: str, *, where: str, status: int) -> None:
        self.status, self.message = status, message
        if status:
            why, remedy = f"the Kubernetes API answered {status}", "see what it says, and the API server's log"
        else:
            why, remedy = "nothing can be read or changed without it", "check the virtual IP and the control hosts"
        super().__init__(message, where=where, why=why, remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """Exit code and output of a command in a container."""

    code: int
    stdout: str
    stderr: str


class Api:
    """Client of the cluster in a kubeconfig. Safe to use from several threads. ``timeout``: seconds per request.

    ``patience``: seconds for which a request is repeated while the API, which answered before, does not: a control host
    has died, or etcd elects. Sent once: what could make a thing twice (POST), and a request with its own timeout.
    """

    def __init__(self, kubeconfig: Path, *, timeout: float = 30.0, patience: float = PATIENCE) -> None:
        """Read the kubeconfig, without a connection. Raises GroundupError."""
        self._path, self._timeout, self._patience = kubeconfig, timeout, patience
        self._answered = False
        access = read(kubeconfig)
        self.server = access.server.rstrip("/")
        try:
            self._tls = access.tls()
        except ssl.SSLError as error:
            raise GroundupError(
                f"the kubeconfig's certificate and key cannot be used: {error}",
                where=str(kubeconfig),
                why="the API server knows us by them",
                remedy="move it away and run the playbook groundup.cloud.kubernetes: a control host gives a new one",
            ) from error
        # Every watch holds a connection, and all releases send requests at once.
        self._http = urllib3.PoolManager(maxsize=_CONNECTIONS, ssl_context=self._tls)
        self._auth = {"Authorization": f"Bearer {access.token}"} if access.token else {}

    def get(self, path: str, **query: str) -> Object:
        """Return one object or list. Raises ApiError."""
        return self.request("GET", path, query=query)

    def find(self, path: str) -> Object | None:
        """Return one object, None when there is none. Raises ApiError for other errors."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: float | None = None,
    ) -> Object:
        """Send one request and return its JSON answer. Raises ApiError with the API server's own message."""
        limit = urllib3.Timeout(timeout) if timeout else None
        text = self._text(method, path, query=query, body=body, content_type=content_type, accept=accept, timeout=limit)
        return dict(json.loads(text)) if text else {}

    def text(self, path: str, **query: str) -> str:
        """Return a plain-text answer (container logs, /readyz). Raises ApiError."""
        return self._text("GET", path, query=query, accept="*/*")

    def apply(self, path: str, item: Mapping[str, Any], *, manager: str, dry_run: bool = False) -> Object:
        """Apply ``item`` server-side as ``manager``; return the stored, or predicted, object. Raises ApiError."""
        query = {"fieldManager": manager, "force": "true"} | ({"dryRun": "All"} if dry_run else {})
        return self.request("PATCH", path, query=query, body=item, content_type="application/apply-patch+yaml")

    def delete(self, path: str, *, body: Any = None, **query: str) -> None:
        """Delete an object unless it is gone already. Raises ApiError."""
        try:
            self.request("DELETE", path, query=query, body=body)
        except ApiError as error:
            if error.status != 404:
                raise

    def peer_certificate(self) -> dict[str, Any]:
        """Return the fields of the API server's certificate. Raises ApiError."""
        url = urlsplit(self.server)
        host, port = url.hostname or "", url.port or 443
        try:
            with (
                socket.create_connection((host, port), timeout=self._timeout) as plain,
                self._tls.wrap_socket(plain, server_hostname=host) as secured,
            ):
                return dict(secured.getpeercert() or {})
        except OSError as error:
            raise ApiError(f"the Kubernetes API does not answer: {error}", where=self.server, status=0) from error

    @contextmanager
    def watch(self, path: str, *, resource_version: str) -> Iterator[Iterator[Object]]:
        """Yield an iterator of watch events after ``resource_version``; it ends when the server closes the stream.

        The read timeout exceeds the interval of bookmarks (about a minute): only a dead connection reaches it.
        """
        query = {"watch": "1", "resourceVersion": resource_version, "allowWatchBookmarks": "true"}
        timeout = urllib3.Timeout(connect=10.0, read=90.0)
        response = self._send("GET", path, query=query, timeout=timeout, stream=True)
        try:
            if response.status >= 400:
                raise ApiError(str(response.reason), where=f"watch {path}", status=response.status)
            yield lines(response)
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(f"the stream broke: {error}", where=f"watch {path}", status=0) from error
        finally:
            response.close()

    def discover(self) -> Discovery:
        """Return the API resources that the cluster serves, in three requests."""
        resources: dict[tuple[str, str], Resource] = {}
        for path in ("/api", "/apis"):
            for group in self.request("GET", path, accept=_DISCOVERY).get("items") or ():
                name = (group.get("metadata") or {}).get("name") or ""
                for version in group.get("versions") or ():
                    group_version = f"{name}/{version['version']}" if name else str(version["version"])
                    for entry in version.get("resources") or ():
                        kind = str((entry.get("responseKind") or {}).get("kind", ""))
                        resources[group_version, kind] = (str(entry["resource"]), entry.get("scope") == "Namespaced")
        return Discovery(version=str(self.get("/version")["gitVersion"]), resources=resources)

    def logs(self, namespace: str, pod: str, container: str, *, lines: int = 30, previous: bool = False) -> str:
        """Return the last ``lines`` lines of a container's log, or of its ``previous`` run's. Raises ApiError."""
        path = f"{resource_path('v1', 'pods', namespace=namespace, name=pod)}/log"
        return self.text(path, container=container, tailLines=str(lines), previous=str(previous).lower())

    def execute(
        self, namespace: str, pod: str, argv: Sequence[str], *, container: str | None = None, timeout: float = 30.0
    ) -> Executed:
        """Run ``argv`` in a container, without a shell. Raises ApiError when it cannot be started or does not end."""
        from kubernetes import stream  # late, see streams

        with self.streams(pod, cannot=f"cannot run {argv[0]}", lost=f"lost {argv[0]} while it ran") as pods:
            running = stream.stream(
                pods.connect_get_namespaced_pod_exec, pod, namespace, command=list(argv), container=container,
                stdin=False, stdout=True, stderr=True, tty=False, _preload_content=False,
            )  # fmt: skip
            running.run_forever(timeout=timeout)
            if running.is_open():
                running.close()
                raise ApiError(f"{argv[0]} did not end within {timeout:.0f} s", where=f"pod {pod}", status=504)
            ended = json.loads(running.read_channel(ERROR_CHANNEL, timeout=0) or "null")
            if ended is None:
                raise ApiError(f"lost {argv[0]} while it ran: the stream broke off", where=f"pod {pod}", status=0)
            return Executed(
                code=exit_code(ended, program=argv[0], pod=pod),
                stdout=str(running.read_stdout(timeout=0)),
                stderr=str(running.read_stderr(timeout=0)),
            )

    @contextmanager
    def connect(self, namespace: str, pod: str, port: int) -> Iterator[socket.socket]:
        """Yield a TCP connection to ``port`` of a pod, through the API server. Raises ApiError."""
        from kubernetes import stream  # late, see streams

        cannot = f"cannot reach port {port}"
        with self.streams(pod, cannot=cannot, lost=cannot) as pods:
            forward = stream.portforward(pods.connect_get_namespaced_pod_portforward, pod, namespace, ports=str(port))
        connection = forward.socket(port)
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def streams(self, pod: str, *, cannot: str, lost: str) -> Iterator[Any]:
        """Yield the kubernetes library's API of pods, its errors turned into ApiError.

        Imported only for streams into pods: it costs more CPU than all other requests of a run that changes nothing.
        """
        from kubernetes import client, config
        from kubernetes.stream import ws_client
        from websocket import WebSocketException

        from .opening import BoundedWebSocket

        ws_client.WebSocket = BoundedWebSocket  # the library waits without end for the answer to its request
        try:
            # A separate client: while a stream is open, the library replaces how its client sends requests.
            yield client.CoreV1Api(config.new_client_from_config(config_file=str(self._path)))
        except client.exceptions.ApiException as error:
            # Of a refused stream the library keeps no status.
            status = int(error.status or getattr(error.__context__, "status_code", 0))
            raise ApiError(f"{cannot}: {error.reason}", where=f"pod {pod}", status=status) from error
        except (WebSocketException, OSError) as error:
            raise ApiError(f"{lost}: {error}", where=f"pod {pod}", status=0) from error

    def _text(self, method: str, path: str, *, timeout: urllib3.Timeout | None = None, **options: Any) -> str:
        end = time.monotonic() + (0.0 if timeout or method == "POST" else self._patience)
        while True:
            try:
                text = self._once(method, path, timeout=timeout, **options)
            except ApiError as error:
                passing = error.status in _PASSING or (error.status == 500 and "etcdserver" in error.message)
                if not (passing and self._answered and time.monotonic() < end):
                    raise
                time.sleep(_PAUSE)
            else:
                self._answered = True
                return text

    def _once(self, method: str, path: str, **options: Any) -> str:
        response = self._send(method, path, **options)
        text = response.data.decode(errors="replace")
        if response.status >= 400:
            raise ApiError(message(text) or str(response.reason), where=f"{method} {path}", status=response.status)
        return text

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: urllib3.Timeout | None = None,
        stream: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        url = f"{self.server}{path}" + (f"?{urlencode(query)}" if query else "")
        # A stopping server closes its connections: retry once, except a POST, which could create a thing twice.
        for again in (method != "POST", False):
            try:
                return self._http.request(
                    method, url, headers={"Accept": accept, "Content-Type": content_type, **self._auth}, retries=False,
                    timeout=timeout or urllib3.Timeout(self._timeout), preload_content=not stream,
                    body=json.dumps(body).encode() if body is not None else None,
                )  # fmt: skip
            except urllib3.exceptions.HTTPError as error:
                if not (again and isinstance(error, urllib3.exceptions.ProtocolError)):
                    what = f"the Kubernetes API does not answer: {error}"
                    raise ApiError(what, where=url, status=0) from error
        raise AssertionError("unreachable")


def exit_code(ended: Mapping[str, Any], *, program: str, pod: str) -> int:
    """Read the Status that ends an exec. Raises ApiError when the program could not be started.

    The library's ``returncode`` is not used: it parses the first cause as a number, whatever it is.
    """
    if ended.get("status") == "Success":
        return 0
    for cause in (ended.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    status = int(ended.get("code") or 500)
    raise ApiError(f"cannot run {program}: {ended.get('message')}", where=f"pod {pod}", status=status)

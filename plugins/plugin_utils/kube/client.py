"""The one place that speaks to the Kubernetes API. Objects stay plain mappings; nothing is polled."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from kubernetes import client, config, stream
from kubernetes.stream.ws_client import ERROR_CHANNEL
from websocket import WebSocketException

from ..rollout.types import Object, RolloutError

FIELD_MANAGER = "helm"  # the name under which helm applies objects; a dry run under it predicts what helm will do
_CONNECTIONS = 32
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class ApiError(RolloutError):
    """The API server said no, or did not answer.

    ``status``: its HTTP code, 0 when there was no answer. ``message``: its own words.
    """

    def __init__(self, message: str, *, where: str, status: int) -> None:
        """Keep the code and the words."""
        self.status, self.message = status, message
        if status:
            why, remedy = f"the Kubernetes API answered {status}", "see what it says, and the API server's log"
        else:
            why, remedy = "nothing can be read or changed without it", "check the virtual IP and the control hosts"
        super().__init__(message, where=where, why=why, remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """How a kind is addressed."""

    group_version: str  # "apps/v1", "v1"
    kind: str
    plural: str
    namespaced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What the cluster serves."""

    version: str  # "v1.36.3"
    resources: dict[tuple[str, str], Resource]  # by (group/version, kind)

    def api_versions(self) -> tuple[str, ...]:
        """Return the API versions as charts ask for them: ``apps/v1`` and ``apps/v1/Deployment``."""
        names = {key[0] for key in self.resources} | {f"{group}/{kind}" for group, kind in self.resources}
        return tuple(sorted(names))

    def path(self, item: Object, *, namespace: str) -> str | None:
        """Return the URL path of ``item``; None when its kind is not (yet) served, as before its CRD is made."""
        resource = self.resources.get((str(item.get("apiVersion")), str(item.get("kind"))))
        if resource is None:
            return None
        meta = item.get("metadata") or {}
        scope = str(meta.get("namespace") or namespace) if resource.namespaced else None
        return resource_path(resource.group_version, resource.plural, namespace=scope, name=str(meta.get("name", "")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """What a command in a container answered."""

    code: int
    stdout: str
    stderr: str


def resource_path(group_version: str, plural: str, *, namespace: str | None = None, name: str = "") -> str:
    """Return the path of a collection or, with ``name``, of one object."""
    base = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    scope = f"/namespaces/{quote(namespace)}" if namespace else ""
    return f"{base}{scope}/{plural}" + (f"/{quote(name, safe='')}" if name else "")


class Api:
    """A cluster, by its kubeconfig. Safe to use from several threads."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        try:
            self._client = config.new_client_from_config(config_file=str(kubeconfig))
        except (config.ConfigException, OSError) as error:
            raise RolloutError(
                f"no usable kubeconfig: {error}",
                where=str(kubeconfig),
                why="it says where the cluster is and who we are",
                remedy="run the kubernetes layer first, it writes it",
            ) from error
        # Streams of the watch hold a connection each, and every release asks for itself.
        self._client.rest_client.pool_manager.connection_pool_kw["maxsize"] = _CONNECTIONS
        self._http: urllib3.PoolManager = self._client.rest_client.pool_manager
        self._host: str = self._client.configuration.host.rstrip("/")
        settings = self._client.configuration.auth_settings().values()
        self._auth = {item["key"]: item["value"] for item in settings if item.get("in") == "header" and item["value"]}

    def get(self, path: str, **query: str) -> Object:
        """Return one object or list. Raises ApiError."""
        return self.request("GET", path, query=query)

    def find(self, path: str) -> Object | None:
        """Return one object, None when there is none. Raises ApiError for everything else."""
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
        timeout: float = 30.0,
    ) -> Object:
        """Send one request and return its JSON answer. Raises ApiError with the API server's own message."""
        response = self._send(method, path, query=query, body=body, content_type=content_type, accept=accept,
                              timeout=urllib3.Timeout(timeout), stream=False)  # fmt: skip
        data = response.data
        try:
            answer: Any = json.loads(data) if data else {}
        except ValueError:
            answer = {"message": data.decode(errors="replace")}
        if response.status >= 400:
            message = answer.get("message") if isinstance(answer, dict) else str(answer)
            raise ApiError(str(message or response.reason), where=f"{method} {path}", status=response.status)
        return dict(answer)

    def text(self, path: str, **query: str) -> str:
        """Return a plain-text answer (container logs). Raises ApiError."""
        response = self._send("GET", path, query=query, body=None, content_type="application/json", accept="*/*",
                              timeout=urllib3.Timeout(30.0), stream=False)  # fmt: skip
        text = response.data.decode(errors="replace")
        if response.status >= 400:
            raise ApiError(text.strip(), where=f"GET {path}", status=response.status)
        return text

    def dry_run(self, path: str, item: Object) -> Object:
        """Return what ``item`` would become if helm applied it now; nothing is stored. Raises ApiError."""
        return self.request(
            "PATCH", path,
            query={"dryRun": "All", "fieldManager": FIELD_MANAGER, "force": "true"},
            body=item, content_type="application/apply-patch+yaml",
        )  # fmt: skip

    @contextmanager
    def watch(self, path: str, *, resource_version: str) -> Iterator[Iterator[Object]]:
        """Yield an iterator of watch events after ``resource_version``; it ends when the server closes the stream.

        The read timeout outlives the interval of bookmarks (about a minute): only a dead connection runs into it.
        """
        query = {"watch": "1", "resourceVersion": resource_version, "allowWatchBookmarks": "true"}
        response = self._send("GET", path, query=query, body=None, content_type="application/json",
                              accept="application/json", timeout=urllib3.Timeout(connect=10.0, read=90.0),
                              stream=True)  # fmt: skip
        try:
            if response.status >= 400:
                raise ApiError(str(response.reason), where=f"watch {path}", status=response.status)
            yield _lines(response)
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(f"the stream broke: {error}", where=f"watch {path}", status=0) from error
        finally:
            response.close()

    def discover(self) -> Discovery:
        """Return what the cluster serves, in three requests."""
        resources: dict[tuple[str, str], Resource] = {}
        for path in ("/api", "/apis"):
            for group in self.request("GET", path, accept=_DISCOVERY).get("items") or ():
                name = (group.get("metadata") or {}).get("name") or ""
                for version in group.get("versions") or ():
                    group_version = f"{name}/{version['version']}" if name else str(version["version"])
                    for entry in version.get("resources") or ():
                        kind = str((entry.get("responseKind") or {}).get("kind", ""))
                        resources[(group_version, kind)] = Resource(
                            group_version=group_version,
                            kind=kind,
                            plural=str(entry["resource"]),
                            namespaced=entry.get("scope") == "Namespaced",
                        )
        return Discovery(version=str(self.get("/version")["gitVersion"]), resources=resources)

    def logs(self, namespace: str, pod: str, container: str, *, lines: int = 30, previous: bool = False) -> str:
        """Return the last ``lines`` lines of a container, of its previous run when asked. Raises ApiError."""
        path = f"{resource_path('v1', 'pods', namespace=namespace, name=pod)}/log"
        return self.text(path, container=container, tailLines=str(lines), previous=str(previous).lower())

    def execute(
        self, namespace: str, pod: str, argv: Sequence[str], *, container: str | None = None, timeout: float = 30.0
    ) -> Executed:
        """Run ``argv`` in a container, without a shell. Raises ApiError when it cannot be started or does not end."""
        # A client of its own: while a stream is open, the library replaces the client's way to send requests.
        own = config.new_client_from_config(config_file=str(self._kubeconfig))
        try:
            socket_client = stream.stream(
                client.CoreV1Api(own).connect_get_namespaced_pod_exec,
                pod, namespace, command=list(argv), container=container,
                stdin=False, stdout=True, stderr=True, tty=False, _preload_content=False,
            )  # fmt: skip
            socket_client.run_forever(timeout=timeout)
            if socket_client.is_open():
                socket_client.close()
                raise ApiError(f"{argv[0]} did not end within {timeout:.0f} s", where=f"pod {pod}", status=504)
            ended = json.loads(socket_client.read_channel(ERROR_CHANNEL, timeout=0) or "null")
            if ended is None:
                raise ApiError(f"lost {argv[0]} while it ran: the stream broke off", where=f"pod {pod}", status=0)
            return Executed(
                code=_exit_code(ended, program=argv[0], pod=pod),
                stdout=str(socket_client.read_stdout(timeout=0)),
                stderr=str(socket_client.read_stderr(timeout=0)),
            )
        except client.exceptions.ApiException as error:
            status = int(error.status or 500)
            raise ApiError(f"cannot run {argv[0]}: {error.reason}", where=f"pod {pod}", status=status) from error
        except (WebSocketException, OSError) as error:
            raise ApiError(f"lost {argv[0]} while it ran: {error}", where=f"pod {pod}", status=0) from error

    @contextmanager
    def connect(self, namespace: str, pod: str, port: int) -> Iterator[socket.socket]:
        """Yield a TCP connection to ``port`` of a pod, through the API server. Raises ApiError."""
        own = config.new_client_from_config(config_file=str(self._kubeconfig))
        try:
            forward = stream.portforward(
                client.CoreV1Api(own).connect_get_namespaced_pod_portforward, pod, namespace, ports=str(port)
            )
        except client.exceptions.ApiException as error:
            status = int(error.status or 500)
            raise ApiError(f"cannot reach port {port}: {error.reason}", where=f"pod {pod}", status=status) from error
        except (WebSocketException, OSError) as error:
            raise ApiError(f"cannot reach port {port}: {error}", where=f"pod {pod}", status=0) from error
        connection = forward.socket(port)
        try:
            yield connection
        finally:
            connection.close()

    def _send(
        self, method: str, path: str, *, query: Mapping[str, str] | None, body: Any, content_type: str, accept: str,
        timeout: urllib3.Timeout, stream: bool,
    ) -> urllib3.BaseHTTPResponse:  # fmt: skip
        url = f"{self._host}{path}" + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": accept, "Content-Type": content_type, **self._auth}
        try:
            return self._http.request(
                method, url, headers=headers, timeout=timeout, preload_content=not stream, retries=False,
                body=json.dumps(body).encode() if body is not None else None,
            )  # fmt: skip
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(f"the Kubernetes API does not answer: {error}", where=url, status=0) from error


def _exit_code(ended: Mapping[str, Any], *, program: str, pod: str) -> int:
    """Read the Status that ends an exec. Raises ApiError when the program could not be started.

    Not by the library's ``returncode``: it takes the first cause for a number, whatever it is.
    """
    if ended.get("status") == "Success":
        return 0
    for cause in (ended.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    status = int(ended.get("code") or 500)
    raise ApiError(f"cannot run {program}: {ended.get('message')}", where=f"pod {pod}", status=status)


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[Object]:
    rest = b""
    for chunk in response.stream(amt=None):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield dict(json.loads(line))

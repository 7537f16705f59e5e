"""Access to the host: its commands, lock, API server and kubelet. Unit tests fake it."""

from __future__ import annotations

import http
import http.client
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from .._base.errors import GroundupError
from .._base.files import read
from .._base.locks import locked
from .._base.run import run
from .api import NodeApi, speaks
from .kubeconfig import connect
from .spec import Paths

Used = TypeVar("Used")

LOCK = "/run/lock/groundup-kubeadm.lock"
LOCK_WAIT = 600.0  # seconds: longer than any init or join takes
PHASE_TIMEOUT = 180.0
SPEAKS_TIMEOUT = 5.0
# Pass no proxy variables: kubeadm would write them into the static pods.
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}


class NodeHost:
    """The host this runs on."""

    def __init__(self, *, name: str, paths: Paths | None = None) -> None:
        """Set the host's ``name``, for errors; ``paths``: other paths, for tests only."""
        self.name = name
        self.paths = paths or Paths()
        self._inherits: tuple[int, ...] = ()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the host's lock. Raises GroundupError after ten minutes.

        Programs that a run starts inherit the lock. So when a controller is killed during an init, the next run waits
        for that init instead of resetting it.
        """
        path = self.paths.at(LOCK)
        with ExitStack() as stack:
            try:
                self._inherits = (stack.enter_context(locked(path, timeout=LOCK_WAIT)),)
            except TimeoutError:
                raise GroundupError(
                    f"another run has been at work on {self.name} for {LOCK_WAIT:.0f} s",
                    where=f"host {self.name}, {path}",
                    why="two kubeadm at once would leave a node neither of them knows",
                    remedy=f"see lslocks on the host for what holds {path}; end it, then run this again",
                ) from None
            try:
                yield
            finally:
                self._inherits = ()

    def run(self, argv: Sequence[str], *, timeout: float, why: str) -> str:
        """Run a command without a shell and return its output. Raises GroundupError with its last lines."""
        remedy = "see journalctl -u kubelet -u containerd on the host; a re-run starts from what is there"
        return run(argv, why=why, remedy=remedy, timeout=timeout, environment=ENVIRONMENT, inherits=self._inherits)

    def phase(self, *arguments: str, why: str) -> None:
        """Run one phase of ``kubeadm init`` with the site's configuration. Raises GroundupError."""
        command = ["kubeadm", "init", "phase", *arguments, "--config", str(self.paths.init_file)]
        self.run(command, timeout=PHASE_TIMEOUT, why=why)

    def api(self, server: str) -> NodeApi:
        """Return a connection to the API at ``server`` with the admin kubeconfig. Raises GroundupError."""
        return self.admin(lambda text: connect(text, server=server))

    def admin(self, use: Callable[[str], Used]) -> Used:
        """Call ``use`` with the host's admin kubeconfig; return its result. Raises GroundupError when it is damaged."""
        path = self.paths.kubernetes / "admin.conf"
        try:
            return use(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise GroundupError(
                f"the admin kubeconfig of {self.name} cannot be used: {error}",
                where=f"host {self.name}, {path}",
                why="the cluster is asked with it",
                remedy="remove it and run this again: it is made anew from the cluster's CA",
            ) from error

    def speaks(self, server: str) -> bool:
        """Return whether an API of this host's cluster is at ``server`` (https URL): it answers, or hangs."""
        return speaks(server, authority=read(self.paths.pki / "ca.crt") or "", timeout=SPEAKS_TIMEOUT)

    def healthy(self, port: int) -> bool:
        """Return whether /healthz at ``port`` of the loopback address answers 200."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

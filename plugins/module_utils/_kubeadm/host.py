"""The edge to the host: files, downloads, commands, services. The only part of the module a unit test has to fake."""

from __future__ import annotations

import fcntl
import hashlib
import http
import http.client
import io
import os
import re
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .._base.files import write_file
from .errors import NodeError
from .spec import Download

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BLOCK = 1 << 20  # bytes
DIGEST = re.compile(r"[0-9a-f]{64}\b")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LOCK_WAIT = 600.0  # seconds: longer than any init or join takes


class Host:
    """Files and commands of the host this runs on."""

    def __init__(self, *, name: str) -> None:
        """Remember the host's ``name`` for errors."""
        self.name = name
        self._lock: int | None = None

    @contextmanager
    def alone(self, path: Path) -> Iterator[None]:
        """Hold the host's lock.

        A run whose controller was killed may still be at work here. Its children inherit the lock, so that the next run
        waits for an init that is under way instead of resetting it. Raises NodeError after ten minutes.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + LOCK_WAIT
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise NodeError(
                            f"another run has been at work on {self.name} for {LOCK_WAIT:.0f} s",
                            where=f"host {self.name}, {path}",
                            why="two kubeadm at once would leave a node neither of them knows",
                            remedy=f"see lslocks on the host for what holds {path}; end it, then run this again",
                        ) from None
                    time.sleep(0.3)
            self._lock = handle
            yield
        finally:
            self._lock = None
            os.close(handle)

    def run(self, argv: Sequence[str], *, timeout: float, why: str) -> str:
        """Run a command without a shell and return its output. Raises NodeError with its last lines."""
        command = " ".join(argv[:4])
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
                env={"PATH": PATH, "HOME": "/root", "LC_ALL": "C.UTF-8"},
                pass_fds=() if self._lock is None else (self._lock,),
            )
        except FileNotFoundError as error:
            raise NodeError(
                f"{argv[0]} is not on {self.name}",
                where=f"host {self.name}",
                why=why,
                remedy="converge the host layer first, or add the package to it",
            ) from error
        except subprocess.TimeoutExpired as error:
            raise NodeError(
                f"{command} did not end in {timeout:.0f} s",
                where=f"host {self.name}",
                why=why,
                remedy="see journalctl -u kubelet -u containerd on the host; a re-run starts from what is there",
            ) from error
        if done.returncode:
            # kubeadm says what is wrong last, on standard error.
            lines = [line for line in COLOUR.sub("", done.stdout + done.stderr).splitlines() if line.strip()]
            raise NodeError(
                f"{command} failed with exit code {done.returncode}: " + "\n    ".join(lines[-8:]),
                where=f"host {self.name}",
                why=why,
                remedy="see journalctl -u kubelet -u containerd on the host; a re-run starts from what is there",
            )
        return done.stdout

    def write(self, path: Path, data: bytes, mode: int, *, before: Callable[[], None] | None = None) -> None:
        """Replace a file whole, with ``mode``, its directories with it; ``before`` is called just before that."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, data, mode=mode, before=before)

    def chmod(self, path: Path, mode: int) -> None:
        """Give a file another ``mode`` and leave the rest of it as it is."""
        path.chmod(mode)

    def sha256(self, path: Path) -> str | None:
        """Return a file's SHA-256, or None when there is none."""
        try:
            with path.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def published_digest(self, url: str) -> str:
        """Return the SHA-256 the file server publishes beside ``url``. Raises NodeError."""
        beside = f"{url}.sha256"
        try:
            with urllib.request.urlopen(beside, timeout=60) as response:  # noqa: S310
                text = response.read(4096).decode("ascii", errors="replace")
        except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
            raise self._unreachable(beside, error) from error
        if not (found := DIGEST.match(text)):
            raise NodeError(
                f"{beside} does not begin with a SHA-256",
                where=f"host {self.name}",
                why="a program is installed only when its digest is known",
                remedy="publish the artifacts again (playbooks groundup.cloud.supply and groundup.cloud.seed)",
            )
        return found.group()

    def _unreachable(self, url: str, error: Exception) -> NodeError:
        return NodeError(
            f"cannot fetch {url}: {error}",
            where=f"host {self.name}",
            why="the node's programs come from the site's file server and from nowhere else",
            remedy="verify the seed layer (playbook groundup.cloud.seed, tag verify), then run this again",
        )

    def fetch(self, download: Download, path: Path, *, sha256: str, before: Callable[[], None] | None = None) -> None:
        """Download a file to ``path``, or unpack an archive into it, mode 0755.

        ``before`` is called just before the file is replaced.

        Raises:
            NodeError: the file server does not give it, or gives something with another digest.
            OSError: it cannot be written here.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        # The host is this run's alone: what a killed one left of the same file is written over.
        temporary = path.with_name(f".{path.name}.part")
        try:
            with temporary.open("w+b") as stream:
                for block in self._blocks(download.url):
                    digest.update(block)
                    stream.write(block)
                self._check_digest(download, found=digest.hexdigest(), expected=sha256)
                if download.archive:
                    stream.seek(0)
                    self._unpack(stream, path)
                    return
            temporary.chmod(0o755)
            if before:
                before()
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def _blocks(self, url: str) -> Iterator[bytes]:
        """Yield what ``url`` holds, piece by piece. Raises NodeError; faults of who takes the pieces are theirs."""
        try:
            # The address comes from the plan: the site's own file server.
            with urllib.request.urlopen(url, timeout=60) as response:  # noqa: S310
                while block := response.read(BLOCK):
                    yield block
        except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
            raise self._unreachable(url, error) from error

    def _check_digest(self, download: Download, *, found: str, expected: str) -> None:
        if found != expected:
            raise NodeError(
                f"{download.url} has SHA-256 {found}, expected {expected}",
                where=f"host {self.name}, {download.path}",
                why="a program that is not the one that was published is never installed",
                remedy="find out who changed it; remove its directory on the seed; run groundup.cloud.seed again",
            )

    def _unpack(self, stream: io.BufferedRandom | io.IOBase, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=stream, mode="r:*") as archive:
            for member in archive.getmembers():
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    self.write(directory / Path(member.name).name, content.read(), 0o755)

    def link(self, path: Path, target: str) -> None:
        """Make ``path`` a symbolic link to ``target``, in place of a broken one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    def rename(self, path: Path, target: Path) -> None:
        """Move a directory aside, in place of an earlier one."""
        if target.exists():
            self.remove(target)
        path.rename(target)

    def remove(self, path: Path) -> None:
        """Remove a file or a directory with all in it; nothing to do when it is gone."""
        if path.is_dir() and not path.is_symlink():
            for child in path.iterdir():
                self.remove(child)
            path.rmdir()
        else:
            path.unlink(missing_ok=True)

    def active(self, unit: str) -> bool:
        """Say whether a systemd unit is running."""
        done = subprocess.run(["systemctl", "is-active", "--quiet", unit], check=False, env={"PATH": PATH})
        return done.returncode == 0

    def enabled(self, unit: str) -> bool:
        """Say whether a systemd unit starts at boot."""
        done = subprocess.run(["systemctl", "is-enabled", "--quiet", unit], check=False, env={"PATH": PATH})
        return done.returncode == 0

    def well(self, port: int) -> bool:
        """Say whether the service with its health at ``port`` of the host's own address says that it is well."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def systemctl(self, *arguments: str) -> None:
        """Run systemctl. Raises NodeError."""
        self.run(["systemctl", *arguments], timeout=120, why="the node's programs run as services of the host")

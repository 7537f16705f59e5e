"""The programs of Tempest's environment: list tests, run them, clean up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from ..errors import GroundupError
from ..process import bypassing

CONF, LOG, SUBUNIT, PROBLEMS = "tempest.conf", "tempest.log", "tempest.subunit", "tempest.err"
_STREAM = Path(__file__).with_name("stream.py")
_GRACE = 10.0  # seconds between SIGTERM and SIGKILL
_LIST = 600.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Tempest of ``home`` in ``directory``, which has its configuration."""

    home: Path
    directory: Path
    enter: Sequence[str] = ()  # command that runs the rest of its arguments where the cloud's names resolve
    places: Sequence[str] = ()  # addresses and names that no proxy leads to
    ca: Path | None = None  # CAs of the cloud; None: what this machine trusts
    timeout: int = 1200  # seconds of one test

    def tests(self) -> list[str]:
        """Return the names of all tests. Raises GroundupError when one cannot be loaded."""
        if not (self.directory / ".stestr").is_dir():
            self.told(["stestr", "init"])
        listed = self.told(["tempest", "run", *self._conf(), "--list-tests"])
        found = [line for line in listed.splitlines() if line and " " not in line and "." in line]
        if not found or "import errors" in listed:
            raise self._failed("tempest run --list-tests", listed)
        return sorted(found)

    def run(self, tests: Sequence[str], *, workers: int, ended: Callable[[Mapping[str, Any]], None]) -> int:
        """Run ``tests``; call ``ended`` with each line of `stream.py`. Return the exit code of Tempest.

        Its stream is kept as it is. No process of it outlives the call.
        """
        chosen = self.directory / "tests.txt"
        chosen.write_text("".join(f"{one}\n" for one in tests), encoding="utf-8")
        run = ["tempest", "run", *self._conf(), "--load-list", str(chosen), "--concurrency", str(workers), "--subunit"]
        read = [str(self.home / "bin/python"), str(_STREAM), str(self.directory / SUBUNIT)]
        with (
            (self.directory / PROBLEMS).open("wb") as problems,
            self._started(self._argv(run), stdout=subprocess.PIPE, stderr=problems) as tempest,
            self._started(read, stdin=tempest.stdout, stdout=subprocess.PIPE, stderr=problems) as reader,
        ):
            cast(IO[bytes], tempest.stdout).close()  # the reader's alone: it sees the end
            for line in cast(IO[bytes], reader.stdout):
                ended(json.loads(line))
            if reader.wait():
                raise self._failed("the reader of results", (self.directory / PROBLEMS).read_text(errors="replace"))
            return tempest.wait()

    def cleanup(self, prefix: str) -> str:
        """Delete everything in the cloud whose name begins with ``prefix``; return what it says when that fails."""
        done = subprocess.run(
            self._argv(["tempest", "cleanup", *self._conf(), "--prefix", prefix]), check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.directory, env=self._environment(),
        )  # fmt: skip
        return done.stdout if done.returncode else ""

    def _conf(self) -> list[str]:
        return ["--config-file", str(self.directory / CONF)]

    def _argv(self, command: Sequence[str]) -> list[str]:
        return [*self.enter, str(self.home / "bin" / command[0]), *command[1:]]

    def told(self, command: Sequence[str], *, timeout: float = _LIST) -> str:
        """Return what a program prints. Raises GroundupError when it fails."""
        with self._started(self._argv(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            out, problems = (part.decode(errors="replace") for part in process.communicate(timeout=timeout))
        if process.returncode:
            raise self._failed(" ".join(command), out + problems)
        return out

    def _environment(self) -> dict[str, str]:
        """Return this process's environment, without another cloud's account and without a proxy to this cloud."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("OS_", "PYTHON", "TEMPEST"))}
        # For tests with a client of their own, which do not read tempest.conf.
        trust = dict.fromkeys(("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), str(self.ca)) if self.ca else {}
        return {**bypassing(own, self.places), **trust, "OS_TEST_TIMEOUT": str(self.timeout), "LC_ALL": "C.UTF-8"}

    @contextmanager
    def _started(
        self,
        argv: Sequence[str],
        *,
        stdin: IO[bytes] | int | None = subprocess.DEVNULL,
        stdout: int,
        stderr: IO[bytes] | int,
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start a program in a process group of its own, which ends with the block and with this process."""
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "--", *argv], stdin=stdin, stdout=stdout, stderr=stderr,
            cwd=self.directory, env=self._environment(), start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE)

    def _failed(self, what: str, said: str) -> GroundupError:
        lines = [line for line in said.splitlines() if line.strip()]
        return GroundupError(
            "\n    ".join([f"{what} failed", *lines[-8:]]),
            where=str(self.directory),
            why="without it nothing is known of the cloud",
            remedy=f"read {LOG} and {PROBLEMS} there; ci/supply build --rebuild tempest makes the environment anew",
        )

"""Looks for secrets where none may be: in output, in process lists, in files that others can read.

Reusable: give `Leaks` the secrets by name, show it texts and places, ask it what it saw. It tells names, not values.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.vault.redact import forms

LARGEST = 16 * 2**20  # bytes; what is larger is a binary or an image layer of the supply, which knows no secret
# What an unprivileged user of a host is let look through; /proc is sampled, /sys and /dev hold no files of ours.
PLACES = ("/etc", "/home", "/opt", "/root", "/run", "/srv", "/tmp", "/usr/local", "/var")  # noqa: S108  # looked at only


class Leaks:
    """Secrets by name, and where they were seen."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """Prepare every form of every secret."""
        self._forms = {name: tuple(form.encode() for form in sorted(forms(value))) for name, value in secrets.items()}
        self.seen: set[tuple[str, str]] = set()  # (place, name)

    def look(self, place: str, data: bytes | str) -> None:
        """Look through ``data``, which ``place`` names in the report."""
        raw = data.encode(errors="surrogateescape") if isinstance(data, str) else data
        for name, wanted in self._forms.items():
            if any(form in raw for form in wanted):
                self.seen.add((place, name))

    def look_through(self, directory: Path, *, but: Iterable[str] = ()) -> int:
        """Look through every file below ``directory``, whatever its mode, but paths ``but``; return how many."""
        left_out = {directory / name for name in but}
        count = 0
        for path in _files(directory, left_out):
            if path.stat().st_size <= LARGEST:
                self.look(str(path), path.read_bytes())
                count += 1
        return count

    def look_on_host(self, ssh: Sequence[str], host: str) -> None:
        """Look through what user nobody can read on ``host``, which command ``ssh`` reaches as one who may be root.

        The forms go by standard input: a search must not put what it looks for into a process list. The host's grep
        finds the files, and only their content comes back.
        """
        patterns = b"\n".join(sorted({form for wanted in self._forms.values() for form in wanted if b"\n" not in form}))
        search = ["sudo", "-n", "-u", "nobody", "grep", "-rlsaF", "-D", "skip", "-f", "-", *PLACES]
        found = subprocess.run([*ssh, *search], input=patterns + b"\n", capture_output=True, check=False, timeout=300)
        if found.returncode not in (0, 1, 2) or found.stderr:  # 2: some file could not be read, which is the point
            raise RuntimeError(f"the search on {host} failed: {found.stderr.decode(errors='replace')}")
        for path in found.stdout.decode(errors="surrogateescape").splitlines():
            show = ["sudo", "-n", "-u", "nobody", "cat", f"'{path}'"]
            content = subprocess.run([*ssh, *show], capture_output=True, check=True, timeout=60).stdout
            self.look(f"{host}:{path}", content)

    def look_at_commands(self, lines: Iterable[bytes]) -> None:
        """Look through command lines, as `command_lines` collects them."""
        for line in lines:
            self.look(f"process {line.split(bytes(1))[0].decode(errors='replace')}", line)


@contextmanager
def command_lines(*, every: float = 0.05) -> Iterator[set[bytes]]:
    """Collect the command line of every process on this machine, its containers' too, while the block runs.

    ``every`` is in seconds. They are looked through afterwards, when the secrets of a first run exist.
    """
    stop = threading.Event()
    seen: set[bytes] = set()

    def watch() -> None:
        while not stop.is_set():
            started = time.monotonic()
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    seen.add(path.read_bytes())
                except OSError:
                    continue  # it has ended
            stop.wait(max(0.0, every - (time.monotonic() - started)))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def _files(directory: Path, left_out: set[Path]) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        if path in left_out or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path, left_out)
        elif path.is_file():
            yield path

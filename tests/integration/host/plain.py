"""A plain Debian without a network, and beside it the repository of a seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import openpgp
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.chroot import Chroot

# What a module of ours does on the host, with the code it does it by.
PROGRAM = """
import json, sys
sys.path.insert(0, "/opt/ours")
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import apt, packages, sources
given = json.load(open("/opt/given.json"))
exec(given["before"])
changes = Changes(check=False)
sources.packages_from(changes, sources.SeedRepository(**given["seed"]))
try:
    packages.installed(changes, given["packages"])
    told = {"lacking": packages.lacking(given["packages"])}
except Exception as error:
    told = {"error": str(error)}
told["unfinished"] = apt.unfinished()
json.dump({**told, "done": changes.done}, open("/opt/told.json", "w"))
"""
# A mirror on loopback that serves the files whose names have `of` by `how`, and all others whole.
MIRROR = """
import fcntl, http.server, socket, struct, threading
class Mirror(http.server.SimpleHTTPRequestHandler):
    def copyfile(self, source, output):
        if {of!r} not in self.path:
            return super().copyfile(source, output)
        self.close_connection = True
        if {how!r} == "half":
            output.write((content := source.read())[:len(content) // 2])
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
    def log_message(self, *_):
        pass
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lo:
    fcntl.ioctl(lo, 0x8914, struct.pack("16sh", b"lo", 1))  # up
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), lambda *a: Mirror(*a, directory="/srv/groundup"))
threading.Thread(target=server.serve_forever, daemon=True).start()
"""


@dataclass(frozen=True)
class Host:
    """A plain Debian, and beside it the repository as its seed has it."""

    release: str
    root: Chroot
    log: Path

    @property
    def tree(self) -> Path:
        """The repository."""
        return self.root.upper / f"srv/groundup/packages-{self.release}/{self.release}"

    def install(self, *names: str, url: str = "file:/srv/groundup", before: str = "") -> dict[str, Any]:
        """Have the host install ``names`` from ``url``, after it ran ``before``; return what it told."""
        key = (self.log.parent / openpgp.FILE).read_text()
        place = f"packages-{self.release}/{self.release}"
        seed = {"url": url, "places": {self.release: place}, "key": key}
        program = (self.root.upper / "opt/program.py").read_text()
        return self.told(program, {"seed": seed, "packages": names, "before": before})

    def told(self, program: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Run a Python program on the host with what it is ``given``; return what it told, each by a file in /opt."""
        serves = MIRROR.format(of="none", how="half")
        (self.root.upper / "opt/told.py").write_text(program)
        (self.root.upper / "opt/given.json").write_text(json.dumps({"before": serves, **given}))
        self.run("python3", "/opt/told.py")
        told: dict[str, Any] = json.loads((self.root.upper / "opt/told.json").read_text())
        return told

    def run(self, *argv: str) -> str:
        """Run a program on the host, without a network; return what the log has of it."""
        before = self.log.stat().st_size if self.log.exists() else 0
        self.root.run(argv, network=False)
        return self.log.read_text()[before:]

"""An emulated machine as tests and the lab handle it: its settings, its controller's process, its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.tests.environments import environment

FIRMWARE = {"firmware": "/usr/share/OVMF/OVMF_CODE_4M.fd", "firmware_variables": "/usr/share/OVMF/OVMF_VARS_4M.fd"}
USER = "admin"
_HASH = "import bcrypt, sys; print(bcrypt.hashpw(sys.stdin.buffer.read(), bcrypt.gensalt(4)).decode())"


@dataclass(frozen=True, kw_only=True)
class RackMachine:
    """One machine: what it is, where it keeps its disk."""

    home: Path
    name: str
    uuid: str
    mac: str
    address: str  # of its controller
    password: str
    network: tuple[str, ...]  # QEMU's `-netdev` with the id "lan"
    port: int = 443
    memory: str = "2560M"
    cores: int = 2
    disk: str = "12G"
    decoy: bool = False  # whether it has a smaller disk, too, that Ironic would choose by itself
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def console(self) -> Path:
        """What it says on its serial port."""
        return self.home / "console.log"

    def start(self, *, inside: Sequence[str] = ()) -> None:
        """Start its controller, the machine stays off; ``inside``: the command that enters its network."""
        if self.pid:
            return
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        python = environment("rack") / "bin/python"
        hashed = subprocess.run([python, "-c", _HASH], input=self.password.encode(), capture_output=True, check=True)
        (self.home / "htpasswd").write_text(f"{USER}:{hashed.stdout.decode()}")
        settings = {
            "home": str(self.home), "name": self.name, "uuid": self.uuid, "serial": self.uuid[:8], "mac": self.mac,
            "address": self.address, "port": self.port, "certificate": self._certificate(), "disk": self.disk,
            "memory": self.memory, "cores": self.cores, "network": list(self.network),
            "decoy": self.decoy, **FIRMWARE,
        }  # fmt: skip
        (self.home / "settings.json").write_text(json.dumps(settings))
        emulator = COLLECTION / "tests/rack/emulator.py"
        with (self.home / "controller.log").open("ab") as log:
            process = subprocess.Popen(
                [*inside, str(python), str(emulator), str(self.home / "settings.json")],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.home)},
            )  # fmt: skip
        (self.home / "controller.pid").write_text(str(process.pid))

    def switch_on(self, *, inside: Sequence[str] = ()) -> None:
        """Switch the machine on, as somebody does who has racked it: it boots from its network."""
        boot = {"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}}
        self._ask("PATCH", "", boot, inside=inside)
        self.power("On", inside=inside)

    def power(self, reset: str, *, inside: Sequence[str] = ()) -> None:
        """Have its controller carry out a reset type of Redfish: ForceOff takes the power away."""
        self._ask("POST", "/Actions/ComputerSystem.Reset", {"ResetType": reset}, inside=inside)

    def _ask(self, method: str, path: str, body: dict[str, Any], *, inside: Sequence[str]) -> None:
        system = f"https://{self.address}:{self.port}/redfish/v1/Systems/{self.uuid}"
        ask = ["curl", "-sSfk", "--noproxy", "*", "--retry", "20", "--retry-connrefused", "--retry-delay", "1"]
        ask += ["-K", "-", "-X", method, "-H", "Content-Type: application/json", "-d", json.dumps(body)]
        login = f'user = "{USER}:{self.password}"'
        subprocess.run([*inside, *ask, system + path], input=login.encode(), check=True)

    @property
    def pid(self) -> int | None:
        """The controller's process."""
        return self._process("controller.pid", "settings.json")

    def stop(self) -> None:
        """End controller and machine."""
        for file, word in (("controller.pid", "settings.json"), ("pid", "disk.raw")):
            if pid := self._process(file, word):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _process(self, file: str, word: str) -> int | None:
        try:
            pid = int((self.home / file).read_text())
            return pid if str(self.home / word).encode() in Path(f"/proc/{pid}/cmdline").read_bytes() else None
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return None

    def _certificate(self) -> str:
        place = self.home / "controller.pem"
        if not place.exists():
            key, certificate = self.home / "key.pem", self.home / "certificate.pem"
            ask = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
            subject = ["-subj", f"/CN={self.name}", "-days", "3650", "-keyout", str(key), "-out", str(certificate)]
            subprocess.run([*ask, *subject], check=True, capture_output=True)
            place.write_bytes(certificate.read_bytes() + key.read_bytes())
        return str(place)

